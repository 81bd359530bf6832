"""An input that changes during a run: 75, or the matrix of one of the two states, no mixture."""

import os
import shutil
import time

from support import Bench, wait_for

ROUNDS = 20
CHUNKS = ["--chunk", "512"]  # of 6,000 items: 12
# Number of the read: the survey reads the queries once and the items three times, 2,048 rows each,
# and then the queries are read once.
FIRST_CHUNK = 1 + 3 + 1 + 1


class Input:
    """Items with two states, changed by an edit in place or by replacing the file."""

    def __init__(self, bench):
        self.path = bench.folder / "changing.csr"
        self.original = bench.items
        self.edited = bench.folder / "edited.csr"
        bench.items = self.path
        content = bytearray(self.original.read_bytes())
        self.at = len(content) - 4  # the lowest bits of the last value
        content[self.at] ^= 1
        self.edited.write_bytes(content)
        self.byte = content[self.at:self.at + 1]

    def restore(self):
        shutil.copyfile(self.original, self.path)

    def edit(self):
        with open(self.path, "r+b") as file:
            os.pwrite(file.fileno(), self.byte, self.at)

    def replace(self):
        other = self.path.with_suffix(".new")
        shutil.copyfile(self.edited, other)
        other.rename(self.path)


def refused(bench, code, messages, claim):
    bench.check(code == 75, f"{claim}: 75, not {code}")
    bench.check("has changed since the run began" in messages, f"{claim}: reports what has changed")
    bench.check(not (bench.out / "CURRENT").exists(), f"{claim}: nothing is published")


def finishes_edited(bench, reference, claim):
    """The next run uses the new input."""
    code, _ = bench.run(bench.program, bench.out)
    if bench.check(code == 0, f"{claim}: the next run ends with 0, not {code}"):
        bench.check(bench.differences(reference) == [], f"{claim}: the matrix of the edited input")


def before_it_is_read(bench, source, reference):
    """Between the survey of the input and its first chunk, or its last one."""
    for read in (FIRST_CHUNK, FIRST_CHUNK + 11):
        bench.clear()
        source.restore()
        process = bench.start(bench.failpoints, bench.out, ranks=1, options=CHUNKS,
                              points=f"rank0:input.read=sleep:1500@{read}")
        bench.check(wait_for(lambda: "failpoint" in bench.messages()), "the run is about to read")
        source.edit()
        refused(bench, *bench.end(process), f"edited before read {read}")
        finishes_edited(bench, reference, f"edited before read {read}")


def at_random_times(bench, source, reference):
    codes = {}
    for number in range(ROUNDS):
        bench.clear()
        source.restore()
        process = bench.start(bench.failpoints, bench.out, points="rank*:tile.begin=sleep:15",
                              options=CHUNKS)
        time.sleep(bench.random.uniform(0, bench.pace + 0.5))
        change = source.replace if number % 4 == 3 else source.edit
        change()
        code, messages = bench.end(process)
        codes[code] = codes.get(code, 0) + 1
        claim = f"round {number}, {change.__name__}"
        if code == 0:
            bench.check(bench.differences() == [] or bench.differences(reference) == [],
                        f"{claim}: the matrix of one of the two states")
        else:
            refused(bench, code, messages, claim)
        finishes_edited(bench, reference, claim)
    print(codes)


def main():
    bench = Bench(__doc__)
    source = Input(bench)
    source.replace()
    reference = bench.folder / "reference_of_edited"
    code, _ = bench.run(bench.program, reference, ranks=1)
    bench.check(code == 0, "the edited input is valid")
    bench.out = reference
    bench.check(bench.differences() != [], "and has another matrix")
    bench.out = bench.folder / "out"
    before_it_is_read(bench, source, reference)
    at_random_times(bench, source, reference)
    bench.done()


main()
