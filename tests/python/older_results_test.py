"""Results and stores of arithmetic version 2: older_results_test.py PROGRAM READER-FOLDER ARCHIVE

The archive holds a store, and a matrix and pairs as folders and as single files, all of the same two
JSONL files.
"""

import json
import os
import subprocess
import sys
import tarfile
import tempfile
import unittest
from pathlib import Path

import numpy as np

PROGRAM, READER, ARCHIVE = sys.argv[1:4]
sys.path.insert(0, READER)
import bulksim  # noqa: E402

RESULTS = ("matrix", "matrix.h5", "pairs", "pairs.h5")
INPUTS = ("items.jsonl", "queries.jsonl")


def run(*words):
    return subprocess.run([PROGRAM, *words], capture_output=True, text=True)


class OlderResults(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(scratch.name)
        with tarfile.open(ARCHIVE) as archive:
            archive.extractall()

    def test_they_are_verified_by_their_digests(self):
        for place in RESULTS:
            done = run("verify", place)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertIn(": clean", done.stdout)

    def test_damage_is_found_in_tiles_and_partials(self):
        for name in ("part-00001.h5", "part-00002.terms"):
            path = os.path.join("matrix/CURRENT/parts", name)
            with open(path, "r+b") as file:
                file.seek(os.path.getsize(path) // 2)
                byte = file.read(1)[0]
                file.seek(-1, os.SEEK_CUR)
                file.write(bytes([byte ^ 1]))
            done = run("verify", "matrix")
            self.assertEqual(done.returncode, 65, done.stdout)
            self.assertIn(name, done.stdout)

    def test_their_values_are_not_recomputed(self):
        for place in RESULTS:
            done = run("verify", place, "--against", *INPUTS)
            self.assertEqual(done.returncode, 65, done.stdout)
            self.assertIn("was computed with arithmetic version 2", done.stderr)

    def test_repair_refuses_them(self):
        with open("matrix/CURRENT/parts/part-00001.h5", "r+b") as file:
            file.truncate(1000)
        done = run("repair", "matrix", *INPUTS)
        self.assertEqual(done.returncode, 65)
        self.assertIn("was computed with arithmetic version 2", done.stderr)

    def test_they_are_shown_and_read(self):
        for place in RESULTS:
            self.assertEqual(run("show", place).returncode, 0)
        old = bulksim.open("matrix")._matrix[:]
        self.assertEqual(run("compute", *INPUTS, "-o", "new", "-q").returncode, 0)
        new = bulksim.open("new")._matrix[:]
        self.assertLess(np.abs(old - new).max(), 1.4e-7)  # the error bounds of both together
        self.assertFalse(np.array_equal(old, new))
        same = run("verify", "new", "--against", *INPUTS)
        self.assertEqual(same.returncode, 0, same.stdout)

    def test_the_next_version_beside_one_has_the_new_arithmetic_and_the_guard_says_so(self):
        done = run("compute", *INPUTS, "-o", "matrix", "--tile", "8x16", "--guard")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("the previous version was computed with arithmetic version 2", done.stderr)
        with open("matrix/CURRENT/PLAN.json") as plan:
            self.assertEqual(json.load(plan)["arithmetic_version"], 3)
        again = run("compute", *INPUTS, "-o", "matrix", "--tile", "8x16", "--guard")
        self.assertNotIn("arithmetic", again.stderr)

    def test_a_store_of_version_1_is_surveyed_again_and_gives_the_same_bits(self):
        done = run("compute", "items_store.h5", "-o", "from_store")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("they were surveyed again", done.stderr)
        fresh = run("import", "items.jsonl", "-o", "fresh.h5")
        self.assertEqual(fresh.returncode, 0, fresh.stderr)
        done = run("compute", "fresh.h5", "-o", "from_fresh")
        self.assertNotIn("surveyed again", done.stderr)
        tiles = [Path(place, "CURRENT/tiles.idx").read_bytes() for place in ("from_store", "from_fresh")]
        self.assertEqual(*tiles)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
