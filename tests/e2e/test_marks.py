"""Marks of the program: each is one event, with and without MPI; without the library they do nothing."""
from collections import Counter
import json
import shutil
import subprocess

import pytest

from harness import ROOT
from launchers import PROGRAMS
from verdicts import assert_healthy

INCLUDE = "-I%s" % ROOT
TIMES = {"ddbg_step": 1, "ddbg_phase_begin": 3, "ddbg_phase_end": 3, "ddbg_value": 1, "ddbg_event": 1}


def marks_of(events, rank=None):
    return [e for e in events if rank in (None, e.get("rank")) and e["kind"] in ("step", "phase_begin", "phase_end", "control", "value", "event")]


@pytest.mark.quick
def test_each_mark_is_one_event(bench, build, mpi):
    job = bench.mpirun(mpi, 3, [build(mpi, "marks.c", INCLUDE), "--steps", 6])
    assert job.wait() == 0, job.stderr
    assert job.lines() == ["78 marks"] * 3
    events = bench.events()
    for rank in range(3):
        marks = marks_of(events, rank)
        expected = {call: 6 * times for call, times in TIMES.items()}
        expected["MPI_Pcontrol"] = 24
        assert Counter(e["call"] for e in marks) == expected
        assert [e["step"] for e in marks if e["call"] == "ddbg_step"] == list(range(100, 106))
        assert [e["name"] for e in marks if e["call"] == "ddbg_phase_begin"] == ["loader", "forward", "inner"] * 6
        assert [(e["level"], e.get("name")) for e in marks if e["call"] == "MPI_Pcontrol"][:3] == [
            (1, "backward"), (-1, "backward"), (0, "saved")]
        values = [e for e in marks if e["call"] == "ddbg_value"]
        assert [(e["name"], e["value"]) for e in values] == [("loss", v) for v in (0, 0.5, 1, 1.5, 2, "nan")]
        told = [e for e in marks if e["call"] == "ddbg_event"]
        assert [(e["name"], e["text"], e["number"]) for e in told] == [
            ("checkpoint_write", "/scratch/step-%d.pt" % step, -step) for step in range(6)]
        # It ended when it was told; a clock that was just begun is known to some per mille.
        assert all(abs(e["dur_ns"] - 3e6) < 3e4 for e in told), told
        assert [e["step"] for e in events if e["rank"] == rank and e.get("call") == "MPI_Allreduce"] == list(range(100, 106))
    assert_healthy(bench.diagnose())


def test_values_and_events_as_text(bench, build, openmpi):
    job = bench.mpirun(openmpi, 1, [build(openmpi, "marks.c", INCLUDE)])
    assert job.wait() == 0, job.stderr
    lines = bench.ddbg("events", "latest", "--no-stacks").stdout.splitlines()
    assert any(line.rstrip().endswith("loss, 0.5") for line in lines)
    assert any(line.rstrip().endswith("checkpoint_write, /scratch/step-2.pt, -2") and "3 ms" in line for line in lines)


@pytest.mark.quick
def test_marks_do_nothing_without_the_library(bench, build, mpi):
    job = bench.mpirun(mpi, 2, [build(mpi, "marks.c", INCLUDE)], preload=False)
    assert job.wait() == 0, job.stderr
    assert job.lines() == ["78 marks"] * 2
    assert not bench.runs.exists()


def steps_of(bench, *options):
    done = bench.ddbg("steps", "latest", "--json", *options)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


# A weak reference to the functions themselves would be settled as absent in a program that is no PIE.
@pytest.mark.parametrize("flags", [["-pie", "-fpie"], ["-no-pie", "-fno-pie"], ["-O2", "-x", "c++"]], ids=" ".join)
def test_a_program_without_mpi_records_its_marks(bench, tmp_path, flags):
    program = tmp_path / "marks"
    compiler = ["g++" if "c++" in flags else "gcc", *flags, "-Wall", "-Werror", "-DWITHOUT_MPI", INCLUDE]
    subprocess.run([*compiler, str(PROGRAMS / "marks.c"), "-o", str(program)], check=True)
    bare = bench.start([program])
    assert bare.wait() == 0 and bare.lines() == ["54 marks"]
    assert not bench.runs.exists()
    traced = bench.start([program], LD_PRELOAD=bench.library)
    assert traced.wait() == 0 and traced.lines() == ["54 marks"], traced.stderr
    marks = marks_of(bench.events())
    assert Counter(e["call"] for e in marks) == {call: 6 * times for call, times in TIMES.items()}


def test_a_static_program_runs_with_marks(tmp_path):
    program = tmp_path / "marks"
    subprocess.run(["gcc", "-static", "-DWITHOUT_MPI", INCLUDE, str(PROGRAMS / "marks.c"), "-o", str(program)], check=True)
    assert subprocess.run([program], capture_output=True, text=True).stdout == "54 marks\n"


def test_pcontrol_reaches_a_tool_as_it_was(bench, build, mpi, tmp_path):
    tool = tmp_path / "libtool.so"
    subprocess.run(["gcc", "-shared", "-fPIC", str(PROGRAMS / "pcontrol_tool.c"), "-o", str(tool)], check=True)
    program = build(mpi, "pcontrol_arguments.c")
    job = bench.mpirun(mpi, 1, [program], preload="%s:%s" % (bench.library, tool))
    assert job.wait() == 0, job.stderr
    assert "returned 42" in job.stdout
    assert job.stdout.splitlines()[0] == "tool: 1 solve 12345678 2.5"
    controls = [e for e in bench.events() if e.get("call") == "MPI_Pcontrol"]
    assert [(e["level"], e.get("name")) for e in controls] == [(1, "solve"), (1, None), (-1, None)]


def test_steps_tell_who_loads_slowly(bench, build, mpi):
    job = bench.mpirun(mpi, 3, [build(mpi, "marks.c", INCLUDE), "--steps", 12, "--slow", 1])
    assert job.wait() == 0, job.stderr
    steps = steps_of(bench)
    assert (steps["schema"], steps["source"]) == ("ddbg.steps/1", "marks")
    assert [s["step"] for s in steps["steps"]] == list(range(100, 112))
    # On a busy machine another rank may be held up for as long now and then.
    assert [s["slowest_rank"] for s in steps["steps"]].count(1) >= 9
    ranks = {r["rank"]: r for r in steps["ranks"]}
    assert ranks[1]["work_p50_ns"] >= 60e6
    assert ranks[0]["wait_p50_ns"] > 30e6 > ranks[1]["wait_p50_ns"]
    for step in steps["steps"]:
        assert all(r["loader_ns"] >= (60e6 if r["rank"] == 1 else 2e6) for r in step["ranks"])
        assert all(set(r["phases"]) == {"loader", "forward", "inner", "backward"} for r in step["ranks"])
    two = steps_of(bench, "--step", "103-104", "--rank", "2")
    assert [(s["step"], [r["rank"] for r in s["ranks"]]) for s in two["steps"]] == [(103, [2]), (104, [2])]
    assert {e["step"] for e in bench.events("latest", "--step", "103-104")} == {103, 104}


def test_no_rank_is_slow_where_none_is(bench, build, openmpi):
    job = bench.mpirun(openmpi, 2, [build(openmpi, "marks.c", INCLUDE), "--steps", 12])
    assert job.wait() == 0, job.stderr
    ranks = steps_of(bench)["ranks"]
    assert all(r["work_p50_ns"] < 40e6 for r in ranks)


def test_fortran_has_no_labels(bench, mpi, tmp_path):
    compiler = shutil.which("mpifort." + mpi.suffix)
    if not compiler:
        pytest.skip("no Fortran compiler")
    (tmp_path / "marks.f90").write_text("program marks\n use mpi\n integer :: i, ierr\n call MPI_Init(ierr)\n do i = 1, 4\n"
                                        "  call MPI_Pcontrol(1)\n  call MPI_Barrier(MPI_COMM_WORLD, ierr)\n end do\n"
                                        " call MPI_Finalize(ierr)\nend program\n")
    subprocess.run([compiler, tmp_path / "marks.f90", "-o", tmp_path / "marks"], check=True)
    job = bench.mpirun(mpi, 2, [tmp_path / "marks"])
    assert job.wait() == 0, job.stderr
    controls = [e for e in bench.events() if e.get("call") == "MPI_Pcontrol"]
    assert [(e["level"], e.get("name")) for e in controls] == [(1, None)] * 8


def test_steps_without_marks_are_inferred(bench, build, mpi):
    job = bench.mpirun(mpi, 4, [build(mpi, "b26_comm_leak.c"), "--iterations", 5, "--healthy"])
    assert job.wait() == 0, job.stderr
    events = bench.calls()
    for rank in range(4):
        assert [e.get("step") for e in events if e["rank"] == rank and e["call"] == "MPI_Allreduce"] == list(range(5))
