"""Hangs in which ranks wait for a window's lock or epoch, on a file, or for a message on another communicator."""
import time

import pytest

from harness import line_of
from verdicts import assert_at, assert_fault, assert_healthy, shown

CONTROL_FLOW = "control_flow_divergence"
# Open MPI 4.1's default for collective writes crashes with little data on several ranks.
FILES = {"OMPI_MCA_fcoll": "individual"}


def verdict_of_hung(bench, mpi, ranks, command, kind, **environment):
    job = bench.mpirun(mpi, ranks, command, **environment)
    verdict = bench.diagnose_until(kind)
    job.interrupt()
    job.wait()
    return verdict


def run_healthy(bench, mpi, ranks, command, **environment):
    job = bench.mpirun(mpi, ranks, command, **environment)
    assert job.wait() == 0, job.stderr
    assert_healthy(bench.diagnose())


def at(source, mark):
    return "%s:%d" % (source, line_of(source, mark))


# Locks

def test_two_ranks_lock_in_two_orders(bench, build, mpi):
    verdict = verdict_of_hung(bench, mpi, 3, [build(mpi, "window_locks.c"), "--fault", "order"], "order_inversion")
    assert_fault(verdict, "order_inversion", CONTROL_FLOW, call="MPI_Win_lock", comm="table", field="order")
    assert verdict["culprit_ranks"] == [0, 1], shown(verdict)
    assert at("window_locks.c", "first") in verdict["summary"], shown(verdict)
    assert at("window_locks.c", "second") in verdict["summary"], shown(verdict)


def test_a_lock_that_is_not_given_back(bench, build, mpi):
    verdict = verdict_of_hung(bench, mpi, 3, [build(mpi, "window_locks.c"), "--fault", "kept"], "wait_cycle")
    assert_fault(verdict, "wait_cycle", CONTROL_FLOW, rank=0, call="MPI_Win_lock", comm="table", field="lock",
                 expected="MPI_Win_unlock")
    assert verdict["culprit_ranks"] == [0, 1], shown(verdict)
    assert_at(verdict, "push", "window_locks.c", "push")
    for mark in ("push", "meet", "pull"):
        assert at("window_locks.c", mark) in verdict["summary"], shown(verdict)
    assert "is in MPI_Barrier" in verdict["summary"], shown(verdict)


def test_a_rank_receives_under_its_lock(bench, build, mpi):
    verdict = verdict_of_hung(bench, mpi, 3, [build(mpi, "window_locks.c"), "--fault", "receive"], "wait_cycle")
    assert_fault(verdict, "wait_cycle", CONTROL_FLOW, rank=0, call="MPI_Win_lock", comm="table", field="lock")
    assert_at(verdict, "push", "window_locks.c", "push")
    assert "is in MPI_Recv" in verdict["summary"], shown(verdict)
    assert at("window_locks.c", "pull") in verdict["summary"], shown(verdict)


def test_readers_keep_a_writer_out(bench, build, mpi):
    verdict = verdict_of_hung(bench, mpi, 3, [build(mpi, "window_locks.c"), "--fault", "readers"], "wait_cycle")
    assert_fault(verdict, "wait_cycle", CONTROL_FLOW, call="MPI_Win_lock_all", comm="table", expected="MPI_Win_unlock_all")
    assert verdict["first_bad_event"]["rank"] in (0, 2), shown(verdict)
    assert_at(verdict, "read_all", "window_locks.c", "lock all")


def test_locks_that_are_given_back(bench, build, mpi):
    run_healthy(bench, mpi, 3, [build(mpi, "window_locks.c")])


def test_a_slow_holder_is_no_circle(bench, build, mpi):
    job = bench.mpirun(mpi, 3, [build(mpi, "window_locks.c"), "--hold", 2500])
    seen = 0
    while job.running():
        done = bench.ddbg("diagnose", "latest", "--json")
        for kind in ("wait_cycle", "order_inversion", "p2p_deadlock", "library_stall"):
            assert '"%s"' % kind not in done.stdout, done.stdout[:6000]
        seen += '"verdict"' in done.stdout
        time.sleep(0.1)
    assert job.wait() == 0, job.stderr
    assert seen > 2
    assert_healthy(bench.diagnose())


# Epochs

@pytest.mark.parametrize("fault", ["post", "complete"])
def test_a_rank_leaves_out_its_part_of_an_epoch(bench, build, mpi, fault):
    verdict = verdict_of_hung(bench, mpi, 3, [build(mpi, "window_epochs.c"), "--fault", fault], "wait_cycle")
    assert_fault(verdict, "wait_cycle", CONTROL_FLOW)
    assert 1 in verdict["culprit_ranks"], shown(verdict)
    assert at("window_epochs.c", "barrier") in "\n".join(verdict["evidence"]), shown(verdict)
    # Of a complete that was left out, and of the post of the next turn.
    awaited = ["for the MPI_Win_%s of rank 1." % call for call in ("post", fault)]
    assert any(text in verdict["summary"] for text in awaited), shown(verdict)


def test_whole_epochs(bench, build, mpi):
    run_healthy(bench, mpi, 3, [build(mpi, "window_epochs.c")])


# Files

@pytest.mark.parametrize("fault, call", [
    ("open", "MPI_File_open"), ("size", "MPI_File_set_size"), ("ordered", "MPI_File_write_ordered"),
    ("begin", "MPI_File_read_all_"), ("close", "MPI_File_close")])
def test_a_rank_leaves_out_a_call_on_a_file(bench, build, mpi, fault, call):
    command = [build(mpi, "file_waits.c"), "--file", bench.folder / "data", "--fault", fault]
    kinds = ("wait_cycle", "collective_mismatch", "missing_collective", "order_inversion", "early_exit")
    verdict = verdict_of_hung(bench, mpi, 3, command, kinds, **FILES)
    assert_fault(verdict, kinds, CONTROL_FLOW)
    assert 1 in verdict["culprit_ranks"], shown(verdict)
    text = "\n".join([verdict["summary"], *verdict["evidence"]])
    assert call in text, shown(verdict)
    assert at("file_waits.c", fault) in text, shown(verdict)


def test_all_make_their_calls_on_a_file(bench, build, mpi):
    run_healthy(bench, mpi, 3, [build(mpi, "file_waits.c"), "--file", bench.folder / "data"], **FILES)


# Messages

def test_a_message_on_another_communicator(bench, build, mpi):
    verdict = verdict_of_hung(bench, mpi, 4, [build(mpi, "two_communicators.c")], "p2p_unmatched")
    assert_fault(verdict, "p2p_unmatched", CONTROL_FLOW, rank=1, call="MPI_Recv", comm="MPI_COMM_WORLD",
                 field="communicator", actual="MPI_COMM_WORLD", expected="row")
    assert verdict["culprit_ranks"] == [0, 1], shown(verdict)
    assert_at(verdict, "receive_halo", "two_communicators.c", "receive")
    assert at("two_communicators.c", "send") in verdict["summary"], shown(verdict)


def test_a_message_on_the_same_communicator(bench, build, mpi):
    run_healthy(bench, mpi, 4, [build(mpi, "two_communicators.c"), "--healthy"])
