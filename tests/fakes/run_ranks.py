#!/usr/bin/env python3
"""Runs a program as ranks on the doubles: run_ranks.py [--fakes FOLDER] N PROGRAM [ARGUMENT…]

Each rank finds RANK, LOCAL_RANK and WORLD_SIZE in its environment, LD_LIBRARY_PATH with the doubles (by default those of
build/dev or build/release), and NCCL_ID_FILE: a path, new for each run, by which rank 0 gives the others its unique id (write
it beside and rename it; tests/fakes/client/id_file.h does). Shared memory lies in a folder that is gone at the end. The ranks
die with this process. Ends with the first exit code that is not 0, by rank; 128 + N for a signal.

Tests import run() and Ranks instead.
"""
import argparse
import ctypes
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PR_SET_PDEATHSIG = 1
_prctl = ctypes.CDLL(None).prctl


def built_fakes():
    """The folder of the doubles that were built last."""
    built = [ROOT / "build" / preset / "tests/fakes" for preset in ("dev", "release")]
    built = [folder for folder in built if (folder / "libnccl.so.2").exists()]
    if not built:
        raise FileNotFoundError("the doubles are not built: cmake --build --preset dev --target fakes")
    return max(built, key=lambda folder: (folder / "libnccl.so.2").stat().st_mtime)


def _die_with_parent():
    _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Ranks:
    """Rank processes that are running; a context manager, which kills those that are left."""

    def __init__(self, ranks, command, fakes=None, environment=None, **popen):
        self.folder = Path(tempfile.mkdtemp(prefix="ddbg-ranks-", dir="/dev/shm"))
        base = {**os.environ, **(environment or {})}
        libraries = [str(fakes or built_fakes())] + [path for path in [base.get("LD_LIBRARY_PATH")] if path]
        base.update(WORLD_SIZE=str(ranks), NCCL_ID_FILE=str(self.folder / "id"), NULLNCCL_SHM_DIR=str(self.folder),
                    LD_LIBRARY_PATH=":".join(libraries))
        self.processes = [
            subprocess.Popen(list(map(str, command)), env={**base, "RANK": str(rank), "LOCAL_RANK": str(rank)},
                             preexec_fn=_die_with_parent, **popen) for rank in range(ranks)]

    def wait(self, timeout=None):
        """The exit codes, by rank; negative for signals."""
        return [process.wait(timeout) for process in self.processes]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.processes:
            if process.poll() is None:
                process.kill()
            process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def run(ranks, command, timeout=60, **how):
    """Runs to the end and returns [(exit code, output)], by rank."""
    with Ranks(ranks, command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **how) as running:
        return [(process.wait(), output) for process, (output, _) in
                [(process, process.communicate(timeout=timeout)) for process in running.processes]]


def main():
    parser = argparse.ArgumentParser(description="Runs a program as ranks on the doubles of CUDA and NCCL.")
    parser.add_argument("--fakes", type=Path, help="folder of the doubles")
    parser.add_argument("ranks", type=int)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    arguments = parser.parse_args()
    with Ranks(arguments.ranks, arguments.command, arguments.fakes) as running:
        bad = [code for code in running.wait() if code]
    return 0 if not bad else bad[0] if bad[0] > 0 else 128 - bad[0]


if __name__ == "__main__":
    sys.exit(main())
