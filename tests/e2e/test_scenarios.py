"""A few planted faults of tests/scenarios, one seed each, that must be found, and healthy runs that must stay silent. The
whole suite with its scores is scripts/scenarios.sh."""
import json
import os
import subprocess
import sys

import pytest

from harness import ROOT

sys.path.insert(0, str(ROOT / "tests/scenarios"))

from catalog import draw  # noqa: E402
from play import Play  # noqa: E402
from rows import ROWS  # noqa: E402
from score import judge  # noqa: E402
from staging import Programs  # noqa: E402

PLAYBOOKS = json.loads((ROOT / "analyzer/playbooks.json").read_text())

pytestmark = pytest.mark.alone

# (id, the program's fault, seed)
MUST_HOLD = [("W2", "", 1), ("W10", "skip_split", 1), ("W12", "parameter_list", 1), ("C1", "skip", 1), ("C2", "extra", 1),
             ("C3", "other_call", 1), ("C5", "comm_order", 1), ("C8", "skip_optimizer", 1), ("C10", "bucket_size", 1),
             ("C12", "root", 1), ("C13", "op", 1), ("C14", "no_send", 1), ("I1", "kill", 1), ("I8", "", 1), ("I10", "segfault", 1)]
SILENT = [("C1", "skip", 1), ("C5", "comm_order", 1), ("N1", "", 1), ("N4", "", 1), ("N6", "", 1), ("N10", "", 1), ("N14", "resize", 1)]


def case_of(chosen, twin=False):
    name, fault, seed = chosen
    row = next(row for row in ROWS if (row.id, row.fault) == (name, fault))
    return draw(row, seed, twin)


@pytest.fixture(scope="module")
def programs():
    programs = Programs()
    programs.prepare([case_of(chosen) for chosen in MUST_HOLD + SILENT])
    return programs


def played(case, programs, prefix, tmp_path):
    if case.backend == "nccl" and not (ROOT / "build/release/tests/fakes/libnccl.so.2").exists():
        pytest.exit("the doubles are missing: build first (scripts/test.sh does)", 2)
    return Play(case, programs, prefix, tmp_path / "play").run()


@pytest.mark.parametrize("chosen", MUST_HOLD, ids=lambda chosen: "-".join(map(str, chosen)))
def test_the_first_bad_event_is_the_planted_one(prefix, programs, tmp_path, chosen):
    record = played(case_of(chosen), programs, prefix, tmp_path)
    told = judge(record["truth"], record["verdict"])
    assert told["class_right"] and told["kind_right"] and told["exact"], record


@pytest.mark.parametrize("chosen", SILENT, ids=lambda chosen: "-".join(map(str, chosen)))
def test_a_healthy_run_stays_silent(prefix, programs, tmp_path, chosen):
    record = played(case_of(chosen, twin=True), programs, prefix, tmp_path)
    assert not record["problems"], record
    assert judge(None, record["verdict"])["outcome"] == "healthy", record


def test_rows_speak_of_kinds_that_there_are():
    known = set(PLAYBOOKS["kinds"])
    asked = {kind for row in ROWS for kind in row.kinds + row.kinds_by_marks}
    assert asked and asked <= known, asked - known


def test_the_runner_reports(prefix):
    """The command itself, on one row."""
    done = subprocess.run([sys.executable, ROOT / "tests/scenarios/run.py", "--id", "W12", "--mpi", "mpich", "--no-twins"],
                          capture_output=True, text=True, env=dict(os.environ, DDBG_PREFIX=str(prefix)), timeout=200)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "first bad event exact" in done.stdout
