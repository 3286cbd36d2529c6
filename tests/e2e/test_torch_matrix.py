"""Training with PyTorch as its releases and launchers have it, the Python bridge on: the same results, steps, phases, process groups and
checkpoints on all ranks, and nothing found that is not there. Debian 12 (1.13), 13 (2.6, gloo and MPI), sid (2.14), and the CUDA build of 13 on
doubles."""
import json
import re

import pytest

from debian_torch import Torch
from launchers import PROGRAMS
from verdicts import assert_healthy

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


def assert_told(bench, printed, steps=6, backend="gloo", run="latest"):
    """Every step with its phases, the loss that was printed, the group, on both ranks; nothing lost, nothing found. The events."""
    info = bench.info(run)
    assert info["loss_line"] == "nothing lost" and len(info["ranks"]) == 2, info
    events = bench.events(run)
    for rank in range(2):
        assert [event["step"] for event in marks_of(events, rank, "ddbg_step")] == list(range(steps)), rank
        for name in ("loss", "norm") if printed else ():
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
            assert TRAINING <= set(rank["phases"]), (step["step"], rank)
    assert_healthy(bench.diagnose(run))
    return events


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


@pytest.mark.parametrize("suite, wrap", [("trixie", "fsdp"), ("sid", "fsdp"), ("sid", "fully_shard")])
def test_sharded_over_gloo(bench, torch_of, suite, wrap):
    """With torch.distributed.checkpoint, which all ranks write and read."""
    torch = torch_of(suite)
    folders = iter([bench.folder / "one", bench.folder / "two"])
    traced = compare(torch, lambda: torch.torchrun(PROGRAM, "wrap=" + wrap, "clip", "dcp=%s" % next(folders)))
    events = assert_told(bench, traced)
    folder = bench.folder / "two"
    for rank in range(2):
        write, = marks_of(events, rank, "ddbg_event", "checkpoint_write")
        read, = marks_of(events, rank, "ddbg_event", "checkpoint_read")
        assert write["text"] == read["text"] == str(folder) and write["dur_ns"] > 0 and read["dur_ns"] > 0
        own, both = (sum(path.stat().st_size for path in folder.glob(name)) for name in ("__%d_*" % rank, "__*"))
        assert write["number"] == own > 0 and 0 < read["number"] <= both, (write, read, own, both)
