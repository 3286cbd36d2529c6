"""Real public failure reports, re-created small: the verdict must name the event that the report's cause names.

Each has a healthy twin that differs in the fault alone and must be called healthy.
"""
import pytest

from harness import line_of
from launchers import PROGRAMS
from verdicts import assert_at, assert_fault, assert_healthy, shown

CONTROL_FLOW = "control_flow_divergence"
PYTHON = "/usr/bin/python3"  # the distribution's: mpi4py belongs to it


def end_of(bench, job):
    """The verdict after a hung job was ended from outside."""
    if job.running():
        job.interrupt()
        job.wait()
    return bench.diagnose()


def run_healthy(bench, mpi, ranks, command):
    job = bench.mpirun(mpi, ranks, command)
    assert job.wait() == 0, job.stderr
    verdict = bench.diagnose()
    assert_healthy(verdict)
    assert verdict["world_size"] == ranks, shown(verdict)


# B01: an extra barrier on rank 0

@pytest.mark.quick
def test_b01_extra_barrier(bench, build, mpi):
    job = bench.mpirun(mpi, 4, [build(mpi, "b01_extra_barrier.c")])
    bench.diagnose_until("callsite_mismatch")
    verdict = end_of(bench, job)
    assert_fault(verdict, "callsite_mismatch", CONTROL_FLOW, rank=0, comm="MPI_COMM_WORLD", seq=3, call="MPI_Barrier")
    assert_at(verdict, "save", "b01_extra_barrier.c", "save")
    assert verdict["culprit_ranks"] == [0]
    assert verdict["phase"] == "running"


@pytest.mark.quick
def test_b01_healthy_twin(bench, build, mpi):
    run_healthy(bench, mpi, 4, [build(mpi, "b01_extra_barrier.c"), "--healthy"])


# B09: an exception on one rank

def assert_left_early(verdict):
    assert_fault(verdict, ("early_exit", "uncaught_exception"), CONTROL_FLOW, rank=0, comm="MPI_COMM_WORLD", seq=1)
    assert verdict["culprit_ranks"] == [0]


def test_b09_exception_in_python(bench, openmpi):
    job = bench.mpirun(openmpi, 3, [PYTHON, PROGRAMS / "b09_exception.py"])
    bench.diagnose_until(("early_exit", "uncaught_exception"))
    assert_left_early(end_of(bench, job))


def test_b09_healthy_twin_in_python(bench, openmpi):
    run_healthy(bench, openmpi, 3, [PYTHON, PROGRAMS / "b09_exception.py", "--healthy"])


def test_b09_exception_in_cpp(bench, build, mpi):
    job = bench.mpirun(mpi, 3, [build(mpi, "b09_exception.cc")])
    bench.diagnose_until(("early_exit", "uncaught_exception"))
    verdict = end_of(bench, job)
    assert_left_early(verdict)


def test_b09_healthy_twin_in_cpp(bench, build, mpi):
    run_healthy(bench, mpi, 3, [build(mpi, "b09_exception.cc"), "--healthy"])


# B12: everybody sends first

def test_b12_ring_of_sends(bench, build, mpi):
    job = bench.mpirun(mpi, 4, [build(mpi, "b12_ring_send.c"), "--count", 40000])
    bench.diagnose_until("p2p_deadlock")
    verdict = end_of(bench, job)
    assert_fault(verdict, "p2p_deadlock", CONTROL_FLOW, call="MPI_Send")
    assert_at(verdict, "exchange", "b12_ring_send.c", "send")
    assert sorted(verdict["culprit_ranks"]) == [0, 1, 2, 3]
    sends = [event for event in bench.calls() if event["call"] == "MPI_Send"]
    assert sorted((e["rank"], e["peer"], e["tag"], e["count"], e["dur_ns"]) for e in sends) == [
        (rank, (rank + 1) % 4, 7, 40000, None) for rank in range(4)]


def test_b12_healthy_twin(bench, build, mpi):
    run_healthy(bench, mpi, 4, [build(mpi, "b12_ring_send.c"), "--count", 40000, "--healthy"])


def test_b12_small_messages_are_no_fault(bench, build, mpi):
    job = bench.mpirun(mpi, 4, [build(mpi, "b12_ring_send.c"), "--count", 100])
    assert job.wait() == 0
    verdict = bench.diagnose()  # it works by luck; a warning is welcome, a fault is not
    assert verdict["verdict"] == "healthy", shown(verdict)
    assert verdict["exit_code"] == 0
    line = "b12_ring_send.c:%d" % line_of("b12_ring_send.c", "send")
    assert any("would hang with larger messages" in sentence and line in sentence for sentence in verdict["caveats"]), shown(verdict)


# B19: a broadcast whose count differs on one rank. Open MPI: 3 ranks say nothing, 4 ranks abort on the wrong rank,
# large messages hang; MPICH aborts on rank 1.

@pytest.mark.parametrize("ranks, count, wrong", [(3, 1088, 1142), (4, 1088, 1142), (4, 200000, 400000)])
def test_b19_broadcast_count(bench, build, mpi, ranks, count, wrong):
    job = bench.mpirun(mpi, ranks, [build(mpi, "b19_bcast_count.c"), "--count", count, "--wrong", wrong])
    bench.diagnose_until("argument_mismatch")
    verdict = end_of(bench, job)
    came = {event["rank"] for event in bench.events() if event.get("call") == "MPI_Bcast"}
    if len(came) == 2:  # the job ended before those who would decide it came: one against one
        assert_fault(verdict, "argument_mismatch", "state_corruption", seq=0, field="count")
        assert 1 in came and verdict["culprit_ranks"] == sorted(came), shown(verdict)
        return
    assert_fault(verdict, "argument_mismatch", "state_corruption", rank=1, comm="MPI_COMM_WORLD",
                 seq=0, call="MPI_Bcast", field="count")
    assert str(verdict["first_bad_event"]["expected"]) == str(count)
    assert str(verdict["first_bad_event"]["actual"]) == str(wrong)
    assert_at(verdict, "share_table", "b19_bcast_count.c", "broadcast")
    assert verdict["culprit_ranks"] == [1]


@pytest.mark.parametrize("ranks, count", [(3, 1088), (4, 1088), (4, 200000)])
def test_b19_healthy_twin(bench, build, mpi, ranks, count):
    run_healthy(bench, mpi, ranks, [build(mpi, "b19_bcast_count.c"), "--count", count, "--healthy"])


# B26: a communicator leak, long before the MPI runs out of them, and when it does (MPICH at 2048)

def assert_leak(verdict):
    assert_fault(verdict, "comm_leak", "state_corruption", comm="MPI_COMM_WORLD", seq=0, call="MPI_Comm_split")
    assert_at(verdict, "solve", "b26_comm_leak.c", "split")


def test_b26_leak_that_is_not_fatal_yet(bench, build, mpi):
    job = bench.mpirun(mpi, 2, [build(mpi, "b26_comm_leak.c"), "--iterations", 500])
    assert job.wait() == 0, job.stderr
    assert_leak(bench.diagnose())


def test_b26_leak_that_ends_the_job(bench, build, mpich):
    job = bench.mpirun(mpich, 2, [build(mpich, "b26_comm_leak.c"), "--iterations", 3000])
    assert job.wait() != 0
    assert_leak(bench.diagnose())


def test_b26_healthy_twin(bench, build, mpi):
    run_healthy(bench, mpi, 2, [build(mpi, "b26_comm_leak.c"), "--iterations", 500, "--healthy"])


# B35: the launcher of another MPI

@pytest.mark.parametrize("swap", ["openmpi program, mpich launcher", "mpich program, openmpi launcher"])
def test_b35_launcher_of_another_mpi(bench, build, openmpi, mpich, swap):
    program_mpi, launcher_mpi = (openmpi, mpich) if swap.startswith("openmpi") else (mpich, openmpi)
    job = bench.mpirun(launcher_mpi, 3, [build(program_mpi, "hello.c")])
    assert job.wait() == 0, job.stderr
    assert job.lines() == ["rank 0 of 1, sum 0"] * 3
    verdict = bench.diagnose()
    assert_fault(verdict, "singleton_world", "infrastructure_discontinuity")
    assert verdict["phase"] == "wont_start"


def test_b35_healthy_twin(bench, build, mpi):
    run_healthy(bench, mpi, 3, [build(mpi, "hello.c")])
