"""Jobs that are not one job, or not the same on all ranks; ends by an exception; and what a verdict hands its reader: playbook and
earlier attempts."""
import json
import shlex

import pytest

from launchers import PROGRAMS
from verdicts import assert_fault, assert_healthy, shown

PYTHON = "/usr/bin/python3"


def several(bench, mpi, parts):
    """mpirun of several programs or environments: (ranks, program, {variable: value}) each."""
    command = []
    for ranks, program, environment in parts:
        words = mpi.command(ranks, program)
        if command:
            words = [":"] + [word for word in words[1:] if word not in ("--oversubscribe", "--allow-run-as-root")]
        at = words.index(str(ranks)) + 1
        option = [["-x", "%s=%s" % pair] if mpi.suffix == "openmpi" else ["-env", *map(str, pair)]
                  for pair in environment.items()]
        command += words[:at] + sum(option, []) + words[at:]
    return bench.start(command)


@pytest.mark.quick
def test_a_variable_that_differs_in_a_job_that_runs_is_a_caveat(bench, build, mpi):
    program = [build(mpi, "hello.c")]
    preload = {"LD_PRELOAD": bench.library}
    job = several(bench, mpi, [(2, program, {**preload, "UCX_RNDV_THRESH": "64k"}), (1, program, {**preload, "UCX_RNDV_THRESH": "32k"})])
    assert job.wait() == 0, job.stderr
    verdict = bench.diagnose()
    assert_healthy(verdict)
    assert any("UCX_RNDV_THRESH is 64k on ranks 0, 1, 32k on rank 2" in caveat for caveat in verdict["caveats"]), shown(verdict)


def test_equal_ranks_have_no_such_caveat(bench, build, mpi):
    job = bench.mpirun(mpi, 3, [build(mpi, "hello.c")])
    assert job.wait() == 0, job.stderr
    verdict = bench.diagnose()
    assert_healthy(verdict)
    assert not verdict["caveats"], shown(verdict)


def test_a_rank_without_the_preload_is_unknown_with_a_reason(bench, build, mpi):
    program = [build(mpi, "hello.c")]
    job = several(bench, mpi, [(2, program, {"LD_PRELOAD": bench.library}), (1, program, {"DDBG_TEST": 1})])
    assert job.wait() == 0, job.stderr
    verdict = bench.diagnose()
    assert verdict["verdict"] == "unknown" and verdict["kind"] == "not_traced", shown(verdict)
    assert verdict["culprit_ranks"] == [2] and verdict["exit_code"] == 3, shown(verdict)
    assert "without the preload" in verdict["evidence"][0], shown(verdict)


@pytest.mark.quick
def test_a_handler_of_terminate_tells_of_an_exception(bench, build, mpi):
    job = bench.mpirun(mpi, 2, [build(mpi, "terminate_handler.cc")])
    assert job.wait() != 0
    verdict = bench.diagnose()
    assert_fault(verdict, "uncaught_exception", "control_flow_divergence", rank=1, call="MPI_Abort")
    assert verdict["confidence"] >= 0.9, shown(verdict)


def test_the_same_handler_without_an_exception_is_healthy(bench, build, mpi):
    job = bench.mpirun(mpi, 2, [build(mpi, "terminate_handler.cc"), "--healthy"])
    assert job.wait() == 0, job.stderr
    assert_healthy(bench.diagnose())


def test_an_exception_under_mpi4py_s_runner(bench, openmpi):
    job = bench.mpirun(openmpi, 3, [PYTHON, "-m", "mpi4py", PROGRAMS / "b09_exception.py"])
    assert job.wait() != 0
    verdict = bench.diagnose()
    assert_fault(verdict, "uncaught_exception", "control_flow_divergence", rank=0)


@pytest.mark.quick
def test_the_queries_of_a_verdict_can_be_typed_as_they_are(bench, build, mpi):
    job = bench.mpirun(mpi, 3, [build(mpi, "b19_bcast_count.c")])
    job.wait()
    verdict = bench.diagnose()
    book = verdict["playbook"]
    assert book["tier"] in (1, 2, 3) and book["owner"] and book["reduction"] and book["captures"], shown(verdict)
    typed = [query for query in book["queries"] if query.split()[1] in ("events", "info")]
    assert typed, shown(verdict)
    for query in typed:
        done = bench.ddbg(*shlex.split(query)[1:])
        assert done.returncode == 0, (query, done.stderr)
        assert done.stdout, query
    assert "{" not in json.dumps(book["queries"]), shown(verdict)


def test_a_file_of_the_user_s_changes_the_playbook_and_a_broken_one_is_said(bench, build, mpi):
    job = bench.mpirun(mpi, 3, [build(mpi, "b19_bcast_count.c")])
    job.wait()
    mine = bench.folder / "mine.json"
    mine.write_text('{"kinds": {"argument_mismatch": {"owner": "team of rank {rank}"}}}')
    done = bench.ddbg("diagnose", "latest", "--json", "--playbooks", mine)
    assert json.loads(done.stdout)["playbook"]["owner"] == "team of rank 1", done.stdout
    mine.write_text('{"kinds":\n {"argument_mismatch": {"owner": 7}}}')
    done = bench.ddbg("diagnose", "latest", "--json", DDBG_PLAYBOOKS=mine)
    assert done.returncode == 1
    assert json.loads(done.stdout)["playbook"]["owner"] != "team of rank 1"
    assert "line 2" in done.stderr and "mine.json" in done.stderr, done.stderr


def test_every_kind_has_a_playbook_to_be_read(bench):
    done = bench.ddbg("playbook", "--list", "--json")
    assert done.returncode == 0, done.stderr
    kinds = json.loads(done.stdout)["kinds"]
    assert len(kinds) > 40
    done = bench.ddbg("playbook", "early_exit")
    assert done.returncode == 0 and "{rank}" in done.stdout, done.stdout
    done = bench.ddbg("playbook", "no_such_kind")
    assert done.returncode == 2 and "--list" in done.stderr, done.stderr


def test_the_last_attempt_tells_what_the_one_before_ended_with(bench, build, mpi):
    wrong = bench.mpirun(mpi, 3, [build(mpi, "terminate_handler.cc")], DDBG_RUN_ID="job-7", SLURM_RESTART_COUNT="0")
    assert wrong.wait() != 0
    again = bench.mpirun(mpi, 3, [build(mpi, "terminate_handler.cc"), "--healthy"], DDBG_RUN_ID="job-7", SLURM_RESTART_COUNT="1")
    assert again.wait() == 0, again.stderr
    verdict = bench.diagnose("job-7")
    assert verdict["verdict"] == "healthy" and verdict["attempt_id"] == 1, shown(verdict)
    earlier = verdict["earlier_attempts"]
    assert [attempt["attempt_id"] for attempt in earlier] == [0], shown(verdict)
    assert earlier[0]["kind"] == "uncaught_exception" and earlier[0]["culprit_ranks"] == [1], shown(verdict)
    first = json.loads(bench.ddbg("diagnose", "job-7", "--attempt", "0", "--json").stdout)
    assert first["verdict"] == "fault" and first["earlier_attempts"] == [], shown(first)
    none = bench.ddbg("diagnose", "job-7", "--attempt", "5")
    assert none.returncode == 3 and "there are a0, a1" in none.stderr, none.stderr


@pytest.mark.parametrize("arguments, colored", [((), False), (("--color", "always"), True), (("--color=never",), False)])
def test_colours_are_for_terminals_or_on_demand(bench, build, openmpi, arguments, colored):
    job = bench.mpirun(openmpi, 2, [build(openmpi, "hello.c")])
    assert job.wait() == 0
    for command in ("diagnose", "info", "events"):
        done = bench.ddbg(command, "latest", *arguments)
        assert done.returncode == 0, done.stderr
        assert ("\x1b[" in done.stdout) == colored, (command, done.stdout)


def test_transports_that_do_not_reach_each_other_are_named(bench, build, mpich):
    program = [build(mpich, "hello.c")]
    preload = {"LD_PRELOAD": bench.library}
    job = several(bench, mpich, [(2, program, {**preload, "UCX_TLS": "self,sm"}), (1, program, {**preload, "UCX_TLS": "self,tcp"})])
    if job.wait() == 0:
        pytest.skip("this MPICH does not use UCX")
    verdict = bench.diagnose()
    assert_fault(verdict, "env_mismatch", "infrastructure_discontinuity", rank=2, field="UCX_TLS", call="MPI_Init")
    assert verdict["culprit_ranks"] == [2] and verdict["phase"] == "wont_start", shown(verdict)
