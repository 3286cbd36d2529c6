"""One slow line between hosts: the ranks at its ends are named, by messages alone."""
import pytest

from namespace_hosts import NamespaceHosts, need_namespaces
from verdicts import assert_fault, shown

DELAY_MS = 25


@pytest.fixture
def four_hosts(bench, as_root):
    need_namespaces()
    hosts = NamespaceHosts(bench, 4)
    yield hosts
    hosts.close()


def verdict_on_running_job(bench, hosts, mpi, program):
    """MPICH over UCX's TCP does not come out of MPI_Finalize where one line is slower than others, with and without ddbg."""
    hosts.start_collectors()
    job = hosts.mpirun(mpi, 1, [program, "--rounds", 100_000, "--work-us", 2000])
    verdict = bench.diagnose_until("slow_link", deadline_s=120)
    job.interrupt()
    hosts.end_ranks()
    return verdict


def assert_slow_link(verdict, ranks):
    assert_fault(verdict, "slow_link", "timing_divergence")
    assert verdict["culprit_ranks"] == ranks, shown(verdict)


def test_a_slow_line_between_two_hosts(bench, build, mpi, four_hosts):
    four_hosts.delay(1, 3, DELAY_MS)
    assert_slow_link(verdict_on_running_job(bench, four_hosts, mpi, build(mpi, "all_pairs.c")), [0, 2])


def test_all_lines_of_one_host_are_slow(bench, build, mpi, four_hosts):
    """Nothing but these ties that host's clock to the others'."""
    for other in (1, 2, 3):
        four_hosts.delay(4, other, DELAY_MS)
    assert_slow_link(verdict_on_running_job(bench, four_hosts, mpi, build(mpi, "all_pairs.c")), [3])


def test_lines_that_are_all_fast(bench, build, mpi, four_hosts):
    four_hosts.start_collectors()
    job = four_hosts.mpirun(mpi, 1, [build(mpi, "all_pairs.c"), "--rounds", 400, "--work-us", 2000])
    assert job.wait(150) == 0, job.stderr
    bench.stop_collectors()
    verdict = bench.diagnose()
    # A busy machine makes ranks late, of which a verdict may speak.
    assert verdict["verdict"] == "healthy" or verdict["class"] == "timing_divergence", shown(verdict)
    assert verdict["kind"] != "slow_link", shown(verdict)
