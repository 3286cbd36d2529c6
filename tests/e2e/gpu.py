"""Programs on the doubles of CUDA and NCCL (tests/fakes), which the build makes beside the other tests."""
import os
import subprocess
from pathlib import Path

from harness import ROOT
from launchers import FLAGS, PROGRAMS

FAKES = Path(os.environ.get("DDBG_FAKES", ROOT / "build/release/tests/fakes"))
SCENARIOS = ROOT / "tests/scenarios"


class Gpu:
    """The doubles: how a program is compiled against them and how it is started on them."""

    def __init__(self, folder):
        self.folder = folder

    def compile(self, source, *extra, cudart=12):
        """Compiles a C++ program once and returns its path."""
        source = Path(source)
        program = self.folder / ("%s.cuda%d%s" % (source.stem, cudart, "".join(map(str, extra)).replace("/", "_")))
        if not program.exists():
            subprocess.run(["g++", "-std=c++20", *FLAGS, "-I", PROGRAMS, *extra, "-o", program, source, "-L", FAKES,
                            "-l:libnccl.so.2", "-l:libcudart.so.%d" % cudart, "-Wl,-rpath-link,%s" % FAKES, "-ldl"],
                           check=True)
        return program

    @staticmethod
    def environment(bench, preload=True, **more):
        return dict(LD_LIBRARY_PATH=FAKES, LD_PRELOAD=bench.library if preload else None, NULLGPU_DEVICES=8, **more)

    def start(self, bench, command, preload=True, **more):
        return bench.start(command, **self.environment(bench, preload, **more))
