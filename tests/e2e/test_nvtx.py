"""NVTX ranges as phases: by NVIDIA's headers, and by torch.cuda.nvtx."""
from collections import Counter
import json
from pathlib import Path
import shutil
import subprocess

import pytest

from harness import ROOT
from launchers import PROGRAMS

CUDA = Path("/usr/local/cuda/include")


@pytest.fixture
def compiled(program_folder):
    """compiled(name) → path of nvtx_ranges, compiled with NVIDIA's headers."""
    include = next((folder for folder in (CUDA, Path("/usr/include")) if (folder / "nvtx3/nvToolsExt.h").exists()), None)
    if not include:
        pytest.skip("NVTX's headers are not installed")

    def build(name):
        program = program_folder / name
        if not program.exists():
            subprocess.run(["gcc", "-g", "-O1", "-I", include, "-I", ROOT, "-o", program,
                            PROGRAMS / "nvtx_ranges.c", "-lpthread"], check=True)
        return program
    return build


def ranges_of(events):
    """Begins and ends, by name: an end names its range only by its number, or not at all."""
    return [event for event in events if event["kind"] in ("phase_begin", "phase_end")]


def check(bench):
    marks = ranges_of(bench.events())
    begins = Counter(event["name"] for event in marks if event["kind"] == "phase_begin")
    assert "before" not in begins  # NVTX alone begins no recording
    for name in ("forward", "inner", "backward", "load", "send", "prüfung"):
        assert begins[name] == 1, (name, begins)
    assert begins["batch 0"] == begins["batch 7"] == 1 and begins["batch #"] == 300 - 8, begins
    assert 0 < begins["often"] <= 2 * 2000, begins["often"]
    assert 2 * sum(begins.values()) == len(marks)
    return marks


@pytest.mark.quick
def test_ranges_of_a_program_by_the_variable(bench, compiled):
    job = bench.start([compiled("nvtx_ranges")], LD_PRELOAD=bench.library, NVTX_INJECTION64_PATH=bench.library)
    assert job.wait() == 0, job.stderr
    check(bench)
    done = bench.ddbg("steps", "latest", "--json")
    parts = {part["part"]: part["max_ns"] for part in json.loads(done.stdout)["parts"]}
    assert 2_000_000 <= parts["inner_ns"] <= parts["forward_ns"]
    # The first of two that overlap ended on another thread, which does not end the other.
    assert 2_000_000 <= parts["load_ns"] <= parts["send_ns"] - 2_000_000, parts


@pytest.mark.quick
def test_ddbg_run_sets_the_variable(bench, compiled):
    done = bench.ddbg("run", "--", compiled("nvtx_ranges"))
    assert done.returncode == 0, done.stderr
    check(bench)


@pytest.mark.quick
def test_it_stands_back_from_a_profiler(bench, compiled):
    job = bench.start([compiled("nvtx_ranges")], LD_PRELOAD=bench.library, NVTX_INJECTION64_PATH=bench.library,
                      CUDA_INJECTION64_PATH="/opt/nvidia/libToolsInjection64.so")
    assert job.wait() == 0, job.stderr
    assert ranges_of(bench.events()) == []


@pytest.mark.quick
def test_off_is_off(bench, compiled):
    job = bench.start([compiled("nvtx_ranges")], LD_PRELOAD=bench.library, NVTX_INJECTION64_PATH=bench.library, DDBG=0)
    assert job.wait() == 0, job.stderr
    assert not bench.runs.exists()


def test_another_copy_of_the_library_does_nothing(bench, compiled):
    copy = bench.folder / "libddbg.so"
    shutil.copy(bench.library, copy)
    job = bench.start([compiled("nvtx_ranges")], LD_PRELOAD=bench.library, NVTX_INJECTION64_PATH=copy)
    assert job.wait() == 0, job.stderr
    assert ranges_of(bench.events()) == []


@pytest.mark.parametrize("variables", [{"NVTX_INJECTION64_PATH": True, "DDBG_PYTHON": 0}, {}], ids=["variable", "bridge"])
def test_torch_cuda_nvtx(bench, torch_job, variables):
    if "NVTX_INJECTION64_PATH" in variables:
        variables = dict(variables, NVTX_INJECTION64_PATH=bench.library)
    job = torch_job.run(2, "torch_nvtx.py", **variables)
    assert job.popen.returncode == 0, job.stderr
    assert job.lines() == [str(variables.get("NVTX_INJECTION64_PATH"))] * 2  # what a child would have
    for rank in (0, 1):
        begins = [event["name"] for event in ranges_of(bench.events())
                  if event["rank"] == rank and event["kind"] == "phase_begin"]
        assert begins == ["forward", "layer 0", "forward", "layer 1", "forward", "layer 2"], begins


def test_torch_cuda_nvtx_is_left_to_a_profiler(bench, torch_job):
    job = torch_job.run(2, "torch_nvtx.py", CUDA_INJECTION64_PATH="/opt/nvidia/libToolsInjection64.so")
    assert job.popen.returncode == 0, job.stderr
    assert ranges_of(bench.events()) == []
