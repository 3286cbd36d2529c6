"""The collector stopped, killed, out of disk and with many clients at once: the job runs as it would, and each record is in
the trace once or counted as lost."""
import errno
import os
import random
import signal
import time
from pathlib import Path

import pytest

from harness import wait_until

pytestmark = pytest.mark.alone

RANKS = 2
RECORDS_PER_STEP = 3  # the two halves of MPI_Sendrecv, and MPI_Allreduce
RECORDS_BESIDE = 2    # MPI_Init and MPI_Finalize


class Steps:
    """A run of steps.c that tells how far it is."""

    def __init__(self, bench, program, steps, pause_us, ranks=RANKS, prefix=(), **environment):
        self.bench, self.steps, self.ranks = bench, steps, ranks
        self.progress = bench.folder / "progress"
        launch = program[0].command(ranks, [program[1], "--steps", steps, "--pause-us", pause_us, "--progress", self.progress],
                                    bench.library)
        self.job = bench.start([*prefix, *launch], **environment)

    def done(self):
        return 100 * self.progress.stat().st_size if self.progress.exists() else 0

    def wait_for(self, step):
        wait_until(lambda: self.done() >= step or not self.job.running(), "step %d" % step, deadline_s=120)

    def assert_unharmed(self):
        assert self.job.wait(120) == 0, self.job.stderr
        assert self.job.lines() == ["energy after %d steps: %d" % (self.steps, sum(range(self.ranks)))]

    def assert_each_call_once(self, run="latest"):
        assert_files_end(self.bench, self.ranks, run)
        info = self.bench.info(run)
        assert info["loss_line"] == "nothing lost" and info["lost_records"] == 0, info["loss_line"]
        calls = self.bench.calls(run)
        for rank in range(self.ranks):
            mine = sorted((event for event in calls if event["rank"] == rank), key=lambda event: event["t_ns"])
            names = [event["call"] for event in mine]
            assert names[0] == "MPI_Init" and names[-1] == "MPI_Finalize"
            assert names[1:-1] == ["MPI_Sendrecv", "MPI_Allreduce"] * self.steps, "rank %d: %d calls" % (rank, len(names))
            numbers = [event["seq"] for event in mine if event["call"] == "MPI_Allreduce"]
            assert numbers == list(range(self.steps)), "rank %d" % rank

    def assert_lost_ones_are_counted(self, run="latest"):
        """Sent is recorded and lost, to the record."""
        assert_files_end(self.bench, self.ranks, run)
        info = self.bench.info(run)
        recorded = [0] * self.ranks
        for event in self.bench.events(run):
            if "call" in event:
                recorded[event["rank"]] += 1
        for process in info["ranks"]:
            lost = sum(process["lost"].values())
            assert lost > 0, "the flood fitted: this test shows nothing"
            assert recorded[process["rank"]] + lost == RECORDS_PER_STEP * self.steps + RECORDS_BESIDE, process["lost"]
            assert "{:,} records on rank {}".format(lost, process["rank"]) in info["loss_line"]
        assert self.bench.ddbg("info", run).stdout.startswith("LOST: ")


def assert_files_end(bench, ranks, run):
    def ended():
        processes = bench.info(run)["ranks"]
        return len(processes) == ranks and all(process["end"]["how"] == "exited" for process in processes)
    wait_until(ended, "not every process has an end in the trace")


@pytest.fixture
def steps(build, openmpi):
    return openmpi, build(openmpi, "steps.c")


def test_stopped_for_ten_seconds_loses_nothing_that_the_ring_holds(bench, steps):
    """At most 500 steps a second: 10 s of them are less than a lane's 16,384."""
    run = Steps(bench, steps, steps=5_300, pause_us=2000)
    run.wait_for(100)
    collector = bench.collector()
    collector.signal(signal.SIGSTOP)
    begin, at = time.monotonic(), run.done()
    run.wait_for(at + 5_000)
    assert run.job.running() and time.monotonic() - begin >= 10
    collector.signal(signal.SIGCONT)
    run.assert_unharmed()
    run.assert_each_call_once()


def test_stopped_in_a_flood_counts_what_it_lost(bench, steps):
    run = Steps(bench, steps, steps=60_000, pause_us=0)
    run.wait_for(100)
    collector = bench.collector()
    collector.signal(signal.SIGSTOP)
    run.wait_for(run.done() + 40_000)
    collector.signal(signal.SIGCONT)
    run.assert_unharmed()
    run.assert_lost_ones_are_counted()


def test_killed_all_the_time(bench, steps):
    """At random instants, its start among them."""
    dice = random.Random(11)
    run = Steps(bench, steps, steps=8_000, pause_us=1000)
    run.wait_for(100)
    kills = 0
    while run.done() < 7_000 and run.job.running():
        collectors = wait_until(lambda: bench.collectors() or not run.job.running(), "no collector came back")
        if collectors is True:
            break
        until = run.done() + 100 * dice.randrange(4)
        run.wait_for(until)
        for collector in collectors:
            collector.signal(signal.SIGKILL)
        wait_until(lambda: all(collector.gone() for collector in collectors), "the collector survived SIGKILL")
        kills += 1
    assert kills >= 4, kills
    run.assert_unharmed()
    run.assert_each_call_once()


def fill(folder):
    with open(folder / "ballast", "wb", buffering=0) as ballast:
        for size in (65536, 4096, 1):
            try:
                while True:
                    ballast.write(bytes(size))
            except OSError as error:
                assert error.errno == errno.ENOSPC


def test_disk_full_for_a_while(bench, steps, as_root):
    """It says so, counts what no longer fits into memory, and goes on once there is room."""
    small = bench.folder / "small"
    small.mkdir()
    holder = bench.start(["unshare", "-m", "/bin/sh", "-c",
                          "mount -t tmpfs -o size=8m ddbg-test $SMALL && touch $SMALL/ready && exec sleep 600"], SMALL=small)
    seen = Path("/proc/%d/root" % holder.popen.pid + str(small))
    wait_until(lambda: (seen / "ready").exists(), "no file system: " + holder.stderr)
    enter = ["nsenter", "--mount=/proc/%d/ns/mnt" % holder.popen.pid, "--wd=%s" % bench.work]
    run = Steps(bench, steps, steps=40_000, pause_us=20, prefix=enter, DDBG_DIR=small / "runs")
    run.wait_for(100)
    fill(seen)
    wait_until(lambda: "cannot be written" in run.job.stderr, "nothing was said: " + run.job.stderr)
    run.wait_for(run.done() + 25_000)
    assert run.job.running(), "too fast for this test"
    os.unlink(seen / "ballast")
    run.assert_unharmed()
    said = [line for line in run.job.stderr.splitlines() if line.startswith("ddbg: ")]
    assert len(said) == RANKS and all("No space left on device" in line for line in said), run.job.stderr
    trace = next(path for path in (seen / "runs").iterdir() if not path.is_symlink())
    run.assert_lost_ones_are_counted(trace)
    log = next(trace.glob("a0/collector-*.log")).read_text()
    assert log.count("No space left on device") >= RANKS and log.count("the file can be written again after") >= RANKS, log
    last = max(event["seq"] for event in bench.calls(trace) if event["call"] == "MPI_Allreduce")
    assert last == run.steps - 1


def test_64_processes_at_once(bench, steps):
    run = Steps(bench, steps, steps=5, pause_us=0, ranks=64)
    run.assert_unharmed()
    run.assert_each_call_once()
    assert [path.name for path in bench.rank_files()] == ["rank-%05d.ddbg" % rank for rank in range(64)]
    log = next(bench.runs.glob("latest/a0/collector-*.log")).read_text()
    assert log.count("%d records" % (RECORDS_PER_STEP * run.steps + RECORDS_BESIDE)) == 64, log
