"""Reads results of bulksim. Requires only h5py and numpy.

    import bulksim
    result = bulksim.open("OUT")          # a folder of versions, one version, or a file .h5
    result.kind                           # "matrix", "pairs" (also nonzero), "topk" or "blocks"
    items, scores = result.row(7)         # pairs: the stored items; matrix: all items
    items, scores = result.top(7, 10)     # highest scores, by item where equal
    queries, scores = result.column(3)    # all stored pairs of one item
    for query, items, scores in result.pairs(): ...
    result.query_ids, result.item_ids     # ids, or None
    sums = result.block_sums              # distribution of the softmax mass, or None
    sums.fine, sums.share, sums.coarse, sums.mask, sums.live_rows, sums.softmax_scale
    sums.queries(a), sums.items(b)        # rows of a fine block, as slices

An incomplete result raises IncompleteResult; plain HDF5 would read NaN from a missing file. A file
with links, external values, filters or foreign virtual datasets raises ForeignFile.
"""

import json
import os

import h5py
import numpy as np


class IncompleteResult(Exception):
    """The result is not finished, or some of its files are missing or truncated."""


class ForeignFile(Exception):
    """The file leads to other files or needs a filter, as no result of bulksim does."""


def open(path):
    """Opens the result at a path; raises FileNotFoundError or IncompleteResult."""
    return Result(_find(os.fspath(path)))


def _find(path):
    if not os.path.exists(path):
        raise FileNotFoundError(f"there is no result '{path}'")
    if not os.path.isdir(path):
        return os.path.realpath(path)
    for name in ("CURRENT/similarity.h5", "similarity.h5"):
        if os.path.exists(os.path.join(path, name)):
            file = os.path.realpath(os.path.join(path, name))
            _check_version(os.path.dirname(file))
            return file
    raise IncompleteResult(f"the folder '{path}' contains no finished result")


def _check_version(folder):
    """Checks that every file in the manifest exists with its size."""
    try:
        with _open_text(os.path.join(folder, "_SUCCESS")), _open_text(
            os.path.join(folder, "MANIFEST.json")
        ) as manifest:
            files = json.load(manifest)["files"]
    except FileNotFoundError as missing:
        raise IncompleteResult(f"'{folder}' is not finished: {missing}") from None
    for file in files:
        path = os.path.join(folder, file["path"])
        size = os.path.getsize(path) if os.path.exists(path) else -1
        if size != file["bytes"]:
            state = "is missing" if size < 0 else f"has {size} bytes instead of {file['bytes']}"
            raise IncompleteResult(f"'{path}' {state}")


def _require_plain(group, path, depth=0):
    """Follows no link that leads elsewhere; of virtual datasets, only /similarity is allowed."""
    if depth > 8:
        raise ForeignFile(f"'{path}': its groups are nested too deep")
    for name in group:
        whole = f"{group.name.rstrip('/')}/{name}"
        if not isinstance(group.get(name, getlink=True), h5py.HardLink):
            raise ForeignFile(f"'{path}': '{whole}' is a link to another place")
        found = group[name]
        if isinstance(found, h5py.Group):
            _require_plain(found, path, depth + 1)
        elif isinstance(found, h5py.Dataset):
            if found.external:
                raise ForeignFile(f"'{path}': '{whole}' keeps its values in another file")
            if found.is_virtual and whole != "/similarity":
                raise ForeignFile(f"'{path}': '{whole}' is a virtual dataset")
            if found.id.get_create_plist().get_nfilters():
                raise ForeignFile(f"'{path}': '{whole}' uses a filter")


def _open_text(path):
    return os.fdopen(os.open(path, os.O_RDONLY), encoding="utf-8")


class Result:
    """An open result. Rows are queries and columns are items, both by number."""

    def __init__(self, path):
        self.path = path
        self._file = h5py.File(path, "r")
        _require_plain(self._file, path)
        if self._file.attrs.get("complete") != 1:
            raise IncompleteResult(f"'{path}' belongs to a run that did not finish")
        self.attributes = dict(self._file.attrs)
        self._group = None
        if "similarity" not in self._file and "block_sums" in self._file:
            self.kind = "blocks"
            self.shape = None
        elif "similarity" in self._file:
            self.kind = "matrix"
            self._matrix = self._file["similarity"]
            self._check_sources()
            self.shape = self._matrix.shape
        else:
            self.kind = "topk" if "topk" in self._file else "pairs"
            name = next(n for n in ("topk", "pairs", "nonzero") if n in self._file)
            self._group = self._file[name]
            self.shape = tuple(int(n) for n in self._group.attrs["shape"])
        if self.kind == "pairs":
            self._indptr = self._group["indptr"][:]

    def _check_sources(self):
        if not self._matrix.is_virtual:
            return
        for source in self._matrix.virtual_sources():
            if os.path.isabs(source.file_name) or ".." in source.file_name.split("/"):
                raise ForeignFile(f"'{self.path}' maps '{source.file_name}', which is no part of it")
            path = os.path.join(os.path.dirname(self.path), source.file_name)
            if not os.path.exists(path):
                raise IncompleteResult(f"'{path}' is missing")

    def close(self):
        self._file.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    @property
    def query_ids(self):
        return self._ids("query_ids")

    @property
    def item_ids(self):
        return self._ids("item_ids")

    @property
    def block_sums(self):
        """The block sums, or None when the result has none."""
        return BlockSums(self._file) if "block_sums" in self._file else None

    def _ids(self, name):
        if name not in self._file:
            return None
        ids = self._file[name]
        if isinstance(ids, h5py.Dataset):  # padded, in results of older versions
            return [text.decode("utf-8") for text in ids[:]]
        ends = ids["offsets"][:]
        text = ids["text"][:].tobytes()
        return [text[a:b].decode("utf-8") for a, b in zip(ends[:-1], ends[1:])]

    def row(self, query):
        """Items (in ascending order) and scores of one query."""
        query = self._checked(query, 0)
        if self.kind == "matrix":
            return np.arange(self.shape[1]), self._matrix[query, :]
        if self.kind == "pairs":
            part = slice(self._indptr[query], self._indptr[query + 1])
            return self._group["indices"][part].astype(np.int64), self._group["data"][part]
        items, scores = self._list(query)
        order = np.argsort(items)
        return items[order], scores[order]

    def top(self, query, k):
        """At most k items by descending score, by item number where equal; NaN is ignored."""
        items, scores = self.row(query)
        known = ~np.isnan(scores)
        items, scores = items[known], scores[known]
        order = np.argsort(-scores, kind="stable")[:k]
        return items[order], scores[order]

    def column(self, item):
        """Queries (in ascending order) and scores of one item; slow for pairs."""
        item = self._checked(item, 1)
        if self.kind == "matrix":
            return np.arange(self.shape[0]), self._matrix[:, item]
        if self.kind == "topk":
            queries, places = np.nonzero(self._group["items"][:] == item)
            return queries, self._group["scores"][:][queries, places]
        found, scores = [], []
        step = 1 << 24
        for start in range(0, int(self._indptr[-1]), step):
            at = np.flatnonzero(self._group["indices"][start : start + step] == item)
            scores.append(self._group["data"][start : start + step][at])
            found.append(at + start)
        places = np.concatenate(found) if found else np.empty(0, np.int64)
        values = np.concatenate(scores) if scores else np.empty(0, np.float32)
        return np.searchsorted(self._indptr, places, side="right") - 1, values

    def pairs(self):
        """Yields (query, items, scores) for every query, as returned by row()."""
        self._require_scores()
        for query in range(self.shape[0]):
            yield (query, *self.row(query))

    def _list(self, query):
        items = self._group["items"][query]
        return items[items >= 0], self._group["scores"][query][items >= 0]

    def _require_scores(self):
        if self.kind == "blocks":
            raise ValueError("a result of --mode blocks contains no scores")

    def _checked(self, number, axis):
        self._require_scores()
        if not 0 <= number < self.shape[axis]:
            raise IndexError(f"{('query', 'item')[axis]} {number} of {self.shape[axis]}")
        return number


class BlockSums:
    """Block sums: S(a, b) is the softmax mass of query block a in item block b."""

    def __init__(self, file):
        group = file["block_sums"]
        self.fine = group["fine"][:]
        self.coarse = group["coarse"][:]
        self.share = group["share"][:]
        self.mask = group["mask"][:].astype(bool)
        self.live_rows = group["live_rows"][:]
        self.softmax_scale = float(file.attrs["softmax_scale"])
        self.is_estimate = bool(file.attrs["block_sums_estimated"])
        self._tile = int(file.attrs["tile_queries"]), int(file.attrs["tile_items"])

    def queries(self, block):
        """Query rows of a row of fine blocks; the last block may extend past the matrix."""
        return self._rows(block, self._tile[0])

    def items(self, block):
        """Items of a column of fine blocks; the last block may extend past the matrix."""
        return self._rows(block, self._tile[1])

    @staticmethod
    def _rows(block, tile):
        tile_number, place = divmod(block, -(-tile // 1024))
        first = tile_number * tile + place * 1024
        return slice(first, min(first + 1024, (tile_number + 1) * tile))
