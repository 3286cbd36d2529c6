"""Public failure reports of MPI programs, re-told small, each with a healthy twin (test_reports.py has the first ones)."""
import pytest

from harness import line_of
from launchers import PROGRAMS
from verdicts import assert_at, assert_fault, assert_healthy, shown

CONTROL_FLOW, STATE = "control_flow_divergence", "state_corruption"
PYTHON = "/usr/bin/python3"  # the distribution's: mpi4py belongs to it


def run_healthy(bench, mpi, ranks, command, caveat=None):
    job = bench.mpirun(mpi, ranks, command)
    assert job.wait() == 0, job.stderr
    verdict = bench.diagnose()
    assert_healthy(verdict)
    assert not caveat or any(caveat in sentence for sentence in verdict["caveats"]), shown(verdict)
    return verdict


def verdict_of_hung(bench, mpi, ranks, command, kind, **more):
    job = bench.mpirun(mpi, ranks, command)
    verdict = bench.diagnose_until(kind, **more)
    job.interrupt()
    job.wait()
    return verdict


def verdict_of_ended(bench, mpi, ranks, command, code=None, **more):
    job = bench.mpirun(mpi, ranks, command, **more)
    ended = job.wait()
    assert code is None or ended == code, job.stderr
    return bench.diagnose()


def text_of(verdict):
    return "\n".join([verdict["summary"], *verdict["evidence"]])


# B10, open-mpi/ompi#2427: two threads, one communicator

def test_two_threads_reduce_on_one_communicator_b10(bench, build, mpi):
    """The program ends well, with wrong results."""
    verdict = verdict_of_ended(bench, mpi, 2, [build(mpi, "b10_threads.c"), "--rounds", 300], code=0)
    assert_fault(verdict, "concurrent_collectives", CONTROL_FLOW, comm="MPI_COMM_WORLD", call="MPI_Allreduce", field="thread")
    assert verdict["culprit_ranks"] == [0, 1], shown(verdict)
    assert_at(verdict, "work", "b10_threads.c", "reduce")


def test_two_threads_of_other_sizes_b10(bench, build, mpi):
    """The MPI says that a message was truncated, or all hang."""
    job = bench.mpirun(mpi, 2, [build(mpi, "b10_threads.c"), "--sizes", "--rounds", 300])
    verdict = bench.diagnose_until("concurrent_collectives")
    job.interrupt()
    job.wait()
    assert_fault(verdict, "concurrent_collectives", CONTROL_FLOW, comm="MPI_COMM_WORLD", call="MPI_Allreduce", field="thread")


def test_a_communicator_for_each_thread_b10(bench, build, mpi):
    run_healthy(bench, mpi, 2, [build(mpi, "b10_threads.c"), "--healthy", "--rounds", 300])


# B14, athenak#572: every rank reads its own clock

def test_every_rank_reads_its_own_clock_b14(bench, build, mpi):
    verdict = verdict_of_hung(bench, mpi, 3, [build(mpi, "b14_own_clock.c")], "collective_mismatch")
    assert_fault(verdict, "collective_mismatch", CONTROL_FLOW, rank=2, comm="MPI_COMM_WORLD", call="MPI_Allreduce",
                 expected="MPI_Gather")
    assert verdict["culprit_ranks"] == [2], shown(verdict)
    assert_at(verdict, "do_step", "b14_own_clock.c", "step")
    assert "b14_own_clock.c:%d" % line_of("b14_own_clock.c", "restart") in text_of(verdict), shown(verdict)


def test_one_rank_decides_for_all_b14(bench, build, mpi):
    run_healthy(bench, mpi, 3, [build(mpi, "b14_own_clock.c"), "--healthy"])


# S04, cuDecomp#7: a library that is given a sub-communicator meets on the world

def test_a_library_meets_on_the_world_s04(bench, build, mpi):
    verdict = verdict_of_hung(bench, mpi, 4, [build(mpi, "s04_world_inside.c")], ("early_exit", "collective_mismatch"))
    text = text_of(verdict)
    assert verdict["class"] == CONTROL_FLOW and verdict["first_bad_event"]["comm"] == "MPI_COMM_WORLD", shown(verdict)
    assert verdict["first_bad_event"]["call"] == "MPI_Barrier", shown(verdict)
    assert "s04_world_inside.c:%d" % line_of("s04_world_inside.c", "barrier") in text, shown(verdict)
    assert "MPI_Finalize" in text and "rank 2" in text.lower(), shown(verdict)


def test_a_library_meets_where_it_was_told_s04(bench, build, mpi):
    run_healthy(bench, mpi, 4, [build(mpi, "s04_world_inside.c"), "--healthy"])


# S12, mpi4py#389: a pickled object larger than the buffer for it

def test_a_pickled_object_larger_than_its_buffer_s12(bench, openmpi):
    verdict = verdict_of_ended(bench, openmpi, 2, [PYTHON, PROGRAMS / "s12_pickled.py", 5000])
    assert verdict["verdict"] == "fault" and verdict["culprit_ranks"] == [1], shown(verdict)
    text = text_of(verdict)
    assert "32768" in text and "450" in text, shown(verdict)
    assert "s12_pickled.py:%d" % line_of("s12_pickled.py", "irecv") in text, shown(verdict)


@pytest.mark.parametrize("words", [[3000], [5000, "own-buffer"]])
def test_a_pickled_object_that_fits_s12(bench, openmpi, words):
    run_healthy(bench, openmpi, 2, [PYTHON, PROGRAMS / "s12_pickled.py", *words])


# S21: MPI_Pcontrol

@pytest.mark.parametrize("words", [[], ["--forgets"], ["--early"]])
def test_pcontrol_does_not_turn_ddbg_off_s21(bench, build, mpi, words):
    if words == ["--early"] and mpi.suffix == "openmpi":
        pytest.skip("Open MPI itself allows no MPI_Pcontrol before MPI_Init")
    run_healthy(bench, mpi, 2, [build(mpi, "s21_pcontrol.c"), *words])
    levels = {rank: [event["level"] for event in bench.events() if event["rank"] == rank and event["call"] == "MPI_Pcontrol"]
              for rank in (0, 1)}
    assert levels[0] == [*([1] if words == ["--early"] else []), 0, 1]
    assert levels[1] == (levels[0] if words != ["--forgets"] else [1])
    for rank in (0, 1):
        seqs = [event["seq"] for event in bench.events() if event["rank"] == rank and event["call"] == "MPI_Allreduce"]
        assert seqs == list(range(10))
