"""Who a process is, however it was started: run, attempt, rank, size, local rank, node, and where they are known from."""
import json
import subprocess

import pytest

from debian_torch import Torch
from harness import ROOT, wait_until
from launchers import PROGRAMS
from verdicts import assert_fault, assert_healthy, shown

PYTHON = "/usr/bin/python3"


@pytest.fixture
def marks(program_folder):
    """The path of rank_marks, compiled."""
    program = program_folder / "rank_marks"
    if not program.exists():
        subprocess.run(["gcc", "-g", "-I", ROOT, "-o", program, PROGRAMS / "rank_marks.c"], check=True)
    return program


def ranks_of(info, *keys):
    return sorted(tuple(rank.get(key) for key in keys) for rank in info["ranks"])


def only_run(bench):
    """The run's information; there must be one run alone."""
    runs = [path.name for path in bench.runs.iterdir() if not path.is_symlink()]
    assert len(runs) == 1, runs
    return bench.info()


def shell(bench, script, **environment):
    job = bench.start(["sh", "-c", script], **environment)
    assert job.wait() == 0, job.stderr
    return only_run(bench)


@pytest.mark.quick
def test_ranks_by_hand(bench, marks):
    info = shell(bench, """for rank in 0 1; do RANK=$rank WORLD_SIZE=2 LOCAL_RANK=$rank NODE_RANK=0 MASTER_ADDR=localhost LD_PRELOAD=%s %s & done
wait""" % (bench.library, marks))
    assert ranks_of(info, "rank", "world_size", "local_rank", "node_rank") == [(0, 2, 0, 0), (1, 2, 1, 0)], info
    assert info["ranks"][1]["rank_sources"]["MASTER_ADDR"] == "localhost"
    assert info["launchers"] == []


@pytest.mark.quick
@pytest.mark.parametrize("script_sets_rank", [False, True])
def test_slurm(bench, marks, script_sets_rank):
    rank = "RANK=$SLURM_PROCID WORLD_SIZE=$SLURM_NTASKS" if script_sets_rank else ""
    info = shell(bench, """for rank in 0 1 2 3; do
export SLURM_PROCID=$rank SLURM_LOCALID=$((rank %% 2)) SLURM_NODEID=$((rank / 2))
%s LD_PRELOAD=%s %s & done
wait""" % (rank, bench.library, marks), SLURM_NTASKS=4, SLURM_JOB_ID=77, SLURM_STEP_ID=1, SLURM_RESTART_COUNT=2)
    assert ranks_of(info, "rank", "local_rank", "node_rank") == [(0, 0, 0), (1, 1, 0), (2, 0, 1), (3, 1, 1)], info
    assert (info["run_id"], info["attempt_id"], info["world_size"], info["launchers"]) == ("slurm-77.1", 2, 4, ["Slurm"])


def test_mpirun_of_a_script_that_sets_rank(bench, marks, openmpi):
    script = "RANK=$OMPI_COMM_WORLD_RANK WORLD_SIZE=$OMPI_COMM_WORLD_SIZE MASTER_ADDR=localhost exec %s" % marks
    job = bench.mpirun(openmpi, 3, ["sh", "-c", script])
    assert job.wait() == 0, job.stderr
    info = only_run(bench)
    assert ranks_of(info, "rank", "world_size", "local_rank") == [(0, 3, 0), (1, 3, 1), (2, 3, 2)]
    assert info["launchers"] == ["Open MPI mpirun"]
    assert not any("do not say the same" in caveat for caveat in bench.diagnose()["caveats"])


@pytest.mark.quick
def test_sources_that_disagree_are_told(bench, build, openmpi):
    job = bench.mpirun(openmpi, 2, [build(openmpi, "hello.c")], RANK="0", WORLD_SIZE="1")
    assert job.wait() == 0, job.stderr
    verdict = bench.diagnose()
    assert_healthy(verdict)
    assert any("RANK and OMPI_COMM_WORLD_RANK do not say the same: 0 and 1 on rank 1" in caveat
               for caveat in verdict["caveats"]), shown(verdict)
    assert ranks_of(bench.info(), "rank", "world_size") == [(0, 2), (1, 2)]  # as MPI says


@pytest.mark.quick
@pytest.mark.parametrize("method", ["spawn", "fork", "forkserver"])
@pytest.mark.parametrize("how", ["env", "arguments"])
def test_ranks_that_a_program_makes_of_itself(bench, method, how):
    go = bench.folder / "go"
    job = bench.start([PYTHON, PROGRAMS / "process_marks.py", method, how, go], LD_PRELOAD=bench.library)
    # Forked children end by _exit, which waits for nothing: what was not handed over by then is gone.
    wait_until(lambda: len(list(bench.runs.glob("*-*/a0/[rp]*.ddbg"))) == 2, "both are recorded")
    go.touch()
    assert job.wait() == 0, job.stderr
    info = only_run(bench)
    assert ranks_of(info, "rank") == ([(0,), (1,)] if how == "env" else [(-1,), (-1,)])
    assert {rank["start_method"] for rank in info["ranks"]} == {method}
    assert info["run_id"].startswith("python3-%d-" % job.popen.pid)
    if method != "forkserver":
        assert {rank["ppid"] for rank in info["ranks"]} == {job.popen.pid}


@pytest.fixture(params=["bookworm", "sid"])
def torch(request, bench, as_root):
    jobs = Torch(bench, request.param)
    yield jobs
    jobs.close()


def test_torchrun(torch, bench):
    done = torch.run(*torch.torchrun(), PROGRAMS / "torch_identity.py")
    assert done.returncode == 0, done.stderr
    info = only_run(bench)
    assert ranks_of(info, "rank", "world_size", "local_rank", "node_rank") == [(0, 2, 0, 0), (1, 2, 1, 0)], info
    assert info["launchers"] == ["torchrun"] and info["attempt_id"] == 0
    assert info["run_id"].startswith("torchrun-") and "none" not in info["run_id"], info["run_id"]


def test_accelerate_s_variables(torch, bench):
    done = torch.run(*torch.torchrun("--rdzv_id", "nightly"), PROGRAMS / "torch_identity.py", ACCELERATE_USE_CPU="true",
                     ACCELERATE_MIXED_PRECISION="no")
    assert done.returncode == 0, done.stderr
    info = only_run(bench)
    assert ranks_of(info, "rank", "local_rank") == [(0, 0), (1, 1)]
    assert (info["launchers"], info["run_id"]) == (["accelerate"], "torchrun-nightly")


def test_attempts_of_torchrun_lie_side_by_side(torch, bench):
    done = torch.run(*torch.torchrun("--rdzv_id", "nightly", "--max_restarts", "2"), PROGRAMS / "torch_identity.py", "fail")
    assert done.returncode == 0, done.stderr
    info = bench.info("torchrun-nightly")
    assert [attempt["attempt_id"] for attempt in info["earlier_attempts"]] == [0]
    assert info["attempt_id"] == 1 and ranks_of(info, "rank") == [(0,), (1,)], info
    verdict = bench.diagnose("torchrun-nightly")
    first, = verdict["earlier_attempts"]
    assert first["attempt_id"] == 0 and first["reached"]["step"] == 3, shown(verdict)
    assert verdict["reached"]["step"] == 5, shown(verdict)


@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_spawn_of_torch(torch, bench, method):
    done = torch.run("python3", PROGRAMS / "torch_spawned_ranks.py", method)
    assert done.returncode == 0, done.stderr
    info = only_run(bench)
    assert len(info["ranks"]) == 2 and {rank["start_method"] for rank in info["ranks"]} == {method}, info


# TF_CONFIG: no TensorFlow is here; a program that waits on a socket stands for its workers.

CLUSTER = {"worker": ["localhost:12345", "localhost:23456"]}


def tf_config(index, cluster=CLUSTER):
    return json.dumps({"cluster": cluster, "task": {"type": "worker", "index": index}})


def test_a_worker_that_was_never_started(bench, marks):
    bench.start([marks, "0", "60"], LD_PRELOAD=bench.library, TF_CONFIG=tf_config(0))
    wait_until(lambda: bench.runs.exists(), "the worker is recorded")
    verdict = bench.diagnose_until("missing_rank")
    assert_fault(verdict, "missing_rank", "infrastructure_discontinuity", rank=1, field="arrival")
    assert verdict["phase"] == "wont_start" and verdict["culprit_ranks"] == [1], shown(verdict)
    assert "worker 1 (localhost:23456) never started" in verdict["summary"], shown(verdict)
    assert ranks_of(bench.info(), "rank", "world_size") == [(0, 2)]


def test_both_workers_are_no_fault(bench, marks):
    script = " & ".join("TF_CONFIG='%s' LD_PRELOAD=%s %s 0 12" % (tf_config(index), bench.library, marks) for index in (0, 1))
    info = shell(bench, script + " & wait")
    assert ranks_of(info, "rank", "world_size") == [(0, 2), (1, 2)]
    assert bench.diagnose()["verdict"] == "unknown"


@pytest.mark.parametrize("configs, kind", [((tf_config(0), tf_config(0)), "duplicate_rank"),
                                           ((tf_config(1), tf_config(2)), "env_mismatch"),
                                           ((tf_config(0), tf_config(1, {"worker": ["a:1", "b:1", "c:1"]})), "env_mismatch")])
def test_workers_that_were_told_what_cannot_be(bench, marks, configs, kind):
    script = " & ".join("TF_CONFIG='%s' LD_PRELOAD=%s %s 0 60" % (config, bench.library, marks) for config in configs)
    bench.start(["sh", "-c", script + " & wait"])
    verdict = bench.diagnose_until(kind)
    assert_fault(verdict, kind, "infrastructure_discontinuity")
    assert verdict["phase"] == "wont_start", shown(verdict)
