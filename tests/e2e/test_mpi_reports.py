"""Public failure reports of MPI programs, re-told small, each with a healthy twin (test_reports.py has the first ones)."""
import shutil
import subprocess

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
    verdict = verdict_of_ended(bench, mpi, 2, [build(mpi, "b10_threads.c"), "--rounds", 4000], code=0)
    assert_fault(verdict, "concurrent_collectives", CONTROL_FLOW, comm="MPI_COMM_WORLD", call="MPI_Allreduce", field="thread")
    assert verdict["culprit_ranks"] == [0, 1], shown(verdict)
    assert_at(verdict, "work", "b10_threads.c", "reduce")


def test_two_threads_of_other_sizes_b10(bench, build, mpi):
    """The MPI says that a message was truncated, or all hang."""
    job = bench.mpirun(mpi, 2, [build(mpi, "b10_threads.c"), "--sizes", "--rounds", 500])
    verdict = bench.diagnose_until(("concurrent_collectives", "argument_mismatch"))
    job.interrupt()
    job.wait()
    # Where the first two calls meet wrongly the job is over before two threads were seen in one at once.
    assert_fault(verdict, ("concurrent_collectives", "argument_mismatch"), CONTROL_FLOW, comm="MPI_COMM_WORLD", call="MPI_Allreduce")
    assert verdict["kind"] == "concurrent_collectives" or verdict["first_bad_event"]["seq"] == 0, shown(verdict)


def test_a_communicator_for_each_thread_b10(bench, build, mpi):
    run_healthy(bench, mpi, 2, [build(mpi, "b10_threads.c"), "--healthy", "--rounds", 500])


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
    verdict = verdict_of_hung(bench, openmpi, 2, [PYTHON, PROGRAMS / "s12_pickled.py", 5000], "message_truncated")
    assert_fault(verdict, "message_truncated", CONTROL_FLOW, rank=1, call="MPI_Irecv", actual=32768)
    text = text_of(verdict)
    assert "rank 0 sent it 450" in text, shown(verdict)
    assert "s12_pickled.py:%d" % line_of("s12_pickled.py", "irecv") in text, shown(verdict)


@pytest.mark.parametrize("words", [[3000], [5000, "own-buffer"]])
def test_a_pickled_object_that_fits_s12(bench, openmpi, words):
    run_healthy(bench, openmpi, 2, [PYTHON, PROGRAMS / "s12_pickled.py", *words])


# S21: MPI_Pcontrol

@pytest.mark.parametrize("words", [[], ["--forgets"]])
def test_pcontrol_does_not_turn_ddbg_off_s21(bench, build, mpi, words):
    run_healthy(bench, mpi, 2, [build(mpi, "s21_pcontrol.c"), *words])
    levels = {rank: [event["level"] for event in bench.events() if event["rank"] == rank and event["call"] == "MPI_Pcontrol"]
              for rank in (0, 1)}
    assert levels == {0: [0, 1], 1: [0, 1] if not words else [1]}
    for rank in (0, 1):
        seqs = [event["seq"] for event in bench.events() if event["rank"] == rank and event["call"] == "MPI_Allreduce"]
        assert seqs == list(range(10))


def test_pcontrol_before_init_ends_as_without_s21(bench, build, mpi):
    """MPICH and Open MPI refuse it; ddbg neither hides that nor crashes before."""
    program = [build(mpi, "s21_pcontrol.c"), "--early"]
    plain = bench.mpirun(mpi, 1, program, preload=False)
    code = plain.wait()
    job = bench.mpirun(mpi, 1, program)
    assert job.wait() == code, job.stderr
    assert ("before initializing" in job.stderr) == ("before initializing" in plain.stderr)


# B07, pytorch#130102, with MPI: groups made in two orders

def test_groups_made_in_two_orders_b07(bench, build, mpi):
    """The MPIs mix the two up: Open MPI may even end well, and MPICH hangs elsewhere."""
    job = bench.mpirun(mpi, 4, [build(mpi, "b07_groups.c")])
    verdict = bench.diagnose_until("group_creation_mismatch")
    job.interrupt()
    job.wait()
    assert_fault(verdict, "group_creation_mismatch", CONTROL_FLOW, rank=1, call="MPI_Comm_create_group", field="group",
                 actual="ranks 0, 1, 3", expected="ranks 0 to 2")
    assert verdict["culprit_ranks"] == [0, 1], shown(verdict)
    assert_at(verdict, "make", "b07_groups.c", "create")


def test_groups_made_in_one_order_b07(bench, build, mpi):
    run_healthy(bench, mpi, 4, [build(mpi, "b07_groups.c"), "--healthy"])


# B23, WRF#2156: a displacement overflows

def test_a_displacement_that_overflows_b23(bench, build, mpi):
    verdict = verdict_of_ended(bench, mpi, 3, [build(mpi, "b23_displacements.c")])
    assert_fault(verdict, "displacement_overflow", STATE, rank=0, call="MPI_Gatherv", seq=0, actual=-1894967296)
    assert verdict["culprit_ranks"] == [0], shown(verdict)
    assert "displacement 2 of -1894967296" in verdict["summary"] and "2400000000" in verdict["summary"], shown(verdict)
    assert_at(verdict, "gather_bytes", "b23_displacements.c", "gather")


def test_displacements_in_larger_units_b23(bench, build, mpi):
    run_healthy(bench, mpi, 3, [build(mpi, "b23_displacements.c"), "--healthy"])


def test_displacements_that_mean_nothing_are_not_read_b23(bench, build, mpi):
    job = bench.mpirun(mpi, 4, [build(mpi, "inter_gatherv.c")])
    assert job.wait() == 0, job.stderr
    assert "0 2" in job.stdout
    assert_healthy(bench.diagnose())


# B24, heat#2150: a buffer overwritten before its send is over

def test_sends_that_nobody_completes_b24(bench, build, mpi):
    verdict = verdict_of_ended(bench, mpi, 2, [build(mpi, "b24_overwritten.c")], code=0)
    assert_fault(verdict, "request_leak", STATE, call="MPI_Isend", comm="MPI_COMM_WORLD")
    assert verdict["culprit_ranks"] == [0, 1], shown(verdict)
    assert_at(verdict, "main", "b24_overwritten.c", "isend")


def test_a_buffer_that_is_written_to_is_told_b24(bench, build, mpi):
    verdict = verdict_of_ended(bench, mpi, 2, [build(mpi, "b24_overwritten.c")], code=0, DDBG_CHECK_BUFFERS=1)
    kinds = [finding["kind"] for finding in verdict["findings"]]
    assert sorted(kinds) == ["buffer_modified", "request_leak"], shown(verdict)
    modified = verdict["findings"][kinds.index("buffer_modified")]
    assert modified["culprit_ranks"] == [0, 1] and modified["first_bad_event"]["call"] == "MPI_Isend", shown(verdict)
    assert "b24_overwritten.c:%d" % line_of("b24_overwritten.c", "isend") in modified["summary"], shown(verdict)
    assert any("rank 0: 20 of its sends" in sentence for sentence in modified["evidence"]), shown(verdict)


@pytest.mark.parametrize("checks", [0, 1])
def test_sends_that_are_completed_b24(bench, build, mpi, checks):
    job = bench.mpirun(mpi, 2, [build(mpi, "b24_overwritten.c"), "--healthy"], DDBG_CHECK_BUFFERS=checks)
    assert job.wait() == 0, job.stderr
    assert_healthy(bench.diagnose())


# S13, Trilinos#15380: a tag that rises

def test_a_tag_above_what_mpich_allows_s13(bench, build, mpich):
    verdict = verdict_of_ended(bench, mpich, 2, [build(mpich, "s13_rising_tags.c"), "--first", 268435454])
    assert_fault(verdict, "tag_overflow", STATE, call="MPI_Sendrecv", actual=268435456)
    assert "268435455" in verdict["summary"], shown(verdict)


def test_a_tag_that_open_mpi_allows_s13(bench, build, openmpi):
    run_healthy(bench, openmpi, 2, [build(openmpi, "s13_rising_tags.c"), "--first", 268435454])


def test_a_tag_that_will_be_above_s13(bench, build, mpi):
    first = 268435455 - 2000 if mpi.suffix == "mpich" else 2147483647 - 2000
    verdict = verdict_of_ended(bench, mpi, 2, [build(mpi, "s13_rising_tags.c"), "--first", first, "--rounds", 50], code=0)
    assert_fault(verdict, "tag_overflow", STATE, call="MPI_Sendrecv")
    assert "has come near MPI_TAG_UB" in verdict["summary"], shown(verdict)


def test_a_tag_that_begins_again_s13(bench, build, mpi):
    run_healthy(bench, mpi, 2, [build(mpi, "s13_rising_tags.c"), "--healthy", "--rounds", 50])


# B39, ompi#3705: MPI by handle, as Julia, R and ctypes have it

@pytest.mark.parametrize("mode", ["local", "global"])
def test_mpi_by_handle_b39(bench, mpi, mode):
    run_healthy(bench, mpi, 2, [PYTHON, PROGRAMS / "b39_by_handle.py", mpi.shared_library, mode])
    for rank in (0, 1):
        names = [event["call"] for event in bench.events() if event["rank"] == rank]
        assert names == ["MPI_Init", "MPI_Barrier", "MPI_Finalize"], names


# S15: Fortran calls must not bypass the library

def fortran(mpi, folder, binding):
    compiler = shutil.which("mpifort." + mpi.suffix)
    if not compiler:
        pytest.skip("needs a Fortran compiler of %s" % mpi)
    program = folder / ("s15.%s.%s" % (binding, mpi.suffix))
    words = ["-g", "-O1", "-fno-omit-frame-pointer", "-J", folder, *(["-DF08"] if binding == "mpi_f08" else [])]
    subprocess.run([compiler, *words, "-o", program, PROGRAMS / "s15_extra_barrier.F90"], check=True)
    return program


@pytest.mark.parametrize("binding", ["mpi", "mpi_f08"])
def test_an_extra_barrier_in_fortran_s15(bench, mpi, program_folder, binding):
    program = fortran(mpi, program_folder, binding)
    verdict = verdict_of_hung(bench, mpi, 3, [program], "callsite_mismatch")
    assert_fault(verdict, "callsite_mismatch", CONTROL_FLOW, rank=0, comm="MPI_COMM_WORLD", seq=3, call="MPI_Barrier")
    assert "s15_extra_barrier.F90:%d" % line_of("s15_extra_barrier.F90", "save") in verdict["summary"], shown(verdict)


@pytest.mark.parametrize("binding", ["mpi", "mpi_f08"])
def test_the_same_barriers_in_fortran_s15(bench, mpi, program_folder, binding):
    run_healthy(bench, mpi, 3, [fortran(mpi, program_folder, binding), "healthy"])


# MPICH's errors/coll/noalias: a collective that MPI refuses for its arguments was not made

def test_a_refused_collective_that_is_made_again(bench, build, mpi):
    run_healthy(bench, mpi, 4, [build(mpi, "refused.c")])
    refused = [event for event in bench.calls() if event.get("result")]
    assert [(event["rank"], event["call"], "seq" in event) for event in refused] == [
        (1, "MPI_Bcast", False), (1, "MPI_Reduce", False), (1, "MPI_Comm_create", False)], refused


def test_a_refused_collective_that_is_left_out(bench, build, mpi):
    verdict = verdict_of_hung(bench, mpi, 4, [build(mpi, "refused.c"), "--left-out"], "wait_cycle")
    assert_fault(verdict, "wait_cycle", CONTROL_FLOW)
    assert verdict["culprit_ranks"] == [1, 2], shown(verdict)
    assert "MPI refused MPI_Bcast(1 × MPI_INT, root 99)" in text_of(verdict), shown(verdict)
