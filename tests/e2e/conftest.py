"""Fixtures of the end-to-end tests: real MPI jobs under the installed libddbg.so (DDBG_PREFIX, else build/install)."""
import os
import signal
import subprocess
from pathlib import Path

import pytest

from gpu import FAKES, Gpu
from harness import ROOT, Bench
from launchers import MPICH, OPENMPI
from torch_job import TorchJob, need_torch
from torch_ranks import TorchRanks


def pytest_configure():
    """SIGTERM ends the tests as Ctrl-C does, so that the jobs of the running test are ended too."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)


def pytest_collection_modifyitems(items):
    """What takes minutes goes first, so that nothing waits for it at the end."""
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)


@pytest.fixture(scope="session")
def prefix():
    folder = Path(os.environ.get("DDBG_PREFIX", ROOT / "build/install")).resolve()
    for part in ("bin/ddbg", "bin/ddbg-collector", "lib/libddbg.so"):
        if not (folder / part).exists():
            pytest.exit("%s is missing: build and install first (scripts/test.sh does both)" % (folder / part), 2)
    return folder


@pytest.fixture
def bench(prefix, tmp_path):
    place = Bench(prefix, tmp_path)
    yield place
    place.close()


def need(mpi):
    if not mpi.available():
        pytest.skip("%s is not installed (scripts/install_deps.sh --test)" % mpi)
    return mpi


@pytest.fixture(params=[OPENMPI, MPICH], ids=str)
def mpi(request):
    """Runs the test once for each MPI."""
    return need(request.param)


@pytest.fixture
def openmpi():
    return need(OPENMPI)


@pytest.fixture
def mpich():
    return need(MPICH)


@pytest.fixture(scope="session")
def program_folder(tmp_path_factory):
    return tmp_path_factory.mktemp("programs")


@pytest.fixture
def gpu(program_folder):
    """The doubles of CUDA and NCCL."""
    if not (FAKES / "libnccl.so.2").exists():
        pytest.exit("%s is missing: build first (scripts/test.sh does)" % (FAKES / "libnccl.so.2"), 2)
    return Gpu(program_folder)


@pytest.fixture(scope="session")
def torch_directory():
    need_torch()


@pytest.fixture
def torch_job(bench, torch_directory):
    jobs = TorchJob(bench)
    yield jobs
    jobs.close()


@pytest.fixture
def torch_ranks(bench, as_root):
    made = []

    def make(suite="bookworm"):
        made.append(TorchRanks(bench, suite))
        return made[-1]
    yield make
    for each in made:
        each.close()


@pytest.fixture
def build(program_folder):
    """build(mpi, "hello.c") compiles a program of tests/programs once and returns its path."""
    return lambda mpi, source, *extra: mpi.compile(source, program_folder, extra)


@pytest.fixture(scope="session")
def as_root():
    if os.geteuid() != 0:
        pytest.skip("needs root: mounts a small file system in a namespace of its own")
    if subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode != 0:
        pytest.skip("needs a mount namespace of its own, which this machine does not allow")
