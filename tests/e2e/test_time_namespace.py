"""Processes whose CLOCK_MONOTONIC is shifted by a time namespace: an instant is one number in the whole trace."""
import json
import subprocess
import time

import pytest

from test_collector import start_collector
from verdicts import assert_at, assert_fault, assert_healthy, shown

SHIFTED = ["unshare", "--time", "--boottime", "10000", "--monotonic", "5000", "--fork"]
ONE_RANK_SHIFTED = 'if [ "$PMI_RANK" = "$SHIFTED_RANK" ]; then exec %s "$@"; fi; exec "$@"' % " ".join(SHIFTED)
SECOND = 1_000_000_000


@pytest.fixture
def time_namespace(as_root):
    if subprocess.run([*SHIFTED, "true"], capture_output=True).returncode != 0:
        pytest.skip("needs a time namespace of its own, which this machine does not allow")


def assert_times_are_of_one_clock(bench, begin, end):
    """All that happened lies between two instants on this machine's clock, in the order in which it must have been."""
    process, = bench.info()["ranks"]
    events = sorted((event for event in bench.events() if "call" in event), key=lambda event: event["t_ns"])
    first, last = events[0], events[-1]
    assert (first["call"], last["call"]) == ("MPI_Init", "MPI_Finalize")
    info = bench.info()
    assert begin - SECOND <= info["start_realtime_ns"] <= end
    assert 0 < info["duration_ns"] <= end - begin
    assert 0 <= process["end"]["t_ns"] - first["t_ns"] <= end - begin, (process["end"], first)
    assert process["end"]["t_ns"] >= last["t_ns"] + last["dur_ns"], (process["end"], last)


@pytest.mark.parametrize("collector", ["inside", "outside"])
def test_process_in_a_time_namespace(bench, build, mpich, time_namespace, collector):
    """Its collector is one that it started itself, or one of the host."""
    own = start_collector(bench) if collector == "outside" else None
    begin = time.time_ns()
    job = bench.start([*SHIFTED, build(mpich, "steps.c"), "--steps", 100], LD_PRELOAD=bench.library)
    assert job.wait() == 0, job.stderr
    bench.stop_collectors()
    if own:
        own.wait(60)
    assert_times_are_of_one_clock(bench, begin, time.time_ns())
    assert_healthy(bench.diagnose())


@pytest.mark.parametrize("shifted", [0, 1, None])
def test_hang_with_one_rank_in_a_time_namespace(bench, build, mpich, time_namespace, shifted):
    """Rank 0 starts the collector: with 0 shifted that is inside, with 1 it is outside. None: as on any machine."""
    begin = time.monotonic_ns()
    command = ["/bin/sh", "-c", ONE_RANK_SHIFTED, "sh", build(mpich, "b01_extra_barrier.c")]
    job = bench.mpirun(mpich, 2, command, SHIFTED_RANK=shifted)
    verdict = bench.diagnose_until("callsite_mismatch")
    assert_fault(verdict, "callsite_mismatch", "control_flow_divergence", rank=0, seq=3)
    assert_at(verdict, "save", "b01_extra_barrier.c", "save")
    lasted = time.monotonic_ns() - begin
    inside = subprocess.run([*SHIFTED, bench.prefix / "bin/ddbg", "info", "latest", "--json"], capture_output=True, text=True,
                            env=bench.environment(), cwd=bench.work, check=True)
    for info in (bench.info(), json.loads(inside.stdout)):
        waiting = info["ranks"][0]
        assert waiting["end"]["how"] == "running", shown(info)
        assert 0 < waiting["open_ns"] < lasted + 10 * SECOND, waiting
        assert info["duration_ns"] < lasted + 10 * SECOND
    job.interrupt()
    job.wait()
