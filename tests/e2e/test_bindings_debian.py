"""The list of test_bindings.py on the MPIs of other Debian releases, entered by chroot: 13 (Open MPI 5.0, MPICH 4.2) and sid. The
library is the one that was built here."""
import pytest

from debian import Debian
from harness import start_collector
from launchers import FLAGS, PROGRAMS as PROGRAMS_HERE
from test_bindings import BINDINGS, FORTRAN_TYPES, RANKS, expected, recorded
from verdicts import assert_healthy

PACKAGES = ["openmpi-bin", "libopenmpi-dev", "mpich", "libmpich-dev", "g++", "gfortran", "python3-mpi4py", "libunwind8"]
LAUNCH = {"openmpi": ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "-n", RANKS],
          "mpich": ["mpiexec.mpich", "-n", RANKS]}
# How each program is made inside: compiler, source, flags.
PROGRAMS = {"c": ("mpicc", "calls.c", []), "c++": ("mpicxx", "calls.c", ["-x", "c++"]), "mpif.h": ("mpifort", "calls.F90", []),
            "mpi": ("mpifort", "calls.F90", ["-DUSE_MPI"]), "mpi_f08": ("mpifort", "calls_f08.f90", [])}


@pytest.fixture(params=["trixie", "sid"])
def debian(request, as_root):
    return Debian(request.param, *PACKAGES)


@pytest.fixture
def collector(bench):
    process = start_collector(bench, idle_seconds=600)
    yield process
    process.terminate()
    process.wait()


def run(debian, bench, mpi, command, preload=True, run_id="latest"):
    environment = dict(DDBG_DIR=bench.runs, DDBG_SOCKET=bench.short / "s", DDBG_RUN_ID=run_id, HOME="/tmp", FI_PROVIDER="tcp,sockets",
                       PMIX_MCA_gds="hash")
    if preload:
        environment["LD_PRELOAD"] = bench.library
    return debian.run(bench, ["timeout", "60", *LAUNCH[mpi], *command], **environment)


def lines(done):
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return sorted(line.replace("6.", "6") for line in done.stdout.splitlines() if line.startswith("rank"))


@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_every_binding_is_recorded_once(bench, debian, collector, mpi):
    commands = {}
    for name, (compiler, source, flags) in PROGRAMS.items():
        program = bench.folder / name.replace(".", "_")
        common = FLAGS if compiler != "mpifort" else ["-g", "-O1", "-cpp"]
        made = debian.run(bench, ["%s.%s" % (compiler, mpi), *common, *flags, BINDINGS / source, "-o", program])
        assert made.returncode == 0, made.stderr
        commands[name] = [program]
    plugin, host = bench.folder / "plugin.so", bench.folder / "host"
    for made in (debian.run(bench, ["mpicc." + mpi, *FLAGS, "-DPLUGIN", "-shared", "-fPIC", BINDINGS / "calls.c", "-o", plugin]),
                 debian.run(bench, ["gcc", *FLAGS, BINDINGS / "host.c", "-o", host])):
        assert made.returncode == 0, made.stderr
    commands["local"], commands["deep"] = [host, plugin], [host, plugin, "deep"]
    if mpi == "openmpi":
        commands["mpi4py"] = ["python3", BINDINGS / "calls.py"]
    wrong = []
    for number, (name, command) in enumerate(commands.items()):
        run_id = "run-%d" % number
        assert lines(run(debian, bench, mpi, command, run_id=run_id)) == ["rank %d of 3: 6 3" % rank for rank in range(RANKS)], name
        events = bench.events(run_id)
        types = FORTRAN_TYPES if name.startswith("mpi") and name != "mpi4py" else None
        init = "MPI_Init_thread" if name == "mpi4py" else "MPI_Init"
        for rank in range(RANKS):
            got, want = recorded(events, rank), expected(rank, init=init, types=types)
            if name == "mpi4py":  # of version 4.1 on, where the MPI has them: by the names for large counts
                for row in got:
                    row["call"] = row["call"].removesuffix("_c")
            if got != want:
                wrong.append((name, rank, [row for row in got if row not in want][:4], [row for row in want if row not in got][:4], len(got)))
        assert_healthy(bench.diagnose(run_id))
    assert not wrong, "\n".join(map(str, wrong))


@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_spawned_worlds_are_of_one_run(bench, debian, collector, mpi):
    """Open MPI 5 names its worlds; MPICH does not say which world a process is of."""
    if mpi == "mpich" and debian.suite == "trixie":
        pytest.skip("MPICH 4.2 of Debian 13 spawns nothing, with and without the library")
    program = bench.folder / "spawn_pool"
    made = debian.run(bench, ["mpicc." + mpi, *FLAGS, PROGRAMS_HERE / "spawn_pool.c", "-o", program])
    assert made.returncode == 0, made.stderr
    # Open MPI 5's two worlds do not always reach each other over the interfaces of a machine, with and without the library.
    device = ["--mca", "btl_tcp_if_include", "lo"] if mpi == "openmpi" else []
    command = [LAUNCH[mpi][0], *device, *LAUNCH[mpi][1:-1], 1, program]
    environment = dict(DDBG_DIR=bench.runs, DDBG_SOCKET=bench.short / "s", DDBG_RUN_ID="pool", HOME="/tmp", LD_PRELOAD=bench.library,
                       FI_PROVIDER="tcp,sockets", PMIX_MCA_gds="hash")
    done = debian.run(bench, ["timeout", "60", *command], **environment)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    info = bench.info("pool")
    assert [process["rank"] for process in info["ranks"]] == [0, 1, 2]
    assert info["spawned_worlds"] == [{"world": 1, "first_rank": 1, "size": 2, "spawned_by": 0}]
    members = {comm["name"]: comm["ranks"] for comm in info["communicators"]}
    assert members["spawn#0 of MPI_COMM_WORLD"] == [0, 1, 2] and members["MPI_COMM_WORLD of spawn 1"] == [1, 2]
    verdict = bench.diagnose("pool")
    assert verdict["verdict"] == "healthy", verdict
