"""A run that is suspended for a minute, and one whose lease is taken over meanwhile."""

import json
import signal
import time

from stopped_owner import StoppedOwner
from support import Bench


def owner_that_sleeps(bench, owner):
    """A run on a host that responds keeps its output, however long it is suspended."""
    time.sleep(max(0.0, owner.since + 60 - time.monotonic()))
    owner.is_left_alone()
    owner.signal(signal.SIGCONT)
    code = owner.end()
    with owner.at_work():
        bench.check(code == 0, f"continued after 60 s, it ends with 0, not {code}")
        bench.check(bench.differences() == [], "with the same bytes")


def owner_that_lost_its_lease(bench):
    """Another host takes the lease over after 30 s without renewal; the owner notices on waking."""
    owner = StoppedOwner(bench, "lost")
    lease = owner.out / "LOCK"
    other = json.loads(lease.read_text())
    other.update(token="0" * 32, host="another", boot_id="another")
    taken = owner.out / "LOCK.taken"
    taken.write_text(json.dumps(other))
    taken.rename(lease)
    owner.signal(signal.SIGCONT)
    code = owner.end()
    bench.check(code == 73, f"a run that has lost its lease ends with 73, not {code}")
    bench.check(not (owner.out / "CURRENT").exists(), "and publishes nothing")
    bench.check(json.loads(lease.read_text())["token"] == "0" * 32, "the other keeps the lease")


def main():
    bench = Bench(__doc__)
    sleeper = StoppedOwner(bench, "asleep")
    owner_that_lost_its_lease(bench)
    owner_that_sleeps(bench, sleeper)
    bench.done()


main()
