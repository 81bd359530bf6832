"""The arithmetic contract, written a second time in numpy from its definition in
include/bulksim/sparse/fixed_point.hpp, against the files that the program writes: every bit.

usage: arithmetic_test.py PROGRAM
"""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import h5py
import numpy as np
import scipy.sparse as sp

PROGRAM = ""


def integers(values):
    """Case (a): m and e with values = m 2^e, e as large as possible; None if sum m m > 2^52."""
    mantissa, exponent = np.frexp(values)
    whole = [int(m) for m in np.ldexp(mantissa, 53)]
    lowest = min(e - 53 + (m & -m).bit_length() - 1 for m, e in zip(whole, exponent.tolist()))
    if int(exponent.max()) - lowest > 27:
        return None
    m = np.array([w >> (lowest - e + 53) if lowest - e + 53 >= 0 else w << (e - 53 - lowest)
                  for w, e in zip(whole, exponent.tolist())], dtype=object)
    return (m.astype(np.int64), lowest) if sum(int(v) ** 2 for v in m) <= 2**52 else None


def quantized(matrix, bits, metric):
    """Integer rows (int64 CSR) and the scale of each."""
    rows, scales = matrix.tocsr().copy(), np.zeros(matrix.shape[0])
    data = np.zeros(rows.nnz, dtype=np.int64)
    for row in range(rows.shape[0]):
        at = slice(rows.indptr[row], rows.indptr[row + 1])
        values = rows.data[at]
        if values.size == 0:
            continue
        exact = integers(values)
        if exact:
            data[at], exponent = exact
            length = np.ldexp(1.0, exponent)
        else:
            exponent = int(np.frexp(np.abs(values).max())[1]) - 1
            scaled = np.ldexp(values, -exponent)
            norm = np.sqrt(np.add.accumulate(scaled * scaled)[-1])
            data[at] = np.rint(np.ldexp(scaled / norm, bits)).astype(np.int64)
            length = np.ldexp(norm, exponent)
        root = np.sqrt(np.float64(int(sum(int(x) ** 2 for x in data[at]))))
        if metric == "cosine":
            scales[row] = 1.0 / root
        else:
            scales[row] = length if exact else length / root
    return sp.csr_matrix((data, rows.indices, rows.indptr), shape=rows.shape), scales


def scores(queries, items, bits=26, metric="cosine"):
    q, q_scales = quantized(queries, bits, metric)
    i, i_scales = quantized(items, bits, metric)
    sums = np.asarray((q @ i.T).todense()).astype(np.float64)
    exact = sums * np.multiply.outer(q_scales, i_scales)
    values = exact.astype(np.float32) + np.float32(0)
    assert metric == "dot" or np.abs(values).max(initial=0) <= 1
    return values


def mixed_rows(count, columns, most, seed):
    """Sets, counts, short fractions, TF-IDF-like rows, negative ones, duplicates, empty ones."""
    random = np.random.default_rng(seed)
    dense = np.zeros((count, columns))
    for row in range(count):
        n = int(random.integers(1, most + 1))
        at = random.choice(columns, n, replace=False)
        kind = row % 8
        if kind == 0:
            dense[row, at] = 1.0
        elif kind == 1:
            dense[row, at] = random.integers(1, 9, n)
        elif kind == 2:
            dense[row, at] = np.ldexp(random.integers(-40, 41, n).astype(float), int(random.integers(-70, 12)))
        elif kind == 3:
            dense[row, at] = random.standard_normal(n)
        elif kind == 4 and row > 8:
            dense[row] = dense[row - int(random.integers(1, 5))] * random.choice([1.0, 3.0, 0.1])
        elif kind == 5 and row % 16 == 5:
            continue
        else:
            dense[row, at] = random.exponential(1.0, n) + 0.01
    return sp.csr_matrix(dense)


class Arithmetic(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.queries, cls.items = mixed_rows(130, 300, 20, 1), mixed_rows(1500, 300, 25, 2)
        factors = sp.diags(np.resize([1.0, 3.0, 0.5], 60))
        cls.items = sp.vstack([cls.items, factors @ cls.queries[:60]]).tocsr()

    def run_program(self, queries, items, *options):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        folder = self.folder = Path(scratch.name)
        sp.save_npz(folder / "queries.npz", queries)
        sp.save_npz(folder / "items.npz", items)
        subprocess.run([PROGRAM, "compute", folder / "items.npz", folder / "queries.npz", "-o",
                        folder / "out.h5", "-q", *options], check=True, stdout=subprocess.DEVNULL)
        file = h5py.File(folder / "out.h5", "r")
        self.addCleanup(file.close)
        return file

    def expect_matrix(self, got, want):
        wrong = np.count_nonzero(got.view(np.uint32) != want.view(np.uint32))
        self.assertEqual(wrong, 0, f"{wrong} of {want.size} values differ in bits")

    def test_cosines(self):
        file = self.run_program(self.queries, self.items)
        self.expect_matrix(file["similarity"][:], scores(self.queries, self.items))

    def test_dot_products(self):
        file = self.run_program(self.queries, self.items, "--metric", "dot")
        self.expect_matrix(file["similarity"][:], scores(self.queries, self.items, metric="dot"))

    def test_values_of_any_size(self):
        random = np.random.default_rng(6)
        for sizes in ([1e200, 1e180], [1e-310, 1e-305], [1e250, 1e-250]):
            rows = mixed_rows(60, 50, 12, 8)
            rows.data = random.random(rows.nnz) * random.choice(sizes, rows.nnz)
            file = self.run_program(rows, rows)
            self.expect_matrix(file["similarity"][:], scores(rows, rows))
            subprocess.run([PROGRAM, "verify", self.folder / "out.h5", "--against",
                            self.folder / "items.npz", self.folder / "queries.npz"],
                           check=True, capture_output=True)

    def test_long_rows_in_q30(self):
        queries, items = mixed_rows(9, 15_000, 9_000, 3), mixed_rows(40, 15_000, 9_000, 4)
        long = sp.csr_matrix(np.random.default_rng(5).standard_normal((2, 15_000)))
        queries, items = sp.vstack([queries, long]).tocsr(), sp.vstack([items, long]).tocsr()
        file = self.run_program(queries, items)
        self.assertEqual(file.attrs["fraction_bits"], 30)
        self.expect_matrix(file["similarity"][:], scores(queries, items, bits=30))

    def test_float16_is_the_rounded_float32(self):
        file = self.run_program(self.queries, self.items, "--dtype", "float16")
        want = scores(self.queries, self.items).astype(np.float16)
        self.assertTrue(np.array_equal(file["similarity"][:].view(np.uint16), want.view(np.uint16)))

    def test_pairs_above_a_threshold(self):
        for metric, cut in (("cosine", 0.3), ("cosine", 1.0), ("dot", 2.5)):
            file = self.run_program(self.queries, self.items, "-t", str(cut), "--metric", metric)
            want = scores(self.queries, self.items, metric=metric)
            kept = sp.csr_matrix(np.where(want >= np.float32(cut), want, 0))
            group = file["pairs"]
            self.assertEqual(group["indptr"][:].tolist(), kept.indptr.tolist())
            self.assertEqual(group["indices"][:].tolist(), kept.indices.tolist())
            self.expect_matrix(group["data"][:], kept.data)
            self.assertGreater(kept.nnz, 20)

    def test_the_best_of_each_query(self):
        for metric in ("cosine", "dot"):
            file = self.run_program(self.queries, self.items, "-k", "30", "--metric", metric)
            want = scores(self.queries, self.items, metric=metric)
            order = np.argsort(-want, axis=1, kind="stable")[:, :30]
            self.assertTrue(np.array_equal(file["topk/items"][:], order))
            self.expect_matrix(file["topk/scores"][:], np.take_along_axis(want, order, axis=1))

    def test_sets_lose_no_pair_at_any_cut(self):
        random = np.random.default_rng(7)
        dense = np.zeros((1500, 60))
        for row in range(1500):
            dense[row, random.choice(60 if row % 2 else 12, int(random.integers(2, 12)), replace=False)] = 1
        dense[1000:1200] = dense[:200] * 2  # the same direction
        dense[1200:] += random.integers(0, 2, (300, 60)) * dense[1200:]  # counts
        rows = dense.astype(np.int64)
        sums, squares = rows @ rows.T, np.sum(rows * rows, axis=1)
        for numerator, denominator in ((1, 2), (4, 5), (1, 1)):
            cut = numerator / denominator
            file = self.run_program(sp.csr_matrix(dense), sp.csr_matrix(dense), "-t", str(cut))
            true = ((sums >= 0) & ((sums * denominator) ** 2 >=
                    numerator**2 * np.multiply.outer(squares, squares)))
            group = file["pairs"]
            found = sp.csr_matrix((np.ones(group["data"].shape), group["indices"][:], group["indptr"][:]),
                                  shape=true.shape).toarray() > 0
            self.assertTrue(np.array_equal(found, true), cut)
            at_cut = (sums * denominator) ** 2 == numerator**2 * np.multiply.outer(squares, squares)
            self.assertGreater(np.count_nonzero(at_cut), 1500)


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
