"""Worlds that MPI_Comm_spawn makes belong to the run of those that spawned them, with ranks after theirs. MPICH 4.0 of Debian 12
spawns nothing, with and without the library; test_bindings_debian.py has later ones."""
import pytest

from launchers import OPENMPI
from verdicts import assert_at, assert_fault, shown


def only_run(bench):
    """Without the link to the latest one."""
    runs = [entry.name for entry in bench.runs.iterdir() if not entry.is_symlink()]
    assert len(runs) == 1, runs
    return runs[0]


@pytest.fixture
def openmpi():
    if not OPENMPI.available():
        pytest.skip("Open MPI is not there")
    return OPENMPI


@pytest.mark.parametrize("run_id", [None, "pool"])
def test_spawned_worlds_are_of_one_run(bench, build, openmpi, run_id):
    """Two after each other, and a run id that the user gave, which all of them have."""
    environment = {"DDBG_RUN_ID": run_id} if run_id else {}
    job = bench.mpirun(openmpi, 2, [build(openmpi, "spawn.c"), "--counts", bench.folder / "counts"], **environment)
    assert job.wait(60) == 0, job.stderr
    run = only_run(bench)
    info = bench.info(run)
    assert [process["rank"] for process in info["ranks"]] == list(range(6)) and info["missing_ranks"] == []
    worlds = [(world["first_rank"], world["size"], world["spawned_by"]) for world in info["spawned_worlds"]]
    assert worlds == [(2, 2, 0), (4, 2, 0)]
    members = {comm["name"]: comm["ranks"] for comm in info["communicators"]}
    assert members["MPI_COMM_WORLD"] == [0, 1] and members["MPI_COMM_WORLD of spawn 1"] == [2, 3]
    assert members["spawn#0 of MPI_COMM_WORLD"] == members["merge#0 of spawn#0 of MPI_COMM_WORLD"] == [0, 1, 2, 3]
    assert members["spawn#1 of MPI_COMM_WORLD"] == members["merge#0 of spawn#1 of MPI_COMM_WORLD"] == [0, 1, 4, 5]
    verdict = bench.diagnose(run)
    assert verdict["verdict"] == "healthy", shown(verdict)
    assert [caveat.partition(",")[0] for caveat in verdict["caveats"]] == ["ranks 2", "ranks 4"], verdict["caveats"]


def test_child_that_leaves_out_a_barrier_with_its_parents(bench, build, openmpi):
    job = bench.mpirun(openmpi, 2, [build(openmpi, "spawn.c"), "--counts", bench.folder / "counts", "--skip", 1])
    verdict = bench.diagnose_until("collective_mismatch")
    assert_fault(verdict, "collective_mismatch", "control_flow_divergence", rank=3, seq=2)
    assert_at(verdict, "child", "spawn.c", "part")
    job.interrupt()


def test_worker_that_sends_no_result(bench, build, openmpi):
    """Messages over the inter-communicator: the master waits for a worker, which waits for the end."""
    job = bench.mpirun(openmpi, 1, [build(openmpi, "spawn_pool.c"), "--lose", 1])
    verdict = bench.diagnose_until("p2p_deadlock")
    assert sorted(verdict["culprit_ranks"]) == [0, 2], shown(verdict)
    assert "rank 2" in str(verdict["evidence"]) and "spawn_pool.c" in verdict["summary"], shown(verdict)
    job.interrupt()


def test_worker_that_sends_its_result(bench, build, openmpi):
    job = bench.mpirun(openmpi, 1, [build(openmpi, "spawn_pool.c")])
    assert job.wait(60) == 0, job.stderr
    verdict = bench.diagnose(only_run(bench))
    assert verdict["verdict"] == "healthy" and verdict["world_size"] == 3, shown(verdict)
