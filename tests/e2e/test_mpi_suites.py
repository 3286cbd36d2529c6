"""Test suites that others wrote, without and with the library: the same outcome, program by program and line by line, and a verdict
that finds nothing that is not there.

MPICH's own programs: mpich_suite/programs.txt has those of the normal tier, and mpich_suite/left_out.txt those that are not the same
twice without ddbg, or that a verdict rightly finds fault with. DDBG_WHOLE_SUITES=1 runs every program of MPICH's lists."""
import os
import shutil
import sys

import pytest

import mpich_suite
from harness import wait_until
from verdicts import shown

WHOLE = bool(os.environ.get("DDBG_WHOLE_SUITES"))
TOO_MANY_RANKS = 4
GROUPS = {"pt2pt": ("pt2pt", "topo", "group", "info", "mpi_t", "part"), "coll": ("coll",), "comm": ("comm", "attr", "init", "errhan", "spawn"),
          "datatype": ("datatype", "io"), "rma": ("rma",), "languages": ("threads", "cxx", "f77", "f90", "f08", "errors")}


def listed(name):
    """The lines of a data file: words, and what stands behind a colon."""
    lines = (mpich_suite.HERE / name).read_text().splitlines()
    return [line.partition(": ") for line in lines if line and not line.startswith("#")]


def chosen(suite, mpi, group):
    """The tests of a group: those of the file, or all."""
    wanted = {words for words, _, mpis in listed("programs.txt") if mpi.suffix in mpis.split()}
    left_out = {words for words, _, why in listed("left_out.txt") if why.partition(" ")[0] in (mpi.suffix, "both")}
    tests, seen = [], set()
    for family in mpich_suite.FAMILIES:
        if family.partition("/")[0] not in GROUPS[group]:
            continue
        for test in mpich_suite.tests_of(family, suite.tree):
            name = str(test)
            if name in seen or name in left_out or "mem" in test.options or "xfail" in test.options:
                continue
            if name in wanted or (WHOLE and test.ranks <= TOO_MANY_RANKS and not test.environment):
                seen.add(name)
                tests.append(test)
    missing = {name for name in wanted if name.partition("/")[0] in GROUPS[group]} - {str(test) for test in tests}
    assert not missing, "programs.txt names what the lists have not: %s" % sorted(missing)
    return tests


def outcome(bench, mpi, suite, test, program, preload, limit_s):
    """Exit code and lines of one run, None if it does not end in time."""
    folder = bench.folder / "run"
    folder.mkdir()
    job = bench.mpirun(mpi, test.ranks, [program, *test.arguments], preload=preload, cwd=folder, DDBG_RUN_ID=test.name)
    try:
        code = job.wait(limit_s)
    except AssertionError:
        for process in bench.processes():
            if process.exe() != "ddbg-collector":
                process.signal(9)
        wait_until(lambda: not job.running(), "the launcher ends")
        return None
    finally:
        shutil.rmtree(folder)
    return code, job.lines()


def compare(bench, mpi, suite, test):
    """What is wrong with one test, or None."""
    program = suite.program(test)
    if program is None:
        return "cannot be compiled any more" if not WHOLE else None
    bare = outcome(bench, mpi, suite, test, program, False, 20 if WHOLE else 60)
    if bare is None and WHOLE:
        return None  # hangs by itself
    shutil.rmtree(bench.runs, ignore_errors=True)
    traced = outcome(bench, mpi, suite, test, program, True, 60)
    if traced != bare:
        if WHOLE and outcome(bench, mpi, suite, test, program, False, 60) not in (None, bare):
            return None  # is not the same twice by itself
        return "%s without ddbg, %s with it" % (bare, traced)
    if bare[0] != 0 or not bench.runs.exists():
        return None  # it failed, and whatever is said of that is no false alarm; or it called nothing
    verdict = bench.diagnose(test.name)
    return None if verdict["verdict"] == "healthy" else "is told as faulty: %s" % shown(verdict)[:1500]


@pytest.mark.parametrize("group", GROUPS)
def test_mpich_programs(bench, mpi, group):
    suite = mpich_suite.Suite(mpi)
    tests = chosen(suite, mpi, group)
    wrong = []
    for test in tests:
        problem = compare(bench, mpi, suite, test)
        if problem:
            wrong.append("%s %s" % (test, problem))
            print(wrong[-1], file=sys.stderr, flush=True)
    assert not wrong, "\n".join(wrong)
