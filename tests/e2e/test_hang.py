"""A job that hangs is diagnosed while it hangs, and again after it was ended: the same first bad event."""
import signal

import pytest

from harness import wait_until
from verdicts import assert_at, assert_fault, same_first_bad_event, shown


def test_diagnosed_while_it_hangs_and_after_ctrl_c(bench, build, mpi):
    job = bench.mpirun(mpi, 4, [build(mpi, "b01_extra_barrier.c")])
    hanging = bench.diagnose_until("callsite_mismatch")
    assert job.running()
    assert_fault(hanging, "callsite_mismatch", "control_flow_divergence", rank=0, seq=3)
    assert_at(hanging, "save", "b01_extra_barrier.c", "save")
    job.interrupt()
    job.wait()
    ended = bench.diagnose()
    same_first_bad_event(hanging, ended)


def test_end_by_sigterm_is_not_the_fault(bench, build, mpi):
    job = bench.mpirun(mpi, 4, [build(mpi, "b12_ring_send.c")])
    hanging = bench.diagnose_until("p2p_deadlock")
    job.signal(signal.SIGTERM)
    job.wait()
    same_first_bad_event(hanging, bench.diagnose())


def test_healthy_job_ended_from_outside_is_not_called_hung(bench, build, mpi):
    started = bench.folder / "started"
    job = bench.mpirun(mpi, 3, [build(mpi, "steps.c"), "--steps", 100000, "--started", started])
    wait_until(lambda: started.exists() and started.stat().st_size == 3, "the ranks did not get to step 10")
    running = bench.diagnose()
    assert running["verdict"] != "fault", shown(running)
    job.interrupt()
    job.wait()
    verdict = bench.diagnose()
    assert verdict["class"] != "control_flow_divergence", shown(verdict)
    if verdict["verdict"] == "fault":  # it was ended: that is all there is to say
        assert verdict["class"] == "infrastructure_discontinuity", shown(verdict)


def test_open_call_is_listed_as_never_returned(bench, build, mpi):
    job = bench.mpirun(mpi, 2, [build(mpi, "unmatched.c"), "--fault", "recv"])
    def open_receive():
        if not (bench.runs / "latest").exists():
            return None
        found = [e for e in bench.calls() if e["call"] == "MPI_Recv" and e["rank"] == 1 and e["dur_ns"] is None]
        return found or None
    receive, = wait_until(open_receive, "the open MPI_Recv of rank 1 is not in the trace")
    assert (receive["peer"], receive["tag"], receive["count"]) == (0, 8, 1)
    assert job.running()


# ddbg run

@pytest.mark.quick
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["SIGINT", "SIGTERM"])
def test_ddbg_run_prints_the_verdict_of_a_hung_job_that_is_ended(bench, build, openmpi, number):
    """Whatever the launcher makes of the signal, its exit code is passed on and the verdict is on stderr."""
    program = build(openmpi, "b01_extra_barrier.c")
    job = bench.start([bench.prefix / "bin/ddbg", "run", "--"] + openmpi.command(4, [program]))
    bench.diagnose_until("callsite_mismatch")
    assert job.running()
    job.signal(number)
    assert job.wait() != 0
    assert "save" in job.stderr and "b01_extra_barrier.c" in job.stderr, job.stderr
    assert job.lines() == ["rank %d passed the final barrier with 64" % rank for rank in (1, 2, 3)]


def test_ddbg_run_passes_ctrl_c_of_the_terminal(bench, build, mpi):
    job = bench.start([bench.prefix / "bin/ddbg", "run", "--"] + mpi.command(4, [build(mpi, "b01_extra_barrier.c")]))
    bench.diagnose_until("callsite_mismatch")
    job.interrupt()
    job.wait()
    assert "save" in job.stderr, job.stderr
    assert not [process for process in bench.processes() if process.exe() not in ("ddbg-collector", "")], "ranks left"
