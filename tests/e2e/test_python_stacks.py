"""The Python frames of each call: function, file and line, from every CPython that is on this machine."""
import glob
import json
import os
import re
import subprocess

import pytest

from debian import Debian
from harness import start_collector
from launchers import MPICH, PROGRAMS

PROGRAM = PROGRAMS / "python_stacks.py"
KNOWN = range(8, 15)  # 3.8 to 3.14


def interpreters():
    """One of each version: python3.N in PATH and those that pyenv keeps."""
    found = {}
    roots = [os.environ.get("PYENV_ROOT", os.path.expanduser("~/.pyenv")) + "/versions/*/bin"]
    for folder in ["/usr/bin", "/usr/local/bin"] + sorted(glob.glob(roots[0])):
        for path in sorted(glob.glob(folder + "/python3.*")):
            version = re.fullmatch(r"python3\.(\d+)", os.path.basename(path))
            if version and int(version[1]) in KNOWN:
                found.setdefault(int(version[1]), path)
    return [pytest.param(found[minor], id="3.%d" % minor) for minor in sorted(found)]


def record(bench, command, *more_preloads):
    """Runs it as a job of one process: (what it printed, its barriers in order)."""
    preload = " ".join(map(str, (bench.library, *more_preloads)))
    done = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=120, cwd=bench.work,
                          env=bench.environment(LD_PRELOAD=preload, DDBG_RUN_ID="python", PYTHONIOENCODING="utf-8"))
    assert done.returncode == 0, done.stderr
    bench.stop_collectors()
    return done, barriers_of(bench)


def barriers_of(bench):
    listed = bench.ddbg("events", "python", "--json", "--call", "MPI_Barrier").stdout
    return sorted(map(json.loads, listed.splitlines()), key=lambda event: event["t_ns"])


def path_of(event, most):
    frames = [frame for frame in event["stack"] if frame.get("language") == "python"]
    return ["%s:%d" % (frame["function"].rsplit(".", 1)[-1], frame["line"]) for frame in reversed(frames[:most])]


def assert_paths(printed, barriers, most=48):
    assert len(barriers) == len(printed) > 200
    for event, line in zip(barriers, printed):
        assert path_of(event, most) == line.split()[-most:], line


@pytest.mark.parametrize("python", interpreters())
def test_each_call_has_the_frames_that_python_itself_names(bench, mpi, python):
    done, barriers = record(bench, [python, PROGRAM, mpi.shared_library])
    assert_paths(done.stdout.splitlines(), barriers)
    reused = int(re.search(r"(\d+) of 60 codes", done.stderr)[1])
    assert reused > 0, "no code object was made in the place of another: the test shows less than it should"
    own = {frame["file"] for event in barriers for frame in event["stack"] if frame.get("language") == "python"}
    assert str(PROGRAM) in own and "made.py" in own
    assert "CPython 3." in bench.info("python")["ranks"][0]["stacks"]


@pytest.mark.parametrize("suite", ["trixie", "sid"])
def test_python_of_a_later_debian(bench, as_root, suite):
    """3.13 and 3.14, where offsets are what the interpreter itself says of them."""
    debian = Debian(suite, "python3", "libmpich12", "libunwind8")
    collector = start_collector(bench)  # outside: inside it lacks its libraries
    done = debian.run(bench, ["/usr/bin/python3", PROGRAM, MPICH.shared_library], LD_PRELOAD=bench.library,
                      DDBG_RUN_ID="python", PYTHONIOENCODING="utf-8")
    assert done.returncode == 0, done.stderr
    bench.stop_collectors()
    collector.wait(60)
    assert_paths(done.stdout.splitlines(), barriers_of(bench))


def test_a_python_that_is_not_known_is_left_alone(bench, build, mpi, tmp_path):
    """A version from the future gives native frames only, and the trace says so."""
    source = tmp_path / "future.c"
    source.write_text('const char* Py_GetVersion(void) { return "3.99.0 (main)"; }\n')
    future = tmp_path / "libpython3.99.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", future, source], check=True)
    _, barriers = record(bench, [build(mpi, "stacks.c"), "3"], future)
    assert len(barriers) > 1000 and all(event["stack"][-1]["function"] == "main" for event in barriers)
    assert "CPython 3.99 not read: its version is not known" in bench.info("python")["ranks"][0]["stacks"]


@pytest.mark.parametrize("python", interpreters())
def test_interpreter_that_ends_while_threads_call(bench, mpi, python):
    """What the threads' frames lie in is freed under them: the recorder must keep away from it."""
    for _ in range(5):
        done = subprocess.run([python, str(PROGRAMS / "python_finalize.py"), mpi.shared_library], cwd=bench.work,
                              env=bench.environment(LD_PRELOAD=str(bench.library), DDBG_RUN_ID="ends"),
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
        assert (done.returncode, done.stdout) == (0, "ends\n"), done.stderr
