"""What the tests of CUDA share: the doubles, programs built for them, and traces field by field."""
import base64
import json
import os
import subprocess
from collections import Counter

import pytest

from harness import ROOT
from launchers import PROGRAMS

BUILD = ROOT / "build/release/tests"
FAKES = os.environ.get("DDBG_FAKES", str(BUILD / "fakes"))
FLAGS = ["g++", "-std=c++20", "-g", "-O1", "-Wall", "-fno-omit-frame-pointer", "-I", str(ROOT)]


def need_fakes():
    if not os.path.exists(os.path.join(FAKES, "libcudart.so.13")):
        pytest.skip("the simulated GPU is not built (ninja -C build/release fakes)")


def compile_program(output, source, *extra):
    subprocess.run([*FLAGS, PROGRAMS / source, "-o", output, *map(str, extra), "-ldl", "-lpthread"], check=True)
    return output


def run(bench, command, libraries, **environment):
    """Runs a traced program to its end: what it printed, as lines of words."""
    job = bench.start(command, LD_PRELOAD=bench.library, LD_LIBRARY_PATH=libraries, DDBG_RUN_ID="run", **environment)
    assert job.wait() == 0, job.stderr
    bench.stop_collectors()
    return [line.split() for line in job.stdout.splitlines()]


def without_suffix(name):
    return name.removesuffix("_ptsz").removesuffix("_ptds")


PER_THREAD = 64  # kFlagPerThread


def compare_with_table(trace, printed):
    """cuda_table's calls: each reached the library once and is recorded once, by the plain name, and marked if it was
    made by the other one. Returns how often each was called."""
    counts = [(words[0], int(words[1]), int(words[2])) for words in printed if len(words) == 3 and words[1].isdigit()]
    assert all(called == reached for _, called, reached in counts), "not every call reached the library once"
    called, per_thread = Counter(), Counter()
    for name, times, _ in counts:
        called[without_suffix(name)] += times
        per_thread[without_suffix(name)] += times if name != without_suffix(name) else 0
    assert Counter(call["call"] for call in trace.calls) == called
    assert Counter(call["call"] for call in trace.calls if call["flags"] & PER_THREAD) == +per_thread
    return called


class Trace:
    """The records of a run's only process and its definitions."""

    def __init__(self, bench):
        if not (BUILD / "trace_dump").exists():
            pytest.skip("trace_dump is not built (ninja -C build/release trace_dump)")
        file, = (path for path in bench.runs.glob("run/a0/*.ddbg") if not path.name.startswith("node-"))
        lines = subprocess.run([BUILD / "trace_dump", file], check=True, capture_output=True, text=True).stdout
        entries = [json.loads(line) for line in lines.splitlines()]
        self.calls = sorted((entry for entry in entries if "call" in entry), key=lambda entry: entry["start"])
        definitions = [entry["definition"] for entry in entries if "definition" in entry]
        self.streams = {d["stream"]["id"]: d["stream"] for d in definitions if "stream" in d}
        self.kernels = {d["kernel"]["id"]: text(d["kernel"].get("name")) for d in definitions if "kernel" in d}
        self.levels = {text(d["level"]["name"]): d["level"].get("on", False) for d in definitions if "level" in d}
        self.libraries = {text(d["library"]["api"]): text(d["library"].get("version"))
                          for d in definitions if "library" in d}
        self.devices = [d["device"] for d in definitions if "device" in d]

    def of(self, name):
        return [call for call in self.calls if call["call"] == name]

    def kind(self, call):
        return text(self.streams[call["tag"]]["kind"])


def text(encoded):
    return base64.b64decode(encoded or "").decode()
