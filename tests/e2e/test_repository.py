"""Rules of the repository that a script checks."""
import shutil
import subprocess
import sys

import pytest

from harness import ROOT

PYTHON = sys.executable


def check(folder):
    return subprocess.run([PYTHON, ROOT / "scripts/check_layers.py", folder], capture_output=True, text=True)


@pytest.mark.quick
def test_rooms_include_only_what_they_may():
    done = check(ROOT)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("file, include", [
    ("proto/bad.h", "shim/ddbg.h"),
    ("shim/recorder/bad.cc", "shim/mpi/table.h"),
    ("shim/mpi/bad.cc", "collector/session.h"),
    ("shim/mpi/bad.cc", "proto/ddbg.pb.h"),
    ("shim/recorder/bad.cc", "<spdlog/spdlog.h>"),
    ("collector/bad.cc", "analyzer/model/model.h"),
    ("collector/bad.cc", "proto/call.h"),
    ("analyzer/bad.cc", "collector/session.h"),
    ("analyzer/find/bad.cc", "analyzer/render/text.h"),
    ("analyzer/find/bad.cc", "<iostream>"),
    ("analyzer/match/bad.cc", "analyzer/find/late_windows.h"),
    ("analyzer/model/bad.cc", "analyzer/load/load.h"),
    ("analyzer/context/bad.cc", "analyzer/verdict/diagnose.h"),
    ("analyzer/render/bad.cc", "analyzer/command.h"),
])
def test_checker_sees_a_forbidden_include(tmp_path, file, include):
    for room in ("proto", "shim", "collector", "analyzer"):
        (tmp_path / room).mkdir()
    path = tmp_path / file
    path.parent.mkdir(exist_ok=True)
    path.write_text("#include %s\n" % (include if include.startswith("<") else '"%s"' % include))
    done = check(tmp_path)
    assert done.returncode == 1
    assert file in done.stdout and include.strip("<>") in done.stdout


def test_scripts_are_sound():
    """bash -n finds a broken script without running it; no script fetches anything but packages."""
    for script in sorted((ROOT / "scripts").glob("*.sh")) + [ROOT / ".ci/run"]:
        assert subprocess.run(["bash", "-n", script]).returncode == 0
        assert script.stat().st_mode & 0o111, "%s is not executable" % script


@pytest.mark.slow
def test_bare_debian():
    """Quick start and image steps in a fresh Debian that has nothing (scripts/bare_debian.sh)."""
    import os
    if os.geteuid() != 0 or not shutil.which("debootstrap"):
        pytest.skip("needs root and debootstrap")
    done = subprocess.run([ROOT / "scripts/bare_debian.sh"], capture_output=True, text=True, errors="replace",
                          stdin=subprocess.DEVNULL)
    if done.returncode == 77:
        pytest.skip(done.stderr.strip().splitlines()[-1])
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-3000:]
