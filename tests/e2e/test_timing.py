"""Late ranks in real jobs on a busy machine, each with a healthy twin; and `ddbg skew`."""
import json
import os
import subprocess

import pytest

from verdicts import assert_fault, assert_healthy, shown

pytestmark = pytest.mark.alone

TIMING = "timing_divergence"


def loop(bench, build, mpi, ranks, *arguments, preload=True):
    job = bench.mpirun(mpi, ranks, [build(mpi, "timed_loop.c"), *map(str, arguments)], preload=preload)
    assert job.wait(120) == 0, job.stderr
    return bench.diagnose()


def patterns(verdict):
    return [line for finding in verdict["findings"] for line in finding["evidence"] if line.startswith("pattern: ")]


FAULTY = {
    "constant": (["--steps", 150, "--constant-us", 30000], "constant"),
    "onset": (["--steps", 300, "--constant-us", 25000, "--from", 150], "onset"),
    "periodic": (["--steps", 240, "--every", 40, "--pause-us", 400000], "periodic"),
}


@pytest.mark.parametrize("case", FAULTY)
def test_late_rank_is_named(bench, build, mpi, case):
    arguments, pattern = FAULTY[case]
    verdict = loop(bench, build, mpi, 4, "--bad-rank", 2, *arguments)
    assert_fault(verdict, "straggler", TIMING, rank=2, comm="MPI_COMM_WORLD")
    assert verdict["culprit_ranks"] == [2], shown(verdict)
    assert patterns(verdict) == ["pattern: " + pattern], shown(verdict)
    if pattern == "onset":
        assert abs(verdict["first_bad_event"]["seq"] - 150) <= 3, shown(verdict)


@pytest.mark.parametrize("case", FAULTY)
def test_all_ranks_alike_are_healthy(bench, build, mpi, case):
    """The same time, but for all ranks: no rank is bad, all do what the bad one does."""
    arguments, _ = FAULTY[case]
    job = bench.mpirun(mpi, 4, [build(mpi, "timed_loop.c"), "--all-bad", *map(str, arguments)])
    assert job.wait(120) == 0, job.stderr
    assert_healthy(bench.diagnose())


def test_rank_that_is_held_up_is_not_blamed(bench, build, mpi):
    """Rank 1 is late into every message; its right neighbour comes late to the sum because of it."""
    verdict = loop(bench, build, mpi, 4, "--ring", "--steps", 150, "--bad-rank", 1, "--constant-us", 30000)
    assert_fault(verdict, "straggler", TIMING, rank=1)
    assert verdict["culprit_ranks"] == [1], shown(verdict)


def test_slow_checkpoint_of_one_rank(bench, build, mpi):
    arguments = ["--steps", 200, "--write-every", 40]
    verdict = loop(bench, build, mpi, 4, *arguments, "--bad-rank", 3, "--write-us", 1000000)
    assert_fault(verdict, ["straggler", "io_stall"], TIMING, rank=3, call="MPI_Barrier")
    assert verdict["culprit_ranks"] == [3], shown(verdict)
    assert_healthy(loop(bench, build, mpi, 4, *arguments))


def test_pauses_of_all_ranks_are_nobodys(bench, build, mpi):
    """Two ranks, which have a core each: of more on two cores nobody could tell it from waiting for one."""
    verdict = loop(bench, build, mpi, 2, "--steps", 200, "--gc-us", 150000, "--gc-one-in", 15)
    assert verdict["culprit_ranks"] == [], shown(verdict)
    assert_fault(verdict, "straggler", TIMING)
    assert patterns(verdict) == ["pattern: random"], shown(verdict)
    assert_healthy(loop(bench, build, mpi, 2, "--steps", 200, "--gc-us", 150000, "--gc-one-in", 3000))


def test_pauses_of_more_ranks_than_cores_are_never_somebodys(bench, build, mpi):
    verdict = loop(bench, build, mpi, 4, "--steps", 200, "--gc-us", 150000, "--gc-one-in", 15)
    assert verdict["verdict"] == "healthy" or verdict["culprit_ranks"] == [], shown(verdict)


@pytest.mark.parametrize("arguments", [
    ["--random-us", 2000],
    ["--steps", 100, "--evaluate-every", 20, "--evaluate-us", 500000],
    ["--pause-all-ms", 3000],
    ["--spin"],
    ["--ring"],
], ids=lambda arguments: arguments[-2 if len(arguments) > 1 else 0].strip("-"))
def test_what_is_no_fault(bench, build, mpi, arguments):
    assert_healthy(loop(bench, build, mpi, 4, *arguments))


def test_oversubscribed_ranks_are_healthy(bench, build, mpi):
    """More ranks that compute than there are CPUs: they keep each other from running, which is no rank's fault."""
    ranks = max(4, 2 * (os.cpu_count() or 2))
    assert_healthy(loop(bench, build, mpi, ranks, "--spin", "--work-us", 3000, "--steps", 150))


def test_slow_pair(bench, build, mpi, tmp_path):
    """A library behind ddbg's that lets messages from rank 1 to rank 2 take 30 ms longer."""
    source = bench.work / "slow_pair.c"
    source.write_text(SLOW_PAIR)
    library = bench.work / "slow_pair.so"
    subprocess.run(["mpicc." + mpi.suffix, "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    preload = "%s:%s" % (bench.library, library)
    arguments = ["--ring", "--steps", 200]
    verdict = loop(bench, build, mpi, 4, *arguments, preload=preload)
    assert_fault(verdict, "slow_link", TIMING, rank=2)
    assert verdict["culprit_ranks"] == [1, 2], shown(verdict)
    assert_healthy(loop(bench, build, mpi, 4, *arguments))


SLOW_PAIR = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdlib.h>
#include <unistd.h>
int MPI_Sendrecv(const void *send, int count, MPI_Datatype type, int to, int tag, void *receive, int receive_count,
                 MPI_Datatype receive_type, int from, int receive_tag, MPI_Comm comm, MPI_Status *status) {
  static int (*real)(const void *, int, MPI_Datatype, int, int, void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Status *);
  static int rank = -1;
  if (!real) {
    *(void **)&real = dlsym(RTLD_NEXT, "MPI_Sendrecv");
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  }
  int result = real(send, count, type, to, tag, receive, receive_count, receive_type, from, receive_tag, comm, status);
  if (rank == 2) usleep(30000);
  return result;
}
"""


@pytest.mark.quick
def test_skew_shows_who_is_late(bench, build, mpi):
    loop(bench, build, mpi, 4, "--bad-rank", 1, "--constant-us", 30000, "--steps", 100)
    done = bench.ddbg("skew", "latest", "--json")
    assert done.returncode == 0, done.stderr
    skew = json.loads(done.stdout)
    assert skew["schema"] == "ddbg.skew/1"
    assert skew["skew"]["count"] == 99, skew
    assert skew["skew"]["p50_ns"] >= 20_000_000, skew
    assert skew["skew"]["p50_ns"] <= skew["skew"]["p95_ns"] <= skew["skew"]["p99_ns"] <= skew["skew"]["max_ns"]
    place = skew["calls"][0]
    assert (place["call"], place["comm"], place["mostly_last_rank"]) == ("MPI_Allreduce", "MPI_COMM_WORLD", 1), place
    assert "timed_loop.c" in place["call_site"]
    ranks = {rank["rank"]: rank for rank in skew["ranks"]}
    assert sorted(ranks) == [0, 1, 2, 3]
    assert ranks[1]["own_ns"] > 5 * max(ranks[rank]["own_ns"] for rank in (0, 2, 3)), ranks
    assert ranks[1]["own_ns"] > 2 * ranks[1]["inherited_ns"], ranks


@pytest.mark.quick
def test_skew_against_a_service_level(bench, build, mpi):
    loop(bench, build, mpi, 2, "--bad-rank", 1, "--constant-us", 30000, "--steps", 50)
    assert bench.ddbg("skew", "latest", "--slo", "2ms").returncode == 1
    met = bench.ddbg("skew", "latest", "--slo", "60s", "--json")
    assert (met.returncode, json.loads(met.stdout)["slo_met"]) == (0, True)
    assert bench.ddbg("skew", "latest", "--slo", "fast").returncode == 2
    assert bench.ddbg("skew", "latest", "--rank", "1").returncode == 2
    none = bench.ddbg("skew", "latest", "--comm", "nowhere", "--json")
    assert (none.returncode, json.loads(none.stdout)["skew"]["count"]) == (3, 0)


def test_skew_of_messages(bench, build, mpi):
    loop(bench, build, mpi, 4, "--ring", "--bad-rank", 1, "--constant-us", 30000, "--steps", 100)
    skew = json.loads(bench.ddbg("skew", "latest", "--json").stdout)
    worst = skew["late_senders"][0]
    assert (worst["sender"], worst["receiver"]) == (1, 2), skew["late_senders"]
    assert worst["messages"] == 100 and worst["late"] >= 90, worst
    ranks = {rank["rank"]: rank for rank in skew["ranks"]}
    assert ranks[2]["inherited_ns"] > ranks[2]["own_ns"], ranks
