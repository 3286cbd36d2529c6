"""Unmodified PyTorch (Debian 13's CUDA build) under stock torchrun, in a directory of its own on the doubles of CUDA and
NCCL (scripts/torch_run.sh)."""
import subprocess

import pytest

from harness import ROOT, start_collector
from launchers import PROGRAMS

RUN = ROOT / "scripts/torch_run.sh"


def need_torch():
    """Makes the directory if it is not there; one sentence if it cannot be had."""
    made = subprocess.run([ROOT / "scripts/torch_directory.sh"], capture_output=True, text=True)
    if made.returncode == 77:
        pytest.skip(made.stderr.strip().splitlines()[-1])
    assert made.returncode == 0, made.stderr


class TorchJob:
    """Jobs of one test. The collector runs outside: the directory has none of the packages it needs."""

    def __init__(self, bench):
        self.bench = bench
        self.collector = None

    def start(self, ranks, program, *arguments, preload=True, **variables):
        """`torchrun --nproc-per-node RANKS PROGRAM ARGUMENTS`; without torchrun if `ranks` is 0."""
        if preload and not self.collector:
            self.collector = start_collector(self.bench, idle_seconds=600)
        if preload:
            variables.update(LD_PRELOAD=self.bench.library, DDBG_DIR=self.bench.runs, DDBG_SOCKET=self.bench.short / "s")
        command = [RUN]
        for name, value in variables.items():
            command += ["-x", "%s=%s" % (name, value)]
        for folder in (self.bench.prefix, self.bench.folder, self.bench.short):
            command += ["-b", folder]
        return self.bench.start([*command, ranks, PROGRAMS / program, *arguments])

    def run(self, ranks, program, *arguments, deadline_s=300, **more):
        job = self.start(ranks, program, *arguments, **more)
        job.wait(deadline_s)
        return job

    def close(self):
        if self.collector:
            self.collector.terminate()
            self.collector.wait()
