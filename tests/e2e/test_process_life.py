"""A process lives and ends the same with and without the library: output, exit status, and what it says on stderr."""
import os
import re
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from harness import start_collector
from launchers import PROGRAMS

LIVES = re.findall(r'\{"(\w+)", ', (PROGRAMS / "life.cc").read_text())
# Without waiting for the collector: one that has to be started first is not up before these have ended.
ENDS_AT_ONCE = {"close_all", "quick_exit", "_exit", "abort", "segv", "uncaught", "exec_self"}
assert ENDS_AT_ONCE <= set(LIVES)


def live(bench, command, preload, limits=(), **environment):
    """Runs a command as a job of one process: (exit status, stdout, stderr)."""
    def set_limits():
        for kind, value in limits:
            resource.setrlimit(kind, (value, value))
    if preload:
        environment["LD_PRELOAD"] = preload if isinstance(preload, str) else str(bench.library)
    done = subprocess.run([str(word) for word in command], env=bench.environment(**environment), cwd=bench.work,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, preexec_fn=set_limits)
    return done.returncode, done.stdout, done.stderr


def without_numbers(text):
    """Pids, addresses and times differ between any two runs."""
    return re.sub(r"0x[0-9a-f]+|\d+", "N", text)


def assert_lives_the_same(bench, command, said=(), **more):
    """`said`: what the library may say on stderr."""
    code, output, errors = live(bench, command, preload=False, **more)
    traced_code, traced_output, traced_errors = live(bench, command, preload=True, **more)
    assert (traced_code, traced_output) == (code, output), traced_errors
    lines = [line for line in traced_errors.splitlines() if not (line.startswith("ddbg: ") and any(w in line for w in said))]
    # Open MPI prints a backtrace of a crash, in which a preloaded library may appear.
    assert code < 0 or without_numbers("\n".join(lines)) == without_numbers(errors.strip("\n"))
    return code, output


@pytest.mark.parametrize("what", LIVES)
def test_life(bench, build, mpi, what):
    if what in ENDS_AT_ONCE:
        start_collector(bench)
    code, output = assert_lives_the_same(bench, [build(mpi, "life.cc", "-std=c++17"), what])
    assert output.startswith(what + " 1\n")
    bench.stop_collectors()
    calls = [event["call"] for event in bench.calls()]
    assert "MPI_Allreduce" in calls, calls


def test_early_and_late(bench, build, mpi):
    """Calls before the library's constructors and after its destructors."""
    assert_lives_the_same(bench, [build(mpi, "life.cc", "-std=c++17"), "at_exit"], LIFE_EARLY="1")


# Together with others in LD_PRELOAD

COMPANIONS = {"jemalloc": "libjemalloc.so.2", "tcmalloc": "libtcmalloc_minimal.so.4", "asan": "libasan.so.8"}


@pytest.mark.parametrize("order", ["before", "after"])
@pytest.mark.parametrize("companion", sorted(COMPANIONS))
def test_beside_another_preload(bench, build, openmpi, companion, order):
    found = [path for path in Path("/usr/lib").glob("*-linux-gnu/" + COMPANIONS[companion])]
    if not found:
        pytest.skip("%s is not installed (scripts/install_deps.sh --test)" % COMPANIONS[companion])
    names = [str(bench.library), str(found[0])]
    if companion == "asan":
        if order == "before":
            pytest.skip("AddressSanitizer insists on coming first")
        names.reverse()
    elif order == "after":
        names.reverse()
    command = [build(openmpi, "life.cc", "-std=c++17"), "threads"]
    environment = {"ASAN_OPTIONS": "detect_leaks=0"}
    code, output, _ = live(bench, command, preload=False, LD_PRELOAD=str(found[0]), **environment)
    traced_code, traced_output, errors = live(bench, command, preload=" ".join(names), **environment)
    assert (traced_code, traced_output) == (code, output), errors
    bench.stop_collectors()
    assert sum(1 for event in bench.calls() if event["call"] == "MPI_Allreduce") == 1


# Little room

def test_few_descriptors(bench, build, openmpi):
    """32 descriptors: ours go to numbers below the limit, and the job has those it had."""
    assert_lives_the_same(bench, [build(openmpi, "life.cc", "-std=c++17"), "exec"],
                          limits=[(resource.RLIMIT_NOFILE, 32)])
    bench.stop_collectors()
    assert any(event["call"] == "MPI_Allreduce" for event in bench.calls())


@pytest.mark.parametrize("mebibytes", [300, 500, 1000])
def test_little_address_space(bench, build, openmpi, mebibytes):
    """No room for the region: one sentence at most, and the job runs as it would."""
    assert_lives_the_same(bench, [build(openmpi, "life.cc", "-std=c++17"), "longjmp"], said=["nothing is recorded"],
                          limits=[(resource.RLIMIT_AS, mebibytes << 20)])


def in_namespace(bench, build, openmpi, unshare, script):
    """Runs life exec by a shell script in a namespace of its own; $LIFE is the program."""
    program = build(openmpi, "life.cc", "-std=c++17")
    command = ["unshare", *unshare, "/bin/sh", "-c", script.replace("$LIFE", str(program))]
    results = []
    for preload in ("", str(bench.library)):
        results.append(live(bench, command, preload=False, PRELOAD=preload))
    return results


@pytest.mark.parametrize("kind", ["pid", "time"])
def test_namespaces(bench, build, openmpi, as_root, kind):
    unshare = {"pid": ["--pid", "--fork", "--mount-proc"], "time": ["--time", "--monotonic", "1000000", "--fork"]}[kind]
    bare, traced = in_namespace(bench, build, openmpi, unshare, "LD_PRELOAD=$PRELOAD $LIFE fork")
    assert traced[:2] == bare[:2], traced
    assert bare[1].endswith("finalized\n")
    bench.stop_collectors()
    assert any(event["call"] == "MPI_Allreduce" for event in bench.calls())


def test_no_writable_tmp(bench, build, openmpi, as_root):
    """No /tmp for the socket: said once; Open MPI itself is given another place."""
    script = "mount -t tmpfs -o ro,size=64k none /tmp && LD_PRELOAD=$PRELOAD TMPDIR=/dev/shm DDBG_SOCKET= $LIFE fork"
    shutil.copy(build(openmpi, "life.cc", "-std=c++17"), Path("/dev/shm") / ("life-" + bench.token))
    library = Path("/dev/shm") / ("ddbg-" + bench.token)
    shutil.copytree(bench.prefix, library)
    try:
        command = ["unshare", "--mount", "/bin/sh", "-c", script.replace("$LIFE", "/dev/shm/life-" + bench.token)]
        runs = [subprocess.run(command, env=bench.environment(PRELOAD=preload), cwd="/dev/shm", capture_output=True, text=True,
                               timeout=120) for preload in ("", str(library / "lib/libddbg.so"))]
        assert (runs[1].returncode, runs[1].stdout) == (runs[0].returncode, runs[0].stdout), runs[1].stderr
        said = [line for line in runs[1].stderr.splitlines() if line.startswith("ddbg: ")]
        assert len(said) == 1 and "DDBG_SOCKET" in said[0], runs[1].stderr
    finally:
        Path("/dev/shm", "life-" + bench.token).unlink()
        shutil.rmtree(library)


FORBID = r"""
import ctypes, os, struct, sys
# A seccomp filter in classic BPF: the system call named first fails with EPERM.
number = {"memfd_create": 319, "socket": 41, "sendmsg": 46}[sys.argv[1]]
def op(code, jt, jf, k): return struct.pack("HBBI", code, jt, jf, k)
program = op(0x20, 0, 0, 0) + op(0x15, 0, 1, number) + op(0x06, 0, 0, 0x00050001) + op(0x06, 0, 0, 0x7fff0000)
buffer = ctypes.create_string_buffer(program)
fprog = struct.pack("HxxxxxxP", 4, ctypes.addressof(buffer))
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, ctypes.create_string_buffer(fprog), 0, 0) == 0
os.environ.update(LD_PRELOAD=os.environ.get("PRELOAD", ""))
os.execv(sys.argv[2], sys.argv[2:])
"""


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the numbers of the system calls are x86-64's")
@pytest.mark.parametrize("forbidden", ["memfd_create", "socket", "sendmsg"])
def test_forbidden_system_call(bench, build, mpich, forbidden):
    """As in a container with a strict seccomp profile. MPI itself may not live without; then it dies as it would."""
    command = [sys.executable, "-c", FORBID, forbidden, build(mpich, "life.cc", "-std=c++17"), "threads"]
    bare = live(bench, command, preload=False)
    traced = live(bench, command, preload=False, PRELOAD=bench.library)
    assert (traced[0], without_numbers(traced[1])) == (bare[0], without_numbers(bare[1])), traced[2]
    said = [line for line in traced[2].splitlines() if line.startswith("ddbg: ")]
    assert len(said) == 1, traced[2]


# The processes of Python

MULTIPROCESSING = """
import multiprocessing, sys
from mpi4py import MPI

def work(n):
    return n * n

if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[1])
    with context.Pool(2) as pool:
        print(pool.map(work, range(5)))
    print(MPI.COMM_WORLD.allreduce(1))
"""


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_multiprocessing(bench, openmpi, method):
    script = bench.work / "pool.py"
    script.write_text(MULTIPROCESSING)
    assert_lives_the_same(bench, ["/usr/bin/python3", script, method])


# Programs that cannot be preloaded

def test_setuid_program(bench, as_root, tmp_path):
    """The loader ignores the library; nothing is said and nothing breaks."""
    program = tmp_path / "id"
    shutil.copy(shutil.which("id"), program)
    os.chown(program, 65534, 65534)
    program.chmod(0o4755)
    assert live(bench, [program, "-u"], preload=True)[:2] == live(bench, [program, "-u"], preload=False)[:2]
