"""One rank that does something else than its peers, and messages without a partner: which rank, which call, what differs."""
import pytest

from verdicts import assert_at, assert_fault, assert_healthy, shown

FAULTS = {
    # name: (kinds, class, world sequence number, call of rank 2, field)
    "root": ("argument_mismatch", ("control_flow_divergence", "state_corruption"), 2, "MPI_Bcast", "root"),
    "op": ("argument_mismatch", ("state_corruption",), 3, "MPI_Allreduce", "op"),
    "collective": ("collective_mismatch", ("control_flow_divergence",), 4, "MPI_Barrier", None),
    "type": ("argument_mismatch", ("state_corruption",), 5, "MPI_Allreduce", "datatype"),
}


def ended(bench, job, kind):
    """The verdict of a job that may end by itself or hang."""
    verdict = bench.diagnose_until(kind)
    if job.running():
        job.interrupt()
    job.wait()
    return bench.diagnose() if verdict.get("kind") == kind else verdict


@pytest.mark.parametrize("fault", sorted(FAULTS))
def test_rank_that_differs_in_one_call(bench, build, mpi, fault):
    kind, classes, seq, call, field = FAULTS[fault]
    job = bench.mpirun(mpi, 3, [build(mpi, "mismatch.c"), "--fault", fault])
    verdict = ended(bench, job, kind)
    assert verdict.get("class") in classes, shown(verdict)
    assert_fault(verdict, kind, verdict["class"], rank=2, comm="MPI_COMM_WORLD", seq=seq, call=call)
    assert verdict["culprit_ranks"] == [2]
    if field:
        assert verdict["first_bad_event"]["field"] == field, shown(verdict)
    functions = {"root": "share", "op": "reduce", "collective": "reduce_or_wait", "type": "reduce_typed"}
    assert_at(verdict, functions[fault], "mismatch.c", fault)


def test_rank_that_skips_a_barrier(bench, build, mpi):
    job = bench.mpirun(mpi, 3, [build(mpi, "mismatch.c"), "--fault", "missing"])
    verdict = ended(bench, job, "collective_mismatch")
    # Where the others are in the barrier, rank 2 broadcasts already.
    assert_fault(verdict, "collective_mismatch", "control_flow_divergence", rank=2, comm="MPI_COMM_WORLD", seq=1,
                 call="MPI_Bcast")


def test_rank_that_goes_to_finalize(bench, build, mpi):
    job = bench.mpirun(mpi, 3, [build(mpi, "mismatch.c"), "--fault", "leaves"])
    verdict = ended(bench, job, "early_exit")
    assert_fault(verdict, ("early_exit", "missing_collective"), "control_flow_divergence", rank=2,
                 comm="MPI_COMM_WORLD", seq=6)


def test_same_calls_on_all_ranks_are_healthy(bench, build, mpi):
    job = bench.mpirun(mpi, 3, [build(mpi, "mismatch.c")])
    assert job.wait() == 0
    assert_healthy(bench.diagnose())


def test_who_called_the_one_wrapper_tells_equal_calls_apart(bench, build, mpi):
    job = bench.mpirun(mpi, 3, [build(mpi, "one_wrapper.c"), "--skip", 1])
    verdict = ended(bench, job, "callsite_mismatch")
    assert_fault(verdict, "callsite_mismatch", "control_flow_divergence", rank=1, comm="MPI_COMM_WORLD", seq=16)
    for way in ("sum() at one_wrapper.c:10 by way of log_loss()", "by way of sum_gradients()", "1 collective fewer"):
        assert way in verdict["summary"], shown(verdict)


def test_one_wrapper_that_all_ranks_call_alike_is_healthy(bench, build, mpi):
    assert bench.mpirun(mpi, 3, [build(mpi, "one_wrapper.c")]).wait() == 0
    assert_healthy(bench.diagnose())


def test_message_that_nobody_receives(bench, build, mpi):
    job = bench.mpirun(mpi, 2, [build(mpi, "unmatched.c"), "--fault", "send"])
    assert job.wait() == 0
    verdict = bench.diagnose()
    assert_fault(verdict, "p2p_unmatched", verdict["class"], rank=0, call="MPI_Isend")
    assert_at(verdict, "send_result", "unmatched.c", "send")


def test_receive_with_a_tag_that_nobody_sends(bench, build, mpi):
    job = bench.mpirun(mpi, 2, [build(mpi, "unmatched.c"), "--fault", "recv"])
    verdict = ended(bench, job, "p2p_unmatched")
    assert_fault(verdict, "p2p_unmatched", "control_flow_divergence", rank=1, call="MPI_Recv")
    assert_at(verdict, "receive_result", "unmatched.c", "recv")


def test_message_that_is_received_is_healthy(bench, build, mpi):
    job = bench.mpirun(mpi, 2, [build(mpi, "unmatched.c")])
    assert job.wait() == 0
    assert_healthy(bench.diagnose())
