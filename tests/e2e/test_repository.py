"""Rules of the repository that a script checks, and what README shows step by step."""
import re
import shutil
import subprocess
import sys

import pytest

from debian import ENTER, Debian
from harness import ROOT, start_collector

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


def shown_in_readme(title):
    """[(command, lines that it prints)] of a section; a line "…" stands for any number of others."""
    section = (ROOT / "README.md").read_text().partition("\n### %s\n" % title)[2].partition("\n## ")[0]
    shown = []
    for line in re.findall("^    (.*)$", section, re.M):
        if line.startswith("$ "):
            shown.append((line[2:], []))
        else:
            shown[-1][1].append(line)
    return shown


def same_everywhere(line):
    """Without what differs from run to run and from machine to machine."""
    for pattern, word in ((r"python3-\d+-\w+", "RUN"), (r"pid \d+ on [^)]+", "PID"), (r"\+0x[0-9a-f]+", "+OFFSET"), (r"cc:\d+", "cc:LINE"),
                          (r"(send|recv) operation", "OPERATION")):
        line = re.sub(pattern, word, line)
    return line


def assert_shows(shown, printed, what):
    """The shown lines are among the printed ones, in their order; next to each other where no "…" is between."""
    printed, at, anywhere = [same_everywhere(line) for line in printed], 0, False
    for line in shown:
        if line == "…":
            anywhere = True
            continue
        places = [place for place in range(at, len(printed)) if printed[place] == same_everywhere(line)]
        assert places and (anywhere or places[0] == at), "%s does not print here: %s\n%s" % (what, line, "\n".join(printed))
        at, anywhere = places[0] + 1, False


def test_readme_s_pytorch_on_a_laptop(bench, as_root):
    """Its commands and what they print, in the release that it names; that release has PyTorch, and ddbg is built."""
    directory = Debian("bookworm", "python3-torch", "libunwind8")
    collector = start_collector(bench, idle_seconds=600)
    (install, _), *steps = shown_in_readme("PyTorch on a laptop")
    assert "apt-get install python3-torch" in install and len(steps) == 4
    for command, shown in steps:
        command = re.sub(r"(\$PWD/)?build/install", str(bench.prefix), command)
        if "ddbg diagnose" in command:
            printed = subprocess.run(["sh", "-c", command], capture_output=True, text=True, env=bench.environment()).stdout
        else:
            places = " ".join(map(str, (bench.prefix, bench.folder, bench.short, ROOT / "examples")))
            variables = ["%s=%s" % item for item in (("DDBG_DIR", bench.runs), ("DDBG_SOCKET", bench.short / "s"), ("HOME", "/tmp"))]
            job = bench.start(["unshare", "--mount", "sh", "-c", ENTER, "enter", directory.root, "env", *variables, "sh", "-c",
                               "cd %s && exec env %s" % (ROOT, command)], PLACES=places)
            assert job.wait(120) == ("--even" not in command), job.stderr
            printed = "\n".join(job.lines()) if "--even" in command else job.stdout + job.stderr
        assert_shows(shown, printed.rstrip("\n").splitlines(), command)
    collector.terminate()
    collector.wait()
