"""Names, formats and ids of results, files in the way, and files that lead elsewhere.

usage: outputs_test.py PROGRAM READER_FOLDER
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import h5py
import numpy as np
import scipy.sparse

PROGRAM = os.path.abspath(sys.argv[1])
sys.path.insert(0, sys.argv[2])
import bulksim  # noqa: E402


def run(*words, **more):
    return subprocess.run([PROGRAM, *words], capture_output=True, text=True, **more)


def text_of(path):
    with open(path, encoding="utf-8", newline="") as file:
        return file.read()


def write_text(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


class Outputs(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        os.chdir(self.folder)
        rows = np.zeros((6, 8), np.float32)
        rows[0, :5] = 1
        rows[1, [0, 1, 2, 3, 5]] = 1
        rows[2, 5:] = [1, 2, 3]
        rows[3, 5:] = [2, 4, 6]
        rows[4, 7] = 1
        scipy.sparse.save_npz("rows.npz", scipy.sparse.csr_matrix(rows))
        self.scores = rows @ rows.T
        lengths = np.sqrt((rows * rows).sum(1))
        lengths[lengths == 0] = 1
        self.scores = self.scores / lengths[:, None] / lengths[None, :]

    def tearDown(self):
        os.chdir("/")
        shutil.rmtree(self.folder)

    def compute(self, output, *options, code=0, rows="rows.npz"):
        done = run("compute", rows, "-o", output, "-q", *options)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def export(self, output, *options, code=0, result="result.h5"):
        done = run("export", result, "-o", output, *options)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def verify(self, path, *options):
        done = run("verify", path, "--json", *options)
        return done.returncode, json.loads(done.stdout) if done.stdout else done.stderr

    def with_ids(self, ids):
        with open("rows.jsonl", "w", encoding="utf-8") as file:
            for row, name in enumerate(ids):
                vector = {str(column): 1 for column in range(row + 1)}
                file.write(json.dumps({"id": name, "vector": vector}) + "\n")
        return "rows.jsonl"

    # names

    def test_the_ending_decides_in_compute_and_export(self):
        for output in ("r.h5", "r.npz", "r.tsv", "r.trec", "folder", "folder.v2/"):
            self.compute(output, "-t", "0.1")
            self.assertEqual(os.path.isdir(output), output.startswith("folder"), output)
        self.compute("result.h5", "-t", "0.1")
        for output in ("x.npz", "x.tsv", "x.trec"):
            self.export(output)
        pairs = scipy.sparse.load_npz("x.npz")
        self.assertEqual(pairs.shape, (6, 6))
        self.assertTrue(text_of("x.trec").startswith("0 Q0 1 1 0.8"))

    def test_unknown_endings_are_refused_with_the_list(self):
        self.compute("result.h5", "-t", "0.1")
        for output in ("r.csv", "r.json", "out.v1", "r.h5.bak"):
            self.assertIn(".trec", self.compute(output, "-t", "0.1", code=64).stderr)
            self.assertIn(".trec", self.export(output, code=64).stderr)
        self.assertFalse(os.path.exists("r.csv"))
        self.compute("r.npy", code=64)
        self.compute("r.tsv", code=64)
        self.export("r", code=64)
        self.export("x.npz", "--format", "tsv", code=64)

    def test_dash_writes_text_to_standard_output_alone(self):
        printed = self.compute("-", "-t", "0.7").stdout
        self.compute("r.tsv", "-t", "0.7")
        self.assertEqual(printed, text_of("r.tsv"))
        self.compute("result.h5", "-t", "0.7")
        self.assertEqual(self.export("-").stdout, printed)
        self.assertEqual(sorted(os.listdir()), ["r.tsv", "result.h5", "rows.npz"])

    def test_the_dense_matrix_is_exported_and_recomputed(self):
        self.compute("result.h5")
        self.export("m.npy")
        np.testing.assert_allclose(np.load("m.npy"), self.scores, atol=1e-6)
        code, verdict = self.verify("m.npy", "--against", "rows.npz")
        self.assertEqual((code, verdict["checksum"], verdict["cells"]), (0, False, 36))
        values = np.load("m.npy")
        values[2, 3] = 0.5
        np.save("m.npy", values)
        self.assertEqual(self.verify("m.npy")[0], 0)
        self.assertEqual(self.verify("m.npy", "--against", "rows.npz")[0], 65)

    # order and content of text

    def test_a_top_k_is_by_score_everywhere_and_without_unrelated_items(self):
        self.compute("result.h5", "-k", "3", "--include-self")
        self.compute("k.tsv", "-k", "3", "--include-self")
        self.export("e.tsv")
        self.assertEqual(text_of("k.tsv"), text_of("e.tsv"))
        lines = [line.split("\t") for line in text_of("k.tsv").splitlines()[1:]]
        self.assertEqual([line[:2] for line in lines[:4]], [["0", "0"], ["0", "1"], ["1", "1"], ["1", "0"]])
        self.assertNotIn("0", {line[2] for line in lines})
        self.compute("k.trec", "-k", "3", "--include-self", "--run-tag", "night")
        self.assertTrue(text_of("k.trec").startswith("0 Q0 0 1 1 night\n"))
        self.compute("l.trec", "-k", "3", "--run-tag", "two words", code=64)

    # ids

    def test_ids_with_tabs_and_line_ends_are_escaped_in_a_tsv(self):
        rows = self.with_ids(["a\tb", "c\nd", "e\\f", "g\rh"])
        self.compute("p.tsv", "-t", "0.1", rows=rows)
        lines = text_of("p.tsv").split("\n")
        self.assertEqual(lines[0], "query_escaped\titem_escaped\tscore")
        self.assertEqual(lines[1].split("\t")[:2], ["a\\tb", "c\\nd"])
        self.assertEqual(len(lines), 1 + 6 + 1)
        self.assertEqual(self.verify("p.tsv", "--against", rows, "-t", "0.1")[0], 0)
        self.compute("result.h5", "-t", "0.1", rows=rows)
        self.assertEqual(self.export("-").stdout, text_of("p.tsv"))
        self.assertEqual(bulksim.open("result.h5").item_ids, ["a\tb", "c\nd", "e\\f", "g\rh"])

    def test_a_trec_run_refuses_blanks_and_empty_ids_or_replaces_them(self):
        for ids in (["a", "e f"], ["a", ""], ["a", "b\nc"]):
            rows = self.with_ids(ids)
            refused = self.compute("r.trec", "-t", "0.1", rows=rows, code=65).stderr
            self.assertIn("item 1" if "query 1" not in refused else "query 1", refused)
            self.assertFalse(os.path.exists("r.trec"))
            self.compute("result.h5", "-t", "0.1", "--recompute", rows=rows)
            self.export("r.trec", code=65)
            self.export("r.trec", "--replace-blanks")
            self.assertEqual(len(text_of("r.trec").split()), 6)
            os.remove("r.trec")

    def test_one_long_id_does_not_make_all_ids_long(self):
        rows = self.with_ids([f"id{row}" for row in range(199)] + ["x" * 100_000])
        self.compute("result.h5", "-k", "1", rows=rows)
        self.assertLess(os.path.getsize("result.h5"), 400_000)
        self.compute("matrix.h5", rows=rows)
        self.compute("out", rows=rows)
        self.assertLess(os.path.getsize("out/CURRENT/similarity.h5"), 2_400_000)
        for path in ("result.h5", "matrix.h5", "out"):
            self.assertEqual(bulksim.open(path).query_ids[199], "x" * 100_000)
            self.assertEqual(self.verify(path)[0], 0)

    def test_show_prints_ids_safely_and_names_the_pairs(self):
        rows = self.with_ids(["\x1b[31mred", "plain\x9b"])
        self.compute("result.h5", "-k", "1", rows=rows)
        shown = run("show", "result.h5").stdout
        self.assertIn("/topk: 2 queries x 2 items", shown)
        self.assertIn("top_k = 1", shown)
        self.assertIn("\\x1b[31mred", shown)
        self.assertNotIn("\x1b", shown)
        self.assertNotIn("\x9b", shown)

    # files in the way

    def test_files_of_the_user_are_left_alone(self):
        self.compute("result.h5", "-t", "0.1")
        for name in ("p.tsv.tmp", "p.tsv.part", "s.h5.tmp", "g_items.csr.tmp"):
            write_text(name, "mine")
        self.export("p.tsv")
        run("import", "rows.npz", "-o", "s.h5")
        run("generate", "titles", "--items", "10", "--queries", "5", "-o", "g")
        for name in ("p.tsv.tmp", "p.tsv.part", "s.h5.tmp", "g_items.csr.tmp"):
            self.assertEqual(text_of(name), "mine")
        for output in ("mine.tsv", "mine.npz", "mine.trec", "mine.h5"):
            write_text(output, "thesis")
            if output != "mine.h5":
                self.assertIn("--overwrite", self.export(output, code=73).stderr)
            self.assertIn("--overwrite", self.compute(output, "-t", "0.1", code=73).stderr)
            self.assertEqual(text_of(output), "thesis")
            self.compute(output, "-t", "0.1", "--overwrite")
            self.assertEqual(self.verify(output)[0], 0)
        self.export("mine.trec", "--overwrite")
        self.assertFalse([name for name in os.listdir() if name.startswith(".")])

    def test_of_two_exports_at_once_one_wins_whole(self):
        rows = scipy.sparse.random(400, 50, 0.3, "csr", np.float32, random_state=1)
        scipy.sparse.save_npz("big.npz", rows)
        self.compute("result.h5", "-t", "0.01", rows="big.npz")
        self.export("one.tsv")
        self.export("two.tsv", "--sort", "score")
        wanted = {text_of("one.tsv"), text_of("two.tsv")}
        for _ in range(5):
            both = [
                subprocess.Popen([PROGRAM, "export", "result.h5", "-o", "E.tsv", "--sort", order],
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                for order in ("item", "score")
            ]
            self.assertEqual([one.wait() for one in both], [0, 0])
            self.assertIn(text_of("E.tsv"), wanted)

    def test_a_killed_export_or_import_leaves_nothing(self):
        rows = scipy.sparse.random(600, 60, 0.3, "csr", np.float32, random_state=1)
        scipy.sparse.save_npz("big.npz", rows)
        self.compute("result.h5", "-t", "0.001", rows="big.npz")
        before = sorted(os.listdir())
        for words in (("export", "result.h5", "-o", "e.tsv"), ("export", "result.h5", "-o", "e.npz"),
                      ("import", "big.npz", "-o", "store.h5")):
            for step in range(6):
                job = subprocess.Popen([PROGRAM, *words], stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL)
                time.sleep(0.004 * step)
                job.send_signal(signal.SIGKILL)
                job.wait()
                left = sorted(set(os.listdir()) - set(before))
                self.assertIn(left, ([], [words[-1]]))
                if left:
                    os.remove(words[-1])

    # reruns

    def test_a_damaged_result_is_not_taken_for_finished(self):
        for output, options in (("r.h5", ["-t", "0.1"]), ("r.npz", ["-t", "0.1"]), ("m.h5", [])):
            self.compute(output, *options)
            self.compute(output, *options)
            os.chmod(output, 0o644)
            with open(output, "r+b") as file:
                file.seek(os.path.getsize(output) // 4)
                byte = file.read(1)[0]
                file.seek(-1, 1)
                file.write(bytes([byte ^ 16]))
            with self.subTest(output):
                refused = self.compute(output, *options, code=65).stderr
                self.assertIn("--overwrite", refused)
            self.compute(output, *options, "--overwrite")
            self.assertEqual(self.verify(output)[0], 0)
        self.compute("out")
        part = os.path.realpath("out/CURRENT") + "/parts/part-00000.h5"
        os.chmod(part, 0o644)
        os.truncate(part, 100)
        self.assertIn("part-00000.h5", self.compute("out", code=65).stderr)
        self.compute("out", "--overwrite")
        self.assertEqual(self.verify("out")[0], 0)

    # files that lead elsewhere

    def hostile_files(self):
        def with_pairs(name, change):
            with h5py.File(name, "w") as file:
                file.attrs["complete"] = 1
                group = file.create_group("pairs")
                group.attrs["shape"] = [2, 2]
                group["indptr"] = np.array([0, 1, 1])
                group["indices"] = np.array([1], np.int32)
                change(file, group)
            return name

        np.array([0.5] * 8, np.float32).tofile("secret")
        with h5py.File("other.h5", "w") as other:
            other["data"] = np.array([0.5], np.float32)
        layout = h5py.VirtualLayout((1,), "f4")
        layout[:] = h5py.VirtualSource("other.h5", "data", (1,))
        yield with_pairs("external.h5", lambda _, group: group.create_dataset(
            "data", (1,), "f4", external=[("secret", 0, 4)]))
        yield with_pairs("link.h5", lambda _, group: group.__setitem__(
            "data", h5py.ExternalLink("other.h5", "/data")))
        yield with_pairs("soft.h5", lambda file, group: (
            file.__setitem__("elsewhere", np.array([0.5], np.float32)),
            group.__setitem__("data", h5py.SoftLink("/elsewhere"))))
        yield with_pairs("virtual.h5", lambda _, group: group.create_virtual_dataset("data", layout))
        yield with_pairs("filter.h5", lambda _, group: group.create_dataset(
            "data", data=np.array([0.5], np.float32), chunks=(1,), compression="gzip"))
        yield with_pairs("group.h5", lambda file, group: (
            group.__setitem__("data", np.array([0.5], np.float32)),
            file.__setitem__("more", h5py.ExternalLink("other.h5", "/"))))

    def test_files_that_lead_elsewhere_are_refused_by_every_command(self):
        for path in self.hostile_files():
            code, verdict = self.verify(path)
            self.assertEqual(code, 65, (path, verdict))
            for words in (("show", path), ("export", path, "-o", "-")):
                done = run(*words)
                self.assertEqual(done.returncode, 65, (words, done.stdout, done.stderr))
                self.assertIn(path, done.stderr)
                self.assertEqual(done.stdout, "")
            with self.assertRaises(bulksim.ForeignFile, msg=path):
                bulksim.open(path)

    def test_a_file_that_claims_more_than_it_stores_is_refused(self):
        for queries, late in ((1 << 50, False), (-1, False), (1 << 40, True)):
            with h5py.File("huge.h5", "w") as file:
                file.attrs["complete"] = 1
                group = file.create_group("pairs")
                group.attrs["shape"] = [queries, 2]
                group.create_dataset("indptr", (queries + 1,) if late else (2,), "i8")
                group["indices"] = np.array([1], np.int32)
                group["data"] = np.array([0.5], np.float32)
            for words in (("verify", "huge.h5"), ("show", "huge.h5"), ("export", "huge.h5", "-o", "-")):
                self.assertEqual(run(*words).returncode, 65, (queries, words))

    def test_scores_out_of_range_are_damage(self):
        for value in (float("nan"), 1.5, float("inf")):
            with h5py.File("odd.h5", "w") as file:
                file.attrs["complete"] = 1
                group = file.create_group("pairs")
                group.attrs["shape"] = [1, 2]
                group["indptr"] = np.array([0, 1])
                group["indices"] = np.array([1], np.int32)
                group["data"] = np.array([value], np.float32)
            self.assertEqual(self.verify("odd.h5")[0], 65, value)

    # recomputation

    def test_against_finds_wrong_and_missing_pairs_in_every_format(self):
        for output in ("p.npz", "p.tsv", "p.trec"):
            self.compute(output, "-t", "0.3")
            more = [] if output == "p.npz" else ["-t", "0.3"]
            code, verdict = self.verify(output, "--against", "rows.npz", *more)
            self.assertEqual((code, verdict["cells"]), (0, 36), verdict)
        lines = text_of("p.tsv").splitlines(keepends=True)
        write_text("less.tsv", "".join(lines[:1] + lines[2:]))
        self.assertEqual(self.verify("less.tsv", "--against", "rows.npz")[0], 0)
        self.assertEqual(self.verify("less.tsv", "--against", "rows.npz", "-t", "0.3")[0], 65)
        write_text("wrong.tsv", "".join([lines[0], lines[1].rsplit("\t", 1)[0] + "\t0.79\n", *lines[2:]]))
        self.assertEqual(self.verify("wrong.tsv", "--against", "rows.npz")[0], 65)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
