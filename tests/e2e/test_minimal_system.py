"""libddbg.so in a Debian 13 that has nothing installed: no libunwind, no C++ library, another libc than it was built with."""
import json
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from harness import ROOT

# /tmp is the host's, so that the two sides agree on all paths in it; all of this is gone with the namespace.
ENTER = 'mount -t proc proc "$DEBIAN/proc" && mount --rbind /dev "$DEBIAN/dev" && mount --rbind /sys "$DEBIAN/sys" && mount --rbind /tmp "$DEBIAN/tmp" && exec chroot "$DEBIAN" "$@"'
COMMANDS = {
    "true": ["/bin/true"],
    "false": ["/bin/false"],
    "shell": ["/bin/bash", "-c", "echo from $(basename /a/bash); (exit 3); echo $?; exit 4"],
    "perl": ["/usr/bin/perl", "-e", 'print join(" ", map { $_ * 2 } 1..5), "\\n"; system("echo child"); exit 5'],
    "find": ["/usr/bin/find", "/etc", "-maxdepth", "1", "-name", "host*"],
    "dpkg": ["/usr/bin/dpkg", "--compare-versions", "1.0", "lt", "2.0"],
}


@pytest.fixture(scope="session")
def debian(as_root):
    done = subprocess.run([ROOT / "scripts/debian_directory.sh", "trixie"], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode == 77:
        pytest.skip(done.stderr.strip().splitlines()[-1])
    assert done.returncode == 0, done.stderr
    return Path(done.stdout.strip())


@pytest.fixture
def place(bench):
    """A folder that has one path on both sides, with the library alone in it."""
    folder = Path(tempfile.mkdtemp(prefix="dd", dir="/tmp"))
    shutil.copy(bench.library, folder)
    yield folder
    shutil.rmtree(folder)


def inside(bench, debian, place, command, preload, **more):
    environment = bench.environment(DEBIAN=debian, DDBG_DIR=place / "runs", DDBG_SOCKET=place / "s", TMPDIR=None, **more)
    enter = ["unshare", "--mount", "/bin/sh", "-c", ENTER, "sh"]
    if preload:
        enter += ["/usr/bin/env", "LD_PRELOAD=%s" % (place / "libddbg.so")]
    done = subprocess.run([*enter, *map(str, command)], env=environment, cwd=place, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=120)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_program_without_mpi(bench, debian, place, name):
    bare = inside(bench, debian, place, COMMANDS[name], preload=False)
    assert inside(bench, debian, place, COMMANDS[name], preload=True) == bare
    assert not (place / "runs").exists() and not (place / "s").exists()


def test_it_is_as_bare_as_it_should_be(bench, debian, place):
    """Else the other tests show nothing."""
    code, output, errors = inside(bench, debian, place, ["/bin/sh", "-c", "cat /etc/debian_version; ldconfig -p"], preload=False)
    assert code == 0, errors
    assert output.startswith("13")
    assert "libunwind" not in output and "libprotobuf" not in output and "libmpi" not in output
    listed = inside(bench, debian, place, ["/usr/bin/ldd", place / "libddbg.so"], preload=False)
    assert listed[0] == 0 and "not found" not in listed[1], listed


def bring_along(program, folder):
    """Copies `program` and the libraries it is linked to, other than libc's, into `folder`."""
    listed = subprocess.run(["ldd", program], check=True, capture_output=True, text=True).stdout
    libc = ("libc.so", "libm.so", "libpthread.so", "libdl.so", "librt.so", "ld-linux", "libresolv.so")
    for name, path in re.findall(r"(\S+) => (/\S+)", listed):
        if not name.startswith(libc):
            shutil.copy(path, folder / name)
    return Path(shutil.copy(program, folder))


def test_mpi_program_with_libraries_of_its_own(bench, build, debian, place, mpich):
    """As a vendor ships it: MPI beside the program. No libunwind there, so the stacks are by frame pointers."""
    program = bring_along(build(mpich, "steps.c"), place)
    command = ["/usr/bin/env", "LD_LIBRARY_PATH=%s" % place, program, "--steps", "20", "--pause-us", "100"]
    bare = inside(bench, debian, place, command, preload=False)
    assert bare[:2] == (0, "energy after 20 steps: 0\n"), bare
    bench_environment = dict(DDBG_DIR=str(place / "runs"), DDBG_SOCKET=str(place / "s"))
    collector = subprocess.Popen([bench.prefix / "bin/ddbg-collector", "--foreground"], stdin=subprocess.DEVNULL,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=bench.work,
                                 env=bench.environment(**bench_environment), start_new_session=True)
    traced = inside(bench, debian, place, command, preload=True)
    assert traced[:2] == bare[:2], traced
    said = [line for line in traced[2].splitlines() if line.startswith("ddbg: ")]
    assert len(said) == 1 and "libunwind8" in said[0], traced[2]
    bench.stop_collectors()
    assert collector.wait(60) == 0
    done = bench.ddbg("events", "latest", "--json", **bench_environment)
    events = [json.loads(line) for line in done.stdout.splitlines()]
    sums = [event for event in events if event.get("call") == "MPI_Allreduce"]
    assert len(sums) == 20
    assert {event["stack"][0]["function"] for event in sums} == {"sum_energy"}
    assert [frame["function"] for frame in sums[0]["stack"]][:2] == ["sum_energy", "main"]
    info = json.loads(bench.ddbg("info", "latest", "--json", **bench_environment).stdout)
    assert info["ranks"][0]["stacks"] == "frame pointers: libunwind.so.8 is missing"
    assert info["loss_line"] == "nothing lost"
