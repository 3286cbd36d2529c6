"""Correct programs that look odd: no finding, and the program's output as without ddbg."""
import pytest

from verdicts import assert_healthy

PROGRAMS = ["bcast_roots.c", "comm_mix.c", "fork_child.c", "large_types.c", "request_mix.c", "threads.c", "steps.c"]


@pytest.mark.parametrize("program", PROGRAMS)
def test_output_is_the_same_and_the_verdict_is_healthy(bench, build, mpi, program):
    command = [build(mpi, program)]
    bare = bench.mpirun(mpi, 4, command, preload=False)
    assert bare.wait() == 0
    traced = bench.mpirun(mpi, 4, command)
    assert traced.wait() == 0, traced.stderr
    assert traced.lines() == bare.lines()
    assert traced.stderr == bare.stderr
    assert_healthy(bench.diagnose())
    assert [path.name for path in bench.rank_files()] == ["rank-%05d.ddbg" % rank for rank in range(4)]


def test_switched_off_it_leaves_no_trace(bench, build, mpi):
    job = bench.mpirun(mpi, 2, [build(mpi, "hello.c")], DDBG="0")
    assert job.wait() == 0
    assert job.lines() == ["rank 0 of 2, sum 1", "rank 1 of 2, sum 1"]
    assert not bench.runs.exists()
    assert not bench.collectors()


def test_program_without_mpi_is_left_alone(bench):
    job = bench.start(["/bin/sh", "-c", "echo hello; exit 7"], LD_PRELOAD=bench.library)
    assert job.wait() == 7
    assert (job.stdout, job.stderr) == ("hello\n", "")
    assert not bench.runs.exists()
    assert not bench.collectors()


@pytest.mark.quick
def test_whole_launcher_can_be_preloaded(bench, build, mpi):
    """LD_PRELOAD=… mpirun …: the library reaches the launcher and its helpers too, and is inert there."""
    job = bench.start(mpi.command(3, [build(mpi, "hello.c")]), LD_PRELOAD=bench.library)
    assert job.wait() == 0, job.stderr
    assert job.stderr == ""
    assert_healthy(bench.diagnose())
    assert len(bench.rank_files()) == 3
