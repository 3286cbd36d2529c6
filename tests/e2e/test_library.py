"""What libddbg.so is to the programs it is loaded into: nothing but libc needed, nothing but wrappers exported, inert until
the first MPI call, and in agreement with the installed MPI headers."""
import os
import pathlib
import re
import shutil
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


@pytest.mark.quick
@pytest.mark.parametrize("bind_now", [False, True])
@pytest.mark.parametrize("kind", ["pie", "no-pie"])
def test_names_that_the_mpi_lacks_stay_missing(library, mpi, build, tmp_path, kind, bind_now):
    """A weak reference to a function of MPI 4 or 4.1 says what it would say without us; so does dlsym."""
    program = build(mpi, "weak_names.c", "-ldl", "-" + kind)
    environment = dict(os.environ, DDBG_DIR=str(tmp_path / "runs"), DDBG_SOCKET=str(tmp_path / "s"))
    environment.pop("LD_BIND_NOW", None)
    if bind_now:
        environment["LD_BIND_NOW"] = "1"
    bare = subprocess.run([program], capture_output=True, text=True, env=environment)
    traced = subprocess.run([program], capture_output=True, text=True, env=dict(environment, LD_PRELOAD=str(library)))
    assert (traced.returncode, traced.stdout, traced.stderr) == (bare.returncode, bare.stdout, bare.stderr)
    assert "MPI_Init 1 1" in bare.stdout
    assert "MPI_Request_get_status_all 0 0" in bare.stdout  # of MPI 4.1, which neither has
    assert list(tmp_path.iterdir()) == []


def library_of(mpi):
    return next(path for path in pathlib.Path("/usr/lib").rglob(mpi.shared_library) if path.is_file())


def coverage(*libraries, root=REPOSITORY):
    return subprocess.run([root / "scripts/mpi_coverage.py", *libraries], capture_output=True, text=True)


@pytest.mark.quick
def test_every_mpi_function_is_wrapped_or_has_a_reason(mpi):
    done = coverage(library_of(mpi))
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.quick
def test_a_function_without_wrapper_and_reason_is_told(mpi, tmp_path):
    for part in ("scripts/mpi_coverage.py", "scripts/mpi_functions.txt", "proto/calls_mpi.def"):
        (tmp_path / part).parent.mkdir(exist_ok=True)
        shutil.copy(REPOSITORY / part, tmp_path / part)
    rows = tmp_path / "proto/calls_mpi.def"
    rows.write_text("".join(line for line in rows.read_text().splitlines(True) if not line.startswith("DDBG_MPI(Win_fence,")))
    functions = tmp_path / "scripts/mpi_functions.txt"
    functions.write_text(functions.read_text().replace("Comm_rank query\n", ""))
    done = coverage(library_of(mpi), root=tmp_path)
    assert done.returncode == 1
    assert "MPI_Win_fence has neither a row" in done.stderr
    assert "MPI_Comm_rank of %s is in neither list" % library_of(mpi) in done.stderr


@pytest.mark.quick
def test_rows_are_as_long_as_the_prototypes(mpi, tmp_path):
    """Each function of the table that this MPI has takes as many arguments as its row says."""
    names = subprocess.run(["nm", "-D", "--defined-only", library_of(mpi)], check=True, capture_output=True, text=True).stdout
    exported = {line.split()[-1] for line in names.splitlines()}
    text = (REPOSITORY / "proto/calls_mpi.def").read_text()
    rows = re.findall(r"^DDBG_MPI(_C)?\((\w+), *\w+, *\w+(?:, *(.*))?\)$", text, re.M)
    checks = [(name + suffix, [role for role in roles.split(",") if role.strip()])
              for large, name, roles in rows if name != "name" for suffix in (["", "_c"] if large else [""])]
    lines = ["template <class R, class... A> constexpr unsigned Count(R (*)(A...)) { return sizeof...(A); }"]
    lines += ["static_assert(Count(&MPI_%s) == %d, \"%s\");" % (name, len(roles), name)
              for name, roles in checks if "MPI_" + name in exported]
    assert len(lines) > 190
    source = tmp_path / "rows.cc"
    source.write_text("#include <mpi.h>\n%s\n" % "\n".join(lines))
    subprocess.run(["mpicxx." + mpi.suffix, "-std=c++20", "-fsyntax-only", source], check=True)
