"""Public failure reports, re-told with unmodified PyTorch over gloo (tests/programs/torch_reports.py), each with a healthy twin."""
import pytest

from harness import line_of, wait_until
from namespace_hosts import NamespaceHosts, need_namespaces
from verdicts import assert_fault, assert_healthy, shown

PROGRAM = "torch_reports.py"


class Reports:
    """Jobs of one report in one Debian directory."""

    def __init__(self, bench, ranks):
        self.bench = bench
        self.ranks = ranks
        self.jobs = []

    def start(self, ranks, *words, **more):
        self.jobs = self.ranks.start(ranks, PROGRAM, *words, **more)

    def start_by_store(self, ranks, *words):
        self.start(ranks, *words, "store=%s" % (self.bench.folder / "store"))

    def verdict_when(self, kind, culprits=1, lines=()):
        """Of the running job, once so many are named and these lines; then it is ended. While only two of three are there it is
        one against one."""
        def holds(verdict):
            return len(verdict["culprit_ranks"]) == culprits and all(line(mark) in verdict["summary"] for mark in lines)
        verdict = self.bench.diagnose_until(kind, holds=holds, deadline_s=120)
        self.ranks.stop(self.jobs)
        return verdict

    def verdict_after_end(self, code=0):
        codes = [job.wait(120) for job in self.jobs]
        assert code is None or codes == [code] * len(codes), [job.stderr for job in self.jobs]
        self.ranks.close()
        return self.bench.diagnose()

    def verdict_of(self, ranks, *words):
        """Of a job that ends well."""
        self.start_by_store(ranks, *words)
        return self.verdict_after_end()


@pytest.fixture(params=["bookworm", "sid"])
def both(request, bench, torch_ranks):
    return Reports(bench, torch_ranks(request.param))


@pytest.fixture
def bookworm(bench, torch_ranks):
    return Reports(bench, torch_ranks("bookworm"))


def text_of(verdict):
    return "\n".join([verdict["summary"], *verdict["evidence"]])


def line(mark):
    return "torch_reports.py:%d" % line_of(PROGRAM, mark)


# B05, pytorch#33148

def test_uneven_batches_are_told_in_steps_b05(bookworm):
    bookworm.start_by_store(3, "batches")
    verdict = bookworm.verdict_when("collective_mismatch")
    assert_fault(verdict, "collective_mismatch", "control_flow_divergence", rank=0, call="gloo::allreduce", expected="gloo::barrier")
    assert verdict["culprit_ranks"] == [0], shown(verdict)
    assert "Rank 0 is in step 6, its 7th; ranks 1, 2 ended after step 5, their 6th." in verdict["summary"], shown(verdict)


def test_even_batches_are_healthy_b05(bookworm):
    assert_healthy(bookworm.verdict_of(3, "batches", "healthy"))


# B16, LlamaFactory#2424

def test_work_longer_than_the_timeout_is_no_deadlock_b16(both):
    both.start_by_store(3, "preprocess", "work=7", "timeout=5")
    verdict = both.verdict_after_end(code=1)
    assert_fault(verdict, "stall", "timing_divergence", rank=0, seq=0, call="gloo::barrier", field="arrival")
    assert verdict["culprit_ranks"] == [0], shown(verdict)
    assert line("after preprocessing") in verdict["summary"] and "timeout of the process group, 5 s," in verdict["summary"], shown(verdict)
    assert "ranks 1, 2 gave up after 5 s, as init_process_group was told" in text_of(verdict), shown(verdict)
    assert "% of a CPU meanwhile" in text_of(verdict), shown(verdict)
    assert any("raise the timeout" in step for step in verdict["next_steps"]), shown(verdict)


def test_work_shorter_than_the_timeout_is_healthy_b16(bookworm):
    assert_healthy(bookworm.verdict_of(3, "preprocess", "work=7", "timeout=60"))


# B17, horovod#824

def test_storage_that_becomes_slow_is_a_loader_stall_b17(bookworm):
    verdict = bookworm.verdict_of(3, "storage")
    assert_fault(verdict, "loader_stall", "timing_divergence", rank=2, step=15)
    assert verdict["culprit_ranks"] == [2] and "pattern: onset" in verdict["evidence"], shown(verdict)


def test_storage_that_stays_fast_is_healthy_b17(bookworm):
    assert_healthy(bookworm.verdict_of(3, "storage", "healthy"))


# B28, horovod#173

def test_same_data_on_all_ranks_b28(both):
    verdict = both.verdict_of(3, "same-seed")
    assert_fault(verdict, "duplicate_data", "state_corruption", step=0, field="loss")
    assert verdict["culprit_ranks"] == [0, 1, 2] and verdict["confidence"] <= 0.7, shown(verdict)
    assert "16 of 16 steps" in verdict["summary"], shown(verdict)


@pytest.mark.parametrize("twin", ["healthy", "reduced", "constant", "alone"])
def test_equal_losses_that_are_normal_b28(bookworm, twin):
    """Samplers that know their rank; losses averaged before they are read; losses that never change; ranks apart."""
    verdict = bookworm.verdict_of(3, "same-seed", twin)
    assert_healthy(verdict)
    assert not any("same data" in caveat for caveat in verdict["caveats"]), shown(verdict)


def test_same_batches_that_no_loader_made_are_a_caveat_b28(bookworm):
    verdict = bookworm.verdict_of(3, "same-seed", "by-hand")
    assert_healthy(verdict)
    assert any("train on the same data" in caveat for caveat in verdict["caveats"]), shown(verdict)


def test_one_rank_has_the_data_for_itself_b28(bookworm):
    assert_healthy(bookworm.verdict_of(1, "same-seed"))


# B29, detectron2#1732

READS = {"missing": "rank 2 read no checkpoint", "fails": "rank 2 failed to read"}


@pytest.mark.parametrize("how", sorted(READS))
def test_a_rank_that_finds_no_checkpoint_has_stale_weights_b29(bookworm, how):
    path = bookworm.bench.folder / "weights.pt"
    verdict = bookworm.verdict_of(3, "checkpoint=%s" % path, "how=" + how)
    assert_fault(verdict, "stale_weights", "state_corruption", rank=2, step=0, field="weights")
    assert verdict["culprit_ranks"] == [2], shown(verdict)
    assert "ranks 0, 1 read %s" % path in text_of(verdict) and READS[how] in text_of(verdict), shown(verdict)
    if how == "fails":
        assert "%s.elsewhere (FileNotFoundError)" % path in text_of(verdict), shown(verdict)


def test_only_the_first_rank_reads_and_nobody_is_told_b29(both):
    verdict = both.verdict_of(3, "checkpoint=%s" % (both.bench.folder / "weights.pt"), "how=one")
    assert_fault(verdict, "stale_weights", "state_corruption", rank=1, step=0)
    assert verdict["culprit_ranks"] == [1, 2], shown(verdict)


@pytest.mark.parametrize("twin", [["healthy"], ["how=one", "twin=broadcast"]], ids=" ".join)
def test_all_have_the_weights_b29(bookworm, twin):
    """All ranks read the file; one reads it and DistributedDataParallel gives it to all."""
    assert_healthy(bookworm.verdict_of(3, "checkpoint=%s" % (bookworm.bench.folder / "weights.pt"), *twin))


# B36, pytorch#23074

MEET = dict(MASTER_ADDR="127.0.0.1", MASTER_PORT=29617)


def test_local_ranks_used_as_global_ranks_b36(both):
    both.start(4, "meet", of_rank=lambda rank: dict(RANK=rank % 2, LOCAL_RANK=rank % 2), **MEET)

    def both_claimed_twice():
        verdict = both.bench.diagnose_until("duplicate_rank")
        return verdict if verdict.get("culprit_ranks") == [0, 1] else None

    verdict = wait_until(both_claimed_twice, "all four have come")
    both.ranks.stop(both.jobs)
    assert_fault(verdict, "duplicate_rank", "infrastructure_discontinuity", call="init_process_group", field="rank")
    assert verdict["phase"] == "wont_start" and verdict["culprit_ranks"] == [0, 1], shown(verdict)
    assert "ranks 2, 3 by none: the world of 4" in verdict["summary"], shown(verdict)
    assert "the local rank was used as the global rank" in verdict["summary"], shown(verdict)
    claims = [each for each in verdict["evidence"] if each.startswith("pid ")]
    assert len({each.split()[1] for each in claims}) == 4, shown(verdict)
    assert all("local rank %d" % rank in each for each in claims for rank in (0, 1) if "joins as rank %d of 4" % rank in each), shown(verdict)


def test_ranks_of_their_own_meet_b36(bookworm):
    bookworm.start(4, "meet", **MEET)
    assert_healthy(bookworm.verdict_after_end())


# S01, KempnerForge#49

def test_a_file_that_one_rank_does_not_see_s01(bookworm):
    bookworm.start_by_store(3, "file-exists=%s" % (bookworm.bench.folder / "settings"))
    verdict = bookworm.verdict_when("collective_mismatch", lines=("settings", "all"))
    assert_fault(verdict, "collective_mismatch", "control_flow_divergence", rank=2, call="gloo::barrier", expected="gloo::broadcast")
    assert verdict["culprit_ranks"] == [2], shown(verdict)


def test_a_file_that_all_ranks_see_s01(bookworm):
    assert_healthy(bookworm.verdict_of(3, "file-exists=%s" % (bookworm.bench.folder / "settings"), "healthy"))


# S08, pytorch#54059

def test_evaluation_on_one_rank_through_the_wrapper_s08(bookworm):
    bookworm.start_by_store(3, "evaluate")
    verdict = bookworm.verdict_when("collective_mismatch")
    assert_fault(verdict, "collective_mismatch", "control_flow_divergence", rank=0, call="gloo::broadcast", expected="gloo::barrier")
    assert verdict["culprit_ranks"] == [0], shown(verdict)
    functions = [frame.get("function", "") for frame in verdict["first_bad_event"]["stack"]]
    assert any("DistributedDataParallel.forward" in name for name in functions), shown(verdict)
    assert line("evaluation") in text_of(verdict) and line("evaluated") in text_of(verdict), shown(verdict)


def test_evaluation_on_one_rank_beside_the_wrapper_s08(bookworm):
    assert_healthy(bookworm.verdict_of(3, "evaluate", "healthy"))


# S14, gloo#223

class Misled(NamespaceHosts):
    """Hosts some of which call themselves 127.0.1.1, as Debian's installer has it."""

    def __init__(self, bench, count, misled):
        self.misled = misled
        super().__init__(bench, count)

    def _start(self, host, hosts_file):
        own = self.folder / ("hosts-" + host.name)
        address = "127.0.1.1" if host.number in self.misled else host.address
        own.write_text(hosts_file.read_text().replace("%s %s\n" % (host.address, host.name), "%s %s\n" % (address, host.name)))
        super()._start(host, own)


@pytest.fixture
def two_hosts(bench, as_root):
    need_namespaces()
    made = []

    def make(*misled):
        made.append(Misled(bench, 2, misled))
        return made[-1]
    yield make
    for hosts in made:
        hosts.close()


def start_over(hosts, reports):
    reports.start(2, "meet", enter=lambda rank: hosts.enter(hosts.hosts[rank]), GLOO_SOCKET_IFNAME=None, MASTER_ADDR="10.77.0.1",
                  MASTER_PORT=29617)


def test_hosts_that_call_themselves_loopback_s14(bookworm, two_hosts):
    start_over(two_hosts(1, 2), bookworm)
    verdict = bookworm.verdict_when("init_error", culprits=2)
    assert_fault(verdict, "init_error", "infrastructure_discontinuity", field="address", actual="127.0.1.1")
    assert verdict["phase"] == "wont_start" and verdict["culprit_ranks"] == [0, 1], shown(verdict)
    assert "Connection refused" in verdict["summary"] and "[127.0.1.1]" in verdict["summary"], shown(verdict)


def test_hosts_with_an_address_meet_s14(bookworm, two_hosts):
    start_over(two_hosts(), bookworm)
    assert_healthy(bookworm.verdict_after_end())


# S22, horovod#1102

def test_a_child_that_outlives_the_job_s22(both):
    release = both.bench.folder / "release"
    both.start_by_store(2, "helper", "release=%s" % release)
    verdict = both.bench.diagnose_until("left_child")
    release.write_text("")
    assert_fault(verdict, "left_child", "infrastructure_discontinuity", rank=1)
    assert verdict["culprit_ranks"] == [1] and verdict["evidence"][0].startswith(verdict["first_bad_event"]["actual"]), shown(verdict)
    assert_healthy(both.verdict_after_end())  # it ended after all


def test_a_child_that_ends_before_s22(bookworm):
    assert_healthy(bookworm.verdict_of(2, "helper", "release=%s" % (bookworm.bench.folder / "release"), "healthy"))


# B20, pytorch#91535

def test_other_datatypes_on_two_ranks_b20(bookworm):
    """The program ends well, with absurd numbers."""
    verdict = bookworm.verdict_of(2, "dtype")
    assert_fault(verdict, "argument_mismatch", "state_corruption", call="gloo::broadcast", seq=0)
    assert verdict["culprit_ranks"] == [0, 1], shown(verdict)
    assert "6 × 4-byte" in verdict["summary"] and "3 × 8-byte" in verdict["summary"], shown(verdict)
    assert line("typed") in text_of(verdict), shown(verdict)


def test_one_datatype_on_all_ranks_b20(bookworm):
    assert_healthy(bookworm.verdict_of(2, "dtype", "healthy"))
