"""The Python reader against the program: reader_test.py PROGRAM FOLDER-OF-bulksim.py"""

import json
import os
import subprocess
import sys
import tempfile
import unittest

import h5py
import numpy as np
import scipy.sparse

PROGRAM, READER = sys.argv[1], sys.argv[2]
sys.path.insert(0, READER)
import bulksim  # noqa: E402


def run(*words):
    subprocess.run([PROGRAM, *words], check=True, stdout=subprocess.DEVNULL)


class Reader(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        os.chdir(cls.scratch.name)
        run("generate", "titles", "--items", "3000", "--queries", "40", "-o", "t", "-q")
        sides = ("t_items.csr", "t_queries.csr")
        with open("ids", "w") as ids:
            ids.writelines(f"item-{n}\n" for n in range(3000))
        run("compute", *sides, "-o", "full", "--item-ids", "ids", "-q")
        run("compute", *sides, "-o", "pairs", "-t", "0.1", "--item-ids", "ids", "-q")
        run("compute", *sides, "-o", "pairs.h5", "-t", "0.1", "-q")
        run("compute", *sides, "-o", "pairs.npz", "-t", "0.1", "-q")
        run("compute", *sides, "-o", "best.h5", "-k", "7", "-q")
        for place in ("half", "half.h5"):
            run("compute", *sides, "-o", place, "--dtype", "float16", "-q")
        run("compute", *sides, "-o", "blocks", "--mode", "blocks", "--tile", "16x512", "-q")
        cls.matrix = bulksim.open("full")._matrix[:]

    @classmethod
    def tearDownClass(cls):
        os.chdir("/")
        cls.scratch.cleanup()

    def test_a_row_of_the_matrix_holds_every_item(self):
        items, scores = bulksim.open("full").row(3)
        np.testing.assert_array_equal(items, np.arange(3000))
        np.testing.assert_array_equal(scores, self.matrix[3])

    def test_block_sums_are_those_of_the_softmax_of_the_matrix(self):
        for place in ("full", "blocks"):
            sums = bulksim.open(place).block_sums
            weights = np.exp(20.0 * self.matrix.astype(np.float64))
            weights /= weights.sum(axis=1, keepdims=True)
            for a, b in np.ndindex(sums.fine.shape):
                wanted = weights[sums.queries(a), sums.items(b)].sum()
                self.assertAlmostEqual(sums.fine[a, b], wanted, delta=1e-5 * wanted)
            self.assertEqual(sums.softmax_scale, 20.0)
            self.assertTrue(sums.mask.all())
            np.testing.assert_allclose(sums.share.sum(axis=1), 1.0, rtol=1e-9)
        self.assertEqual(bulksim.open("blocks").kind, "blocks")
        self.assertIsNone(bulksim.open("pairs").block_sums)

    def test_pairs_are_the_matrix_from_the_threshold_on(self):
        for place in ("pairs", "pairs.h5"):
            result = bulksim.open(place)
            self.assertEqual(result.kind, "pairs")
            for query, items, scores in result.pairs():
                wanted = np.flatnonzero(self.matrix[query] >= np.float32(0.1))
                np.testing.assert_array_equal(items, wanted)
                np.testing.assert_array_equal(scores, self.matrix[query][wanted])

    def test_top_is_a_stable_sort_of_the_row(self):
        for query in range(40):
            order = np.argsort(-self.matrix[query], kind="stable")
            for place in ("full", "best.h5"):
                items, scores = bulksim.open(place).top(query, 7)
                np.testing.assert_array_equal(items, order[:7])
                np.testing.assert_array_equal(scores, self.matrix[query][order[:7]])

    def test_a_column_contains_the_values_of_the_rows_for_the_item(self):
        item = int(np.argmax(self.matrix.max(axis=0)))
        queries, scores = bulksim.open("full").column(item)
        np.testing.assert_array_equal(scores, self.matrix[:, item])
        queries, scores = bulksim.open("pairs").column(item)
        wanted = np.flatnonzero(self.matrix[:, item] >= np.float32(0.1))
        np.testing.assert_array_equal(queries, wanted)
        np.testing.assert_array_equal(scores, self.matrix[wanted, item])

    def test_float16_is_a_type_of_h5py_and_the_rounded_matrix(self):
        for place in ("half", "half.h5"):
            matrix = bulksim.open(place)._matrix
            self.assertEqual(matrix.dtype, np.float16)
            np.testing.assert_array_equal(matrix[:], self.matrix.astype(np.float16))
            np.testing.assert_array_equal(bulksim.open(place).row(3)[1], matrix[3])

    def test_show_prints_the_strongest_pairs_of_a_result_with_pairs(self):
        strongest = np.sort(self.matrix[self.matrix >= np.float32(0.1)])[::-1]
        for place in ("pairs", "pairs.h5"):
            words = [PROGRAM, "show", place, "--json", "--pairs", "5"]
            shown = json.loads(subprocess.run(words, check=True, capture_output=True).stdout)
            self.assertEqual((shown["kind"], shown["pairs"]), ("pairs", len(strongest)))
            scores = [pair["score"] for pair in shown["strongest"]]
            np.testing.assert_array_equal(np.float32(scores), strongest[:5])

    def test_ids_are_strings_or_none(self):
        self.assertEqual(bulksim.open("pairs").item_ids[2999], "item-2999")
        self.assertIsNone(bulksim.open("pairs").query_ids)
        self.assertIsNone(bulksim.open("pairs.h5").item_ids)

    def test_a_result_with_a_missing_part_is_rejected(self):
        parts = os.path.realpath("full/CURRENT") + "/parts"
        victim = os.path.join(parts, sorted(os.listdir(parts))[1])
        os.rename(victim, "victim")
        try:
            with self.assertRaisesRegex(bulksim.IncompleteResult, "is missing"):
                bulksim.open("full")
        finally:
            os.rename("victim", victim)

    def test_an_unfinished_file_is_rejected(self):
        with h5py.File("unfinished.h5", "w") as file:
            file.create_dataset("similarity", (2, 2), "f4")
        with self.assertRaises(bulksim.IncompleteResult):
            bulksim.open("unfinished.h5")

    def test_a_row_outside_the_matrix_is_an_index_error(self):
        with self.assertRaises(IndexError):
            bulksim.open("pairs").row(40)

    def test_exports_contain_what_the_reader_reads(self):
        run("export", "full", "--format", "npy", "-o", "full.npy")
        np.testing.assert_array_equal(np.load("full.npy"), self.matrix)
        run("export", "full", "--format", "tsv", "--sort", "score", "--limit", "2", "-o", "x.tsv")
        with open("x.tsv", encoding="utf-8") as text:
            lines = [line.split("\t") for line in text.read().splitlines()]
        self.assertEqual(lines[0], ["query", "item", "score"])
        wanted = []
        for query in range(40):
            items, scores = bulksim.open("full").top(query, 2)
            wanted += [
                [str(query), f"item-{item}", np.float32(score)]
                for item, score in zip(items, scores)
                if score != 0
            ]
        self.assertEqual([[q, i, np.float32(s)] for q, i, s in lines[1:]], wanted)
        run("export", "best.h5", "-o", "best.trec")
        with open("best.trec", encoding="utf-8") as text:
            first = text.readline().split(" ")
        items, _ = bulksim.open("best.h5").top(0, 1)
        self.assertEqual([first[0], first[1], int(first[2]), first[3]], ["0", "Q0", items[0], "1"])

    def test_text_can_go_to_the_standard_output(self):
        run("export", "pairs", "--format", "tsv", "-o", "pairs.tsv")
        with open("pairs.tsv", encoding="utf-8") as text:
            wanted = text.read()
        words = [PROGRAM, "export", "pairs", "-o", "-"]
        self.assertEqual(subprocess.run(words, stdout=subprocess.PIPE, text=True).stdout, wanted)
        with open("/dev/full", "w") as full:
            refused = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True)
        self.assertEqual(refused.returncode, 74)
        self.assertIn("standard output", refused.stderr)
        words += ["--format", "npz"]
        self.assertEqual(subprocess.run(words, stderr=subprocess.DEVNULL).returncode, 64)
        self.assertFalse(os.path.exists("-"))

    def test_pairs_have_no_dense_matrix(self):
        words = [PROGRAM, "export", "pairs", "--format", "npy", "-o", "none.npy"]
        self.assertEqual(subprocess.run(words, stderr=subprocess.DEVNULL).returncode, 64)
        self.assertFalse(os.path.exists("none.npy"))

    def test_an_export_of_pairs_is_the_file_that_compute_writes(self):
        run("export", "pairs", "--format", "npz", "-o", "again.npz")
        a, b = scipy.sparse.load_npz("again.npz"), scipy.sparse.load_npz("pairs.npz")
        self.assertEqual((a != b).nnz, 0)

    def test_scipy_loads_the_pairs(self):
        loaded = scipy.sparse.load_npz("pairs.npz")
        wanted = np.where(self.matrix >= np.float32(0.1), self.matrix, 0)
        self.assertEqual((loaded != scipy.sparse.csr_matrix(wanted)).nnz, 0)
        with h5py.File("pairs.h5") as file:
            group = file["pairs"]
            self.assertEqual(group.attrs["encoding-type"], "csr_matrix")
            parts = (group["data"][:], group["indices"][:], group["indptr"][:])
        same = scipy.sparse.csr_matrix(parts, shape=loaded.shape)
        self.assertEqual((loaded != same).nnz, 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
