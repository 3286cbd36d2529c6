"""gloo without PyTorch: every call once, with what the program itself says of it; and what goes wrong between its ranks."""
import subprocess

import pytest

from launchers import FLAGS, PROGRAMS
from verdicts import assert_fault, assert_healthy, shown

RANKS = 3


@pytest.fixture(scope="session")
def gloo_mix(program_folder):
    program = program_folder / "gloo_mix"
    if not program.exists():
        part = program.with_suffix(".part")
        subprocess.run(["g++", *FLAGS, "-I", PROGRAMS, "-o", part, PROGRAMS / "gloo_mix.cc", "-lgloo", "-lpthread"], check=True)
        part.rename(program)
    return program


class GlooJob:
    """Ranks as processes with what a launcher would tell them."""

    def __init__(self, bench, program, *arguments, ranks=RANKS, preload=True, left_out=()):
        store = bench.folder / "store"
        store.mkdir()
        self.logs = [bench.folder / ("log.%d" % rank) for rank in range(ranks)]
        self.jobs = []
        for rank in range(ranks):
            if rank in left_out:
                continue
            environment = dict(RANK=rank, WORLD_SIZE=ranks, LOCAL_RANK=rank, DDBG_RUN_ID="gloo-" + bench.token[:8])
            if preload:
                environment["LD_PRELOAD"] = bench.library
            self.jobs.append(bench.start([program, "--rank", rank, "--size", ranks, "--store", store, "--log", self.logs[rank],
                                          *arguments], **environment))

    def wait(self):
        return [job.wait(60) for job in self.jobs]

    def kill(self):
        for job in self.jobs:
            if job.running():
                job.popen.kill()
                job.popen.wait()


def returned(log):
    """(call, count, bytes of an element, root or peer) of each call, as the program wrote them down."""
    lines = [line.split() for line in log.read_text().splitlines()]
    return [("gloo::" + name, int(count), int(size), int(peer)) for name, count, size, peer in lines]


def test_every_call_once_with_its_arguments(bench, gloo_mix):
    job = GlooJob(bench, gloo_mix)
    assert job.wait() == [0] * RANKS, [each.stderr for each in job.jobs]
    bench.stop_collectors()
    assert bench.info()["loss_line"] == "nothing lost"
    events = bench.calls()
    for rank, log in enumerate(job.logs):
        mine = sorted((e for e in events if e["rank"] == rank), key=lambda e: e["t_ns"])
        assert [e["call"] for e in mine] == [call for call, *_ in returned(log)]
        for event, (call, count, size, peer) in zip(mine, returned(log)):
            if call == "gloo::connectFullMesh":
                assert (event["ranks"], event["own_rank"]) == (count, peer), event
                continue
            assert event["comm"] in ("world", "pair"), event
            if count:
                assert event["count"] == count and event["dtype"].startswith("%d-byte" % size), event
            if call in ("gloo::broadcast", "gloo::scatter", "gloo::gather", "gloo::reduce"):
                assert event["root"] == peer, event
            if call in ("gloo::send", "gloo::recv", "gloo::waitSend", "gloo::waitRecv"):
                assert event["peer"] == peer, event
    assert_healthy(bench.diagnose())


def test_numbers_and_identities_are_equal_on_all_ranks(bench, gloo_mix):
    job = GlooJob(bench, gloo_mix)
    assert job.wait() == [0] * RANKS
    bench.stop_collectors()
    paths = {}
    for event in sorted(bench.calls(), key=lambda e: e["t_ns"]):
        if event.get("seq") is not None:
            paths.setdefault(event["comm_uid"], {}).setdefault(event["rank"], []).append((event["seq"], event["call"]))
    assert sorted(len(ranks) for ranks in paths.values()) == [2, RANKS]
    for ranks in paths.values():
        first, *others = ranks.values()
        assert [seq for seq, _ in first] == list(range(len(first)))
        assert all(other == first for other in others)


FAULTS = {  # of rank 1: (kinds, call, field)
    "count": ("argument_mismatch", "gloo::allreduce", "count"),
    "op": ("argument_mismatch", "gloo::allreduce", "datatype"),
    "skip": (("collective_mismatch", "missing_collective", "callsite_mismatch"), "gloo::allreduce", None),
}


@pytest.mark.parametrize("fault", sorted(FAULTS))
def test_rank_that_differs_is_named(bench, gloo_mix, fault):
    kinds, call, field = FAULTS[fault]
    job = GlooJob(bench, gloo_mix, "--fault", fault, "--bad-rank", 1)
    verdict = bench.diagnose_until(kinds)
    job.kill()
    assert_fault(verdict, kinds, verdict["class"], rank=1, comm="world", call=call)
    if field:
        assert verdict["first_bad_event"]["field"] == field, shown(verdict)


def test_rank_that_never_comes(bench, gloo_mix):
    job = GlooJob(bench, gloo_mix, left_out=(2,))
    verdict = bench.diagnose_until("missing_rank")
    job.kill()
    assert_fault(verdict, "missing_rank", "infrastructure_discontinuity")
    assert verdict["culprit_ranks"] == [2], shown(verdict)


def test_same_output_without_us(bench, gloo_mix):
    logs = []
    job = GlooJob(bench, gloo_mix, preload=False)
    assert job.wait() == [0] * RANKS
    logs = [log.read_text() for log in job.logs]
    assert not bench.runs.exists() and all(logs)


def test_a_library_that_lacks_the_name_it_is_known_by(bench, tmp_path):
    """A PyTorch built without gloo has stores all the same: the program gets its own functions."""
    store = "_ZN4c10d11PrefixStoreC1ENSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEEN3c1013intrusive_ptrINS_5StoreENS7_6detail34" \
        "intrusive_target_default_null_typeIS9_EEEE"
    barrier = "_ZN4gloo7barrierERNS_14BarrierOptionsE"
    declared = "long %s(void*, void*, void*); long %s(void*);\n" % (store, barrier)
    (tmp_path / "library.c").write_text(declared + "long %s(void* a, void* b, void* c) { return 3; }\nlong %s(void* a) { return 4; }\n" % (
        store, barrier))
    (tmp_path / "program.c").write_text(declared + """int main(void) {
  struct { const char* text; unsigned long bytes; } prefix = {"group", 5};
  void *below = 0, *options[32] = {0};
  long made = %s(&below, &prefix, &below), done = %s(options), again = %s(options);
  return (int)(made * 100 + done * 10 + again) == 344 ? 0 : 1;
}
""" % (store, barrier, barrier))
    library, program = tmp_path / "liblike.so", tmp_path / "program"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, tmp_path / "library.c"], check=True)
    subprocess.run(["cc", "-o", program, tmp_path / "program.c", library, "-Wl,-rpath," + str(tmp_path)], check=True)
    for preload in ({}, {"LD_PRELOAD": bench.library}):
        job = bench.start([program], **preload)
        assert job.wait(30) == 0, job.stderr
