"""Training with PyTorch as its releases and launchers have it, the Python bridge on: the same results, steps, phases, process groups and
checkpoints on all ranks, and nothing found that is not there. Debian 12 (1.13), 13 (2.6, gloo and MPI), sid (2.14), and the CUDA build of 13 on
doubles."""
import json
import re

import pytest

from debian_torch import Torch
from launchers import PROGRAMS
from verdicts import assert_healthy, shown

PROGRAM = PROGRAMS / "torch_matrix.py"
SUITES = ["bookworm", "trixie", "sid"]
TRAINING = {"loader", "forward", "backward", "optimizer"}


@pytest.fixture
def torch_of(bench, as_root):
    """torch_of(suite): PyTorch of a release; trixie's directory has Open MPI's launcher, too."""
    made = []

    def make(suite):
        made.append(Torch(bench, suite, *(["openmpi-bin"] if suite == "trixie" else [])))
        return made[-1]
    yield make
    for each in made:
        each.close()


def ran(done):
    """What a job printed, by rank."""
    assert done.returncode == 0, done.stderr[-4000:]
    return sorted(done.stdout.splitlines())


def compare(torch, command, **environment):
    """The job without and with the library: `command()` makes its command line. What it printed."""
    bare = ran(torch.run(*command(), preload=False, **environment))
    traced = ran(torch.run(*command(), **environment))
    assert traced == bare and len(bare) == 2, traced
    torch.close()
    return traced


def marks_of(events, rank, call, name=None):
    return [event for event in events if event["rank"] == rank and event.get("call") == call and name in (None, event.get("name"))]


def assert_told(bench, printed, steps=6, backend="gloo", told_values=("loss", "norm"), skipped=(), run="latest"):
    """Every step with its phases, the numbers that were printed, the group, on both ranks; nothing lost, nothing found. The events."""
    info = bench.info(run)
    assert info["loss_line"] == "nothing lost" and len(info["ranks"]) == 2, info
    events = bench.events(run)
    for rank in range(2):
        marked = [event["step"] for event in marks_of(events, rank, "ddbg_step")]
        assert marked == list(range(steps + len(marks_of(events, rank, "ddbg_event", "end_of_data")))), rank
        for name in told_values:
            values = [float(number) for number in re.findall(name + r" (-?[\d.]+)", printed[rank])]
            told = [event["value"] for event in marks_of(events, rank, "ddbg_value", name.replace("norm", "grad_norm"))]
            assert [round(value, 6) for value in told] == values, (rank, name)
        groups = [event["text"] for event in marks_of(events, rank, "ddbg_event", "process_group")]
        assert re.match(r"init %s \S*: ranks 0-1$" % backend, groups[0]) and groups[-1].startswith("destroy"), groups
    done = bench.ddbg("steps", run, "--json")
    assert done.returncode == 0, done.stderr
    table = json.loads(done.stdout)
    assert table["source"] == "marks" and [step["step"] for step in table["steps"]] == list(range(steps)), table["steps"]
    for step in table["steps"]:
        assert [rank["rank"] for rank in step["ranks"]] == [0, 1]
        for rank in step["ranks"]:
            assert TRAINING & set(rank["phases"]) == TRAINING - {step["step"] in skipped and "optimizer"}, (step["step"], rank)
    assert_healthy(bench.diagnose(run))
    return events


def assert_workers(bench, method):
    """Two processes that load data for each rank, as its children; none of them is recorded for itself."""
    info = bench.info()
    pids = [pid for rank in info["ranks"] for pid in rank["loader_workers"]["pids"]]
    assert len(info["ranks"]) == 2 and len(set(pids)) == 4 and not set(pids) & {rank["pid"] for rank in info["ranks"]}, info
    assert {rank["loader_workers"]["start_method"] for rank in info["ranks"]} == {method}
    text = bench.ddbg("info", "latest").stdout
    for rank in info["ranks"]:
        assert "2 by %s: pids %d, %d" % (method, *rank["loader_workers"]["pids"]) in text, text


@pytest.mark.parametrize("suite", SUITES)
def test_ddp_over_gloo(bench, torch_of, suite):
    torch = torch_of(suite)
    place = bench.folder / "model.pt"
    command = lambda: torch.torchrun(PROGRAM, "clip", "workers=2", "save=%s" % place)  # noqa: E731
    bare = ran(torch.run(*command(), preload=False))
    place.unlink()
    traced = ran(torch.run(*command()))
    torch.close()
    assert traced == bare
    events = assert_told(bench, traced)
    assert_workers(bench, "fork")
    writes = marks_of(events, 0, "ddbg_event", "checkpoint_write")
    assert [(event["text"], event["number"]) for event in writes] == [(str(place) + ".part", place.stat().st_size)] * 2, writes
    assert all(event["dur_ns"] > 0 for event in writes) and not marks_of(events, 1, "ddbg_event", "checkpoint_write")


def mpirun(torch):
    return ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", 2, "python3", PROGRAM, "backend=mpi"]


def test_ddp_over_mpi(bench, torch_of):
    """Open MPI 5 under its mpirun: the library reaches the launcher, too."""
    torch = torch_of("trixie")
    traced = compare(torch, lambda: mpirun(torch))
    events = assert_told(bench, traced, backend="mpi")
    assert bench.info()["launchers"] == ["Open MPI mpirun"]
    for rank in range(2):
        gradients = [event for event in events if event["rank"] == rank and event.get("call") == "MPI_Allreduce"]
        assert len(gradients) >= 6 and all(event["dtype"] == "MPI_FLOAT" for event in gradients[-6:]), gradients


@pytest.mark.parametrize("suite, wrap", [("trixie", "fsdp"), ("sid", "fully_shard")])
def test_sharded_over_gloo(bench, torch_of, suite, wrap):
    """With torch.distributed.checkpoint, which all ranks write and read."""
    torch = torch_of(suite)
    folders = iter([bench.folder / "one", bench.folder / "two"])
    traced = compare(torch, lambda: torch.torchrun(PROGRAM, "wrap=" + wrap, "clip", "dcp=%s" % next(folders)))
    events = assert_told(bench, traced, told_values=("loss", "norm") if wrap == "fsdp" else ("loss",))  # its norm is a DTensor
    folder = bench.folder / "two"
    for rank in range(2):
        write, = marks_of(events, rank, "ddbg_event", "checkpoint_write")
        read, = marks_of(events, rank, "ddbg_event", "checkpoint_read")
        assert write["text"] == read["text"] == str(folder) and write["dur_ns"] > 0 and read["dur_ns"] > 0
        own, both = (sum(path.stat().st_size for path in folder.glob(name)) for name in ("__%d_*" % rank, "__*"))
        assert write["number"] == own > 0 and 0 < read["number"] <= both, (write, read, own, both)


@pytest.mark.parametrize("start", ["spawn", "forkserver"])
def test_workers_of_a_loader_are_children_of_their_rank(bench, torch_of, start):
    """Of an iterable dataset, whose end is known only when it is reached; fork is in the others' tests."""
    torch = torch_of("sid")
    printed = ran(torch.run(*torch.torchrun(PROGRAM, "workers=2", "start=" + start, "stream", "steps=3")))
    torch.close()
    events = assert_told(bench, printed)
    assert [len(marks_of(events, rank, "ddbg_event", "end_of_data")) for rank in range(2)] == [1, 1]
    assert_workers(bench, start)


def test_the_cuda_build_with_fsdp_and_a_scaler(bench, torch_job):
    """On the doubles, where kernels compute nothing: the third step's infinity is planted, and the scaler leaves that step out."""
    words = ["backend=nccl", "wrap=fsdp", "scaler=2", "workers=2"]
    printed = []
    for preload in (False, True):
        job = torch_job.run(2, PROGRAM, *words, preload=preload, deadline_s=120)
        assert job.popen.returncode == 0, job.stderr
        printed.append(job.lines())
    assert printed[0] == printed[1] == ["rank 0 of 2: 6", "rank 1 of 2: 6"]
    torch_job.close()
    torch_job.collector = None
    events = assert_told(bench, [], backend="nccl", told_values=(), skipped=[2])
    for rank in range(2):
        assert [event["number"] for event in marks_of(events, rank, "ddbg_event", "skipped_step")] == [2]
    assert_workers(bench, "fork")


# Launchers


def identity(info):
    return sorted((rank["rank"], rank.get("world_size"), rank.get("local_rank")) for rank in info["ranks"])


def test_restarts_of_torchrun_lie_side_by_side(bench, torch_of):
    """Rank 1 raises in step 3 of the first attempt; the second goes on from the checkpoint of step 2."""
    torch = torch_of("sid")
    command = torch.torchrun("--rdzv_id", "nightly", "--max_restarts", 1, PROGRAM, "raise=3", "save=%s" % (bench.folder / "model.pt"))
    done = torch.run(*command)
    assert len(ran(done)) == 2 and "ValueError: a shard is missing" in done.stderr, done.stderr
    torch.close()
    verdict = bench.diagnose("torchrun-nightly")
    assert_healthy(verdict)
    first, = verdict["earlier_attempts"]
    assert first["attempt_id"] == 0 and verdict["attempt_id"] == 1, shown(verdict)
    assert (first["verdict"], first["kind"], first["culprit_ranks"]) == ("fault", "uncaught_exception", [1]), first
    assert first["reached"]["step"] == 3 and verdict["reached"]["step"] == 5, shown(verdict)
    assert first["reached"]["checkpoint_step"] == 2 and first["reached"]["last_collective"]["call"] == "gloo::allreduce", first


@pytest.mark.parametrize("how", ["spawn", "arguments", "slurm", "accelerate"])
def test_ranks_are_told_however_they_were_started(bench, torch_of, how):
    """By torchrun and mpirun: above; by RANK and WORLD_SIZE alone: test_torch_gloo.py."""
    torch = torch_of("sid")
    words = "meet=%s" % (bench.folder / "meet")
    script = {"arguments": "python3 $0 $1 rank=$rank",
              "slurm": "SLURM_PROCID=$rank SLURM_LOCALID=$rank SLURM_NODEID=0 RANK=$rank WORLD_SIZE=2 python3 $0 $1"}
    environment = {}
    if how == "spawn":
        command = ["python3", PROGRAM, words, "spawn=spawn"]
    elif how == "accelerate":  # which calls torchrun's functions itself
        command = [*torch.torchrun("--rdzv_id", "nightly"), PROGRAM]
        environment.update(ACCELERATE_USE_CPU="true", ACCELERATE_MIXED_PRECISION="no")
    else:
        command = ["sh", "-c", "for rank in 0 1; do %s & done; wait" % script[how], PROGRAM, words]
    if how == "slurm":
        environment.update(SLURM_NTASKS=2, SLURM_JOB_ID=77, SLURM_STEP_ID=1)
    printed = ran(torch.run(*command, **environment))
    torch.close()
    runs = [path.name for path in bench.runs.iterdir() if not path.is_symlink()]
    assert len(runs) == 1, runs
    assert_told(bench, printed)
    info = bench.info()
    locals_known = how in ("slurm", "accelerate")
    assert identity(info) == [(rank, 2, rank if locals_known else None) for rank in range(2)], identity(info)
    assert info["launchers"] == {"slurm": ["Slurm"], "accelerate": ["accelerate"]}.get(how, [])
    assert [path.name for path in bench.rank_files()] == ["rank-00000.ddbg", "rank-00001.ddbg"]
