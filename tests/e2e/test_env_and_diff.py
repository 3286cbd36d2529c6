"""ddbg env and ddbg diff: what differs between ranks, and between a good and a bad run."""
import json
import re

import pytest

from harness import line_of, wait_until
from launchers import PROGRAMS


def facts(bench, *words):
    done = bench.ddbg("env", *words, "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["schema"] == "ddbg.env/1"
    return told


def names(told):
    return [(one["area"], one["name"]) for one in told["differences"]]


def diff(bench, good, bad, *options):
    done = bench.ddbg("diff", good, bad, "--json", *options)
    assert done.returncode in (0, 1), done.stderr
    told = json.loads(done.stdout)
    assert told["schema"] == "ddbg.diff/1" and told["different"] == (done.returncode == 1)
    return told


def run(bench, mpi, name, program, ranks=4, **environment):
    job = bench.mpirun(mpi, ranks, program, DDBG_RUN_ID=name, **environment)
    assert job.wait() == 0, job.stderr


def test_equal_ranks_have_no_difference(bench, build, mpi):
    run(bench, mpi, "one", [build(mpi, "request_mix.c")])
    told = facts(bench, "one")
    assert told["differences"] == [] and told["equal"] > 20
    assert ("launcher", "rank") in names(facts(bench, "one", "--all"))


def test_a_rank_with_another_variable_is_named(bench, build, mpi):
    wrapper = bench.folder / "wrapper.sh"
    wrapper.write_text('#!/bin/sh\n[ "$%s" = 2 ] && export NCCL_IB_DISABLE=1\nexec "$@"\n' % mpi.rank_variable)
    wrapper.chmod(0o755)
    run(bench, mpi, "odd", [wrapper, build(mpi, "hello.c")])
    told = facts(bench, "odd")
    assert names(told) == [("environment", "NCCL_IB_DISABLE")]
    most, odd = told["differences"][0]["values"]
    assert (most["value"], most["rank_ranges"]) == (None, [[0, 1], [3, 3]])
    assert (odd["value"], odd["rank_ranges"]) == ("1", [[2, 2]])


def test_same_program_twice_has_no_difference(bench, build, mpi):
    for name in ("one", "two"):
        run(bench, mpi, name, [build(mpi, "request_mix.c")])
    told = diff(bench, "one", "two")
    assert told["structural"] == []
    assert told["environment"] == []
    assert not told["different"] and told["ranks"] == 4 and told["calls"] > 400


def test_a_variable_of_one_run_is_told(bench, build, mpi):
    run(bench, mpi, "one", [build(mpi, "hello.c")])
    run(bench, mpi, "two", [build(mpi, "hello.c")], OMP_NUM_THREADS="3")
    assert names(facts(bench, "one", "two")) == [("environment", "OMP_NUM_THREADS")]
    told = diff(bench, "one", "two")
    assert told["different"] and told["structural"] == []


def test_another_number_of_steps_is_told_as_such(bench, build, mpi):
    for steps in (20, 26):
        run(bench, mpi, "s%d" % steps, [build(mpi, "steps.c"), "--steps", steps])
    told = diff(bench, "s20", "s26")
    only, = told["structural"]
    assert (only["kind"], only["turns"], only["rank_ranges"]) == ("repetitions", 6, [[0, 3]])
    only, = diff(bench, "s26", "s20")["structural"]
    assert only["turns"] == -6


# What mismatch.c does wrong → how the first difference of the hung or broken run reads.
FAULTS = {"missing": ("missing", None), "root": ("changed", "root"), "type": ("changed", "datatype")}


@pytest.mark.parametrize("fault", FAULTS)
def test_the_first_structural_difference_is_the_fault(bench, build, mpi, fault):
    program = build(mpi, "mismatch.c")
    run(bench, mpi, "good", [program, "--rank", 1])  # the same way through the program
    bench.mpirun(mpi, 4, [program, "--fault", fault, "--rank", 1], DDBG_RUN_ID="bad")
    def first():
        if not (bench.runs / "bad").exists() or len(bench.info("bad")["ranks"]) < 4:
            return None
        found = [one for one in diff(bench, "good", "bad")["structural"] if one["kind"] != "ends_early"]
        return found and (found[0]["kind"], found[0].get("field"), found[0]["rank_ranges"])
    wait_until(lambda: first() == (*FAULTS[fault], [[1, 1]]), "the fault is the first difference")
    told = diff(bench, "good", "bad")["structural"][0]
    if FAULTS[fault][1]:
        assert told["bad"]["line"].endswith("mismatch.c:%d" % line_of("mismatch.c", fault))


def test_unknown_runs_are_an_error(bench, build, openmpi):
    run(bench, openmpi, "one", [build(openmpi, "hello.c")], ranks=2)
    assert bench.ddbg("diff", "one", "nothing").returncode == 3
    assert bench.ddbg("env", "nothing").returncode == 3
    assert bench.ddbg("diff", "one").returncode == 2


def test_nccl_twice_has_no_structural_difference(bench, gpu):
    for name in ("one", "two"):
        job = gpu.start(bench, [gpu.compile(PROGRAMS / "nccl_calls.cc"), 3, bench.folder / "log"], DDBG_RUN_ID=name)
        assert job.wait() == 0, job.stderr
    told = diff(bench, "one", "two")
    assert told["structural"] == [] and told["calls"] > 30
    assert not [one for one in told["environment"] if re.match("CUDA|NCCL", one["name"])]
