"""Rows for the libraries that bulksim is compared with."""

import struct

import numpy as np
import scipy.sparse


def read_unit_rows(path):
    """A big-ann .csr file as float32 rows of unit length."""
    with open(path, "rb") as file:
        rows, columns, nnz = struct.unpack("<3q", file.read(24))
        offsets = np.fromfile(file, "<i8", rows + 1)
        indices = np.fromfile(file, "<i4", nnz)
        values = np.fromfile(file, "<f4", nnz).astype(np.float64)
    matrix = scipy.sparse.csr_matrix((values, indices, offsets), shape=(rows, columns))
    norms = np.sqrt(np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel())
    norms[norms == 0] = 1
    return scipy.sparse.csr_matrix(scipy.sparse.diags(1 / norms) @ matrix, dtype=np.float32)
