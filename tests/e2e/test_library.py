"""What libddbg.so is to the programs it is loaded into: nothing but libc needed, nothing but wrappers exported, inert until
the first MPI call, and in agreement with the installed MPI headers."""
import os
import pathlib
import re
import subprocess

import pytest

# dlsym: for who looks functions up; dlopen: for plug-ins that bind past a preload.
WRAPPED = r"P?MPI_|mpi_pcontrol_{0,2}$|p?nccl[A-Z]|(__)?cuda[A-Z]|cu[A-Z]|InitializeInjectionNvtx2$|ddbg_|dl(sym|open)$|_ZN4(gloo|c10d)"
REPOSITORY = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture
def library(prefix):
    return prefix / "lib" / "libddbg.so"


def dynamic_section(library):
    return subprocess.run(["readelf", "-d", library], check=True, capture_output=True, text=True).stdout


@pytest.mark.quick
def test_library_needs_only_libc(library):
    needed = [line.split("[")[1].split("]")[0] for line in dynamic_section(library).splitlines() if "NEEDED" in line]
    assert set(needed) <= {"libc.so.6", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}


@pytest.mark.quick
def test_library_exports_only_wrappers(library):
    symbols = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True).stdout
    names = [line.split()[-1] for line in symbols.splitlines()]
    assert {"MPI_Allreduce", "PMPI_Allreduce", "ncclAllReduce", "cudaMalloc", "cuLaunchKernel_ptsz"} <= set(names)
    assert [name for name in names if not re.match(WRAPPED, name)] == []


@pytest.mark.quick
@pytest.mark.parametrize("command", [["ls", "/"], ["bash", "-c", "exit 3"], ["/usr/bin/python3", "-c", "print(1)"]])
def test_library_is_inert_in_programs_without_mpi(library, tmp_path, command):
    environment = dict(os.environ, DDBG_DIR=str(tmp_path / "runs"), DDBG_SOCKET=str(tmp_path / "s"))
    bare = subprocess.run(command, capture_output=True, env=environment)
    traced = subprocess.run(command, capture_output=True, env=dict(environment, LD_PRELOAD=str(library)))
    assert (traced.returncode, traced.stdout, traced.stderr) == (bare.returncode, bare.stdout, bare.stderr)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_constants_agree_with_the_installed_header(mpi, tmp_path):
    program = tmp_path / "mpi_abi"
    subprocess.run([f"mpicc.{mpi}", "-I", REPOSITORY, REPOSITORY / "tests/conformance/mpi_abi.c", "-o", program], check=True)
    assert subprocess.run([program]).returncode == 0
