"""The Python bridge: steps, phases, values and events of unmodified PyTorch programs, of Debian 12 (1.13) and sid (2.14)."""
import json
import os
import re
import subprocess
from collections import Counter

import pytest

from debian import Debian
from harness import line_of, start_collector
from launchers import PROGRAMS

LOOP = PROGRAMS / "torch_loop.py"
SUITES = ["bookworm", "sid"]


def said(job):
    """What it wrote to stderr, but for what Python's resource tracker says now and then, with and without us."""
    lines = job.stderr.splitlines()
    return [line for line in lines if "resource_tracker" not in line and line.strip() != "warnings.warn("]


class Torch:
    """Programs in a Debian with PyTorch, and what was recorded of the one that ran last."""

    def __init__(self, bench, suite):
        self.bench, self.suite = bench, suite
        self.debian = Debian(suite, "python3-torch", "libunwind8")
        self.events = []

    def run(self, *command, preload=True, **variables):
        if preload:
            collector = start_collector(self.bench, idle_seconds=600)
            variables.update(LD_PRELOAD=self.bench.library, DDBG_RUN_ID="job")
        done = self.debian.run(self.bench, ["/usr/bin/python3", *command], **variables)
        if preload:
            self.bench.stop_collectors()
            collector.wait(60)
            self.events = self.bench.events("job") if (self.bench.runs / "job").exists() else []
        return done

    def compare(self, *command, code=0, **variables):
        """Runs it without and with the library: the same output and exit code. What it printed."""
        bare = self.run(*command, preload=False, **variables)
        traced = self.run(*command, **variables)
        assert bare.returncode == code, bare.stderr
        assert (traced.stdout, said(traced), traced.returncode) == (bare.stdout, said(bare), code)
        return traced.stdout

    def of(self, call, **fields):
        return [event for event in self.events if event.get("call") == call
                and all(event.get(name) == value for name, value in fields.items())]

    def steps(self):
        return [event["step"] for event in self.of("ddbg_step")]

    def values(self, name):
        return [event["value"] for event in self.of("ddbg_value", name=name)]

    def phases(self):
        return Counter(event["name"] for event in self.of("ddbg_phase_begin"))


@pytest.fixture(params=SUITES)
def torch(request, bench, as_root):
    return Torch(bench, request.param)


@pytest.fixture
def bookworm(bench, as_root):
    return Torch(bench, "bookworm")


@pytest.fixture
def sid(bench, as_root):
    return Torch(bench, "sid")


def printed(output, word):
    return [float(line.split()[1]) for line in output.splitlines() if line.startswith(word + " ")]


def test_a_training_loop_is_told(torch):
    path = torch.bench.folder / "model.pt"
    output = torch.compare(LOOP, "epochs=2", "evaluate", "clip", "save=%s" % path)
    assert torch.steps() == list(range(12))
    assert [round(value, 6) for value in torch.values("loss")] == printed(output, "loss")
    assert [round(value, 6) for value in torch.values("grad_norm")] == printed(output, "norm")
    assert torch.values("batch_size") == [8] * 24
    # Of the forward the model and nothing within it; 2 x 7 requests, the last of which finds the end; evaluation loads, too.
    assert torch.phases() == {"loader": 14, "forward": 12, "backward": 12, "optimizer": 12, "evaluation": 26, "checkpoint": 2}
    write, = torch.of("ddbg_event", name="checkpoint_write")
    read, = torch.of("ddbg_event", name="checkpoint_read")
    assert write["text"] == read["text"] == str(path)
    assert write["number"] == read["number"] == path.stat().st_size
    assert write["dur_ns"] > 0 and read["dur_ns"] > 0
    done = torch.bench.ddbg("steps", "job", "--json")
    assert done.returncode == 0, done.stderr
    steps = json.loads(done.stdout)
    assert steps["source"] == "marks"
    for step in steps["steps"]:
        for rank in step["ranks"]:
            assert {"loader", "forward", "backward", "optimizer"} <= set(rank["phases"])
            assert sum(rank["phases"][name] for name in ("loader", "forward", "backward", "optimizer")) <= rank["duration_ns"]
    verdict = torch.bench.diagnose("job")
    assert verdict["verdict"] == "healthy" and "marked 12 steps (the last is 11)" in verdict["summary"], verdict["summary"]
    # Evaluation comes between the fifth step's optimizer and the sixth's batch.
    evaluated = {step["step"] for step in steps["steps"] for rank in step["ranks"] if "evaluation" in rank["phases"]}
    assert evaluated == {5, 11}


@pytest.mark.parametrize("suite, start", [("bookworm", "forkserver"), ("bookworm", "spawn"), ("sid", "fork")])
def test_workers_of_a_loader_are_silent(bench, as_root, suite, start):
    torch = Torch(bench, suite)
    torch.compare(LOOP, "workers=2", "start=%s" % start)
    assert torch.steps() == list(range(6))
    assert torch.values("batch_size") == [8] * 6
    assert len({event["pid"] for event in torch.events}) == 1


def test_accumulated_batches_are_one_step(bookworm):
    bookworm.compare(LOOP, "accumulate=3")
    assert bookworm.steps() == [0, 1]
    assert bookworm.phases() == {"loader": 7, "forward": 6, "backward": 6, "optimizer": 2}


def test_two_models_step_in_one_turn(bookworm):
    bookworm.compare(LOOP, "gan")
    assert bookworm.steps() == list(range(6))
    assert bookworm.phases()["optimizer"] == 12


def test_batches_made_by_hand(bookworm):
    bookworm.compare(LOOP, "no-loader")
    assert bookworm.steps() == list(range(6))
    assert bookworm.phases() == {"forward": 6, "backward": 6, "optimizer": 6}


def test_a_closure_is_no_work_of_the_optimizer(bookworm):
    bookworm.compare(LOOP, "adam-closure")
    assert bookworm.steps() == list(range(6))
    names = [event["name"] for event in bookworm.events if event.get("call") == "ddbg_phase_begin"]
    assert names[:5] == ["loader", "optimizer", "forward", "backward", "optimizer"]
    open_phases = []
    for event in bookworm.events:
        if event.get("call") == "ddbg_phase_begin":
            open_phases.append(event["name"])
            assert len(open_phases) == 1, open_phases
        elif event.get("call") == "ddbg_phase_end":
            assert open_phases.pop() == event["name"]


def test_a_compiled_model_is_as_without(sid):
    sid.compare(LOOP, "compile")
    assert sid.steps() == list(range(6))
    assert sid.phases()["forward"] == 6


def test_a_trained_model_can_be_scripted_pickled_and_copied(torch):
    output = torch.compare(LOOP, "export")
    assert output.splitlines()[-1] == "equal True True False"
    assert torch.phases()["forward"] >= 6


def test_an_exception_is_told_with_its_place(torch):
    torch.compare(LOOP, "raise=3", "thread", code=1)
    main, = torch.of("ddbg_event", name="exception", number=1)
    assert main["text"] == "ValueError: batch 3 is bad (%s:%d in train)" % (LOOP, line_of("torch_loop.py", "raise"))
    assert torch.steps() == [0, 1, 2, 3]


def test_a_hook_that_fails_does_not_reach_the_program(torch):
    """A DataLoader that is none inside, and batches that cannot be looked into."""
    torch.compare(LOOP, "odd-loader", "batches=12")
    assert torch.values("batch_size") == []
    assert torch.phases()["backward"] == 12


def test_ranks_of_torch_multiprocessing_are_ranks(torch):
    for method in ("spawn",) if torch.suite == "sid" else ("fork",):
        runs = [torch.run(PROGRAMS / "torch_spawn.py", method, torch.bench.folder / ("meet-%s-%s" % (method, preload)),
                          preload=preload, GLOO_SOCKET_IFNAME="lo") for preload in (False, True)]
        assert [run.returncode for run in runs] == [0, 0], runs[1].stderr
        assert sorted(runs[0].stdout.splitlines()) == sorted(runs[1].stdout.splitlines()) and runs[0].stdout.count("rank") == 2
        pids = {event["pid"] for event in torch.events}
        assert len(pids) == 2
        for pid in pids:
            assert [event["step"] for event in torch.of("ddbg_step", pid=pid)] == [0, 1, 2, 3]
            groups = [event["text"] for event in torch.of("ddbg_event", name="process_group", pid=pid)]
            assert re.match(r"init gloo \S*: ranks 0-1$", groups[0]), groups
            assert groups[1] == "new, without this rank" or re.match(r"new gloo \S+: ranks 1$", groups[1]), groups
            assert len(groups) == 3 and groups[2].startswith("destroy gloo")
        subprocess.run(["rm", "-rf", torch.bench.runs], check=True)


@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_an_exception_that_torch_multiprocessing_catches(bookworm, method):
    """It goes to the parent, which prints it and raises another one."""
    done = bookworm.run(PROGRAMS / "torch_spawn.py", method, bookworm.bench.folder / "meet", "raise", GLOO_SOCKET_IFNAME="lo")
    assert done.returncode == 1 and "ValueError: rank 1 has no more" in done.stderr, done.stderr
    told = [event["text"] for event in bookworm.of("ddbg_event", name="exception", number=1)]
    assert told[0] == "ValueError: rank 1 has no more (%s:%d in rank)" % (PROGRAMS / "torch_spawn.py", line_of("torch_spawn.py", "raise"))
    verdict = bookworm.bench.diagnose("job")
    assert verdict["kind"] == "uncaught_exception" and verdict["culprit_ranks"] == [1], verdict


def test_a_group_that_cannot_be_made(bookworm):
    bookworm.compare("-c", "import torch.distributed as d; d.init_process_group('gloo', init_method='file:///tmp/meet')", code=1)
    event, = bookworm.of("ddbg_event", name="process_group")
    assert event["text"].startswith("init failed: ValueError") and event["number"] == -1
    assert [event["text"][:10] for event in bookworm.of("ddbg_event", name="exception")] == ["ValueError"]


CHILDREN = """
import multiprocessing, time, torch
torch.ones(1, requires_grad=True).sum().backward()
fork, spawn = multiprocessing.get_context("fork"), multiprocessing.get_context("spawn")
fork.Process(target=time.sleep, args=(60,), daemon=True).start()
fork.Process(target=time.sleep, args=(1,)).start()
spawn.Process(target=print, args=("spawned",)).start()
"""


def test_only_children_that_outlive_the_program_are_told(bookworm):
    """Not a daemon, nor the tracker that spawn brings along."""
    bookworm.compare("-c", CHILDREN)
    texts = [event["text"] for event in bookworm.of("ddbg_event", name="child")]
    assert len(texts) == 2 and all("the interpreter waits for it, holds" in text for text in texts), texts


SCALED = """
import torch, warnings
scaler = torch.amp.GradScaler("cpu")
model = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for turn in range(3):
    loss = model(torch.full((1, 2), float("inf") if turn == 1 else 1.0)).sum()
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
print(scaler.get_scale())
"""


def test_a_step_that_a_scaler_leaves_out(sid):
    sid.compare("-c", SCALED)
    assert sid.steps() == [0, 1, 2]
    assert [(event["number"], event["text"]) for event in sid.of("ddbg_event", name="skipped_step")] == [(1, "SGD")]


LOGGED = """
import sys, types
sys.path.insert(0, sys.argv[1])
import torch, tensorboardX.writer, wandb.sdk.wandb_run
model = torch.nn.Linear(2, 1)
model(torch.ones(1, 2)).sum().backward()
tensorboardX.writer.SummaryWriter().add_scalar("train/accuracy", 0.5, 1)
tensorboardX.writer.SummaryWriter().add_scalar("train/top5", torch.tensor(0.75), global_step=1)
tensorboardX.writer.SummaryWriter().add_scalar("train/none", None, 1)
wandb.sdk.wandb_run.Run().log({"lr": 0.125, "title": "a"})
"""


def test_what_the_program_logs_is_told(bookworm):
    """Stand-ins for tensorboardX and wandb, which Debian does not have."""
    place = bookworm.bench.folder / "packages"
    for path, text in {"tensorboardX/writer.py": "class SummaryWriter:\n def add_scalar(self, tag, scalar_value, global_step=None): print(tag)\n",
                       "wandb/sdk/wandb_run.py": "class Run:\n def log(self, data, step=None): print(data)\n"}.items():
        (place / path).parent.mkdir(parents=True)
        (place / path).write_text(text)
    bookworm.compare("-c", LOGGED, place)
    values = [(event["name"], event["value"]) for event in bookworm.of("ddbg_value")]
    assert values == [("train/accuracy", 0.5), ("train/top5", 0.75), ("lr", 0.125)]


@pytest.mark.parametrize("options, variables", [([], {"DDBG_PYTHON": "0"}), ([], {"DDBG": "0"}), (["-I"], {}), (["-E"], {}), (["-S"], {})],
                         ids=lambda given: " ".join(given) if isinstance(given, list) else "".join(map("%s=%s".__mod__, given.items())))
def test_without_a_bridge_nothing_is_recorded(bookworm, options, variables):
    path = "import sys; sys.path.append('/usr/lib/python3/dist-packages'); sys.argv = ['loop']; "
    bookworm.run(*options, "-c", path + "exec(open('%s').read())" % LOOP, **variables)
    assert not bookworm.bench.runs.exists()


SHOW = """import os, sys
print(sorted((k, v) for k, v in os.environ.items() if k != "LD_PRELOAD"), sys.path, sys.flags)
print("sitecustomize" in sys.modules, getattr(sys.modules.get("sitecustomize"), "word", None), "torch" in sys.modules)
import subprocess
print(subprocess.run([sys.executable, "-c", "import sys; print(sys.path)"], capture_output=True, text=True))
"""
CUSTOM = {"none": None, "own": "word = 'mine'\nprint('custom')", "raises": "raise ValueError('bad')",
          "needs another": "import no_such_module", "exits": "raise SystemExit(3)"}


def pythons():
    """The system's, and one of each version that pyenv keeps."""
    kept = os.environ.get("PYENV_ROOT", os.path.expanduser("~/.pyenv")) + "/versions"
    names = sorted(os.listdir(kept)) if os.path.isdir(kept) else []
    return ["/usr/bin/python3"] + ["%s/%s/bin/python3" % (kept, name) for name in names
                                   if re.match(r"3\.([89]|1[0-4])\.", name) and os.path.exists("%s/%s/bin/python3" % (kept, name))]


@pytest.mark.quick
@pytest.mark.parametrize("python", pythons())
def test_a_program_sees_what_it_would(bench, tmp_path, python):
    """Environment, sys.path and the program's own sitecustomize, also one that fails."""
    for name, text in CUSTOM.items():
        place = tmp_path / name.replace(" ", "-")
        place.mkdir()
        if text is not None:
            (place / "sitecustomize.py").write_text(text + "\n")
        for path in (None, "", str(place), "%s:/no/such/place" % place):
            if path == "" or (path is None and text is not None):
                continue
            runs = [subprocess.run([python, "-c", SHOW], capture_output=True, text=True, cwd=tmp_path,
                                   env=bench.environment(PYTHONPATH=path, LD_PRELOAD=preload))
                    for preload in (None, bench.library)]
            assert (runs[0].stdout, runs[0].returncode) == (runs[1].stdout, runs[1].returncode), name
            if name != "exits":  # Python prints a traceback then, with a line of ours in it
                assert runs[0].stderr == runs[1].stderr, name
            if name == "own":
                assert "custom" in runs[1].stdout and "True mine False" in runs[1].stdout
    assert not bench.runs.exists()


@pytest.mark.quick
def test_another_program_has_its_environment(bench):
    runs = [subprocess.run(["/usr/bin/env"], capture_output=True, text=True, env=bench.environment(LD_PRELOAD=preload))
            for preload in (None, bench.library)]
    assert [line for line in runs[1].stdout.splitlines() if not line.startswith("LD_PRELOAD=")] == runs[0].stdout.splitlines()
