"""Calls of the CUDA runtime: each is recorded once, with what it was about."""
import subprocess

import pytest

from cuda_programs import FAKES, PER_THREAD, Trace, compare_with_table, compile_program, need_fakes, run

CAPTURING, NOTHING_DONE = 8, 16  # RecordFlag
NOT_READY = 600


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """The folder of a runtime that only counts, and a client that calls all its functions."""
    folder = tmp_path_factory.mktemp("cuda_table")
    (folder / "map").write_text("libcudart.so.13 { global: *; };\n")
    library = compile_program(folder / "libcudart.so.13", "cuda_table_library.cc", "-shared", "-fPIC", "-Wl,-Bsymbolic",
                              "-Wl,-soname,libcudart.so.13", "-Wl,--version-script=%s" % (folder / "map"))
    compile_program(folder / "cuda_table", "cuda_table.cc", library)
    return folder


def test_every_function_once(bench, table):
    """Plain and per-thread names; imports are versioned, as those of real programs."""
    printed = run(bench, [table / "cuda_table"], table)
    called = compare_with_table(Trace(bench), printed)
    assert len(called) > 70 and set(called.values()) == {5, 10}


def test_results_are_the_librarys(bench, table):
    run(bench, [table / "cuda_table"], table, FAIL_cudaMalloc=2, FAIL_cudaStreamQuery_ptsz=NOT_READY)
    trace = Trace(bench)
    assert {call["result"] for call in trace.of("cudaMalloc")} == {2}
    assert {call["result"] for call in trace.calls if call["call"] not in ("cudaMalloc", "cudaStreamQuery")} == {0}


def test_off_passes_everything_on(bench, table):
    printed = run(bench, [table / "cuda_table"], table, DDBG=0)
    assert all(words[1] == words[2] for words in printed)
    assert not bench.runs.exists()


@pytest.fixture(scope="module")
def life(tmp_path_factory):
    need_fakes()
    folder = tmp_path_factory.mktemp("cuda_life")
    return compile_program(folder / "cuda_life", "cuda_life.cc", FAKES + "/libcudart.so.13")


@pytest.fixture
def traced_life(bench, life):
    said = dict(run(bench, [life], FAKES, NULLGPU_DEVICES=2, NULLGPU_KERNEL_US=2000))
    return Trace(bench), {key: int(value) for key, value in said.items()}


def test_the_program_sees_no_difference(bench, life):
    """Results, and what cudaGetLastError says after them."""
    expected = subprocess.run([life], env=bench.environment(LD_LIBRARY_PATH=FAKES, NULLGPU_DEVICES=2), check=True,
                              capture_output=True, text=True).stdout
    bare = dict(line.split() for line in expected.splitlines())
    said = dict(run(bench, [life], FAKES, NULLGPU_DEVICES=2))
    results = ("launch-failed", "malloc", "last-error", "last-error-again")
    assert [said[key] for key in results] == [bare[key] for key in results]
    assert said["malloc"] == said["last-error"] == "2" and said["last-error-again"] == "0"


def test_kernels_have_names_and_sizes(traced_life):
    trace, _ = traced_life
    launches = [call for call in trace.calls if "Launch" in call["call"] and call["call"] != "cudaGraphLaunch"]
    ok = [call for call in launches if call["result"] == 0]
    names = [trace.kernels[call["dtype"]] for call in ok]
    assert names[:5] == ["_Z3addPfS_i", "_Z3addPfS_i", "_Z5scalePff", "_Z3addPfS_i", "_Z5scalePff"]
    assert len(trace.kernels) == 2, "a kernel is defined once, by whatever handle it is launched"
    assert {(call["count"], call["peer"]) for call in launches} == {(12, 128)}


def test_streams_are_told_apart(traced_life):
    trace, said = traced_life
    tid = min(call["tid"] for call in trace.calls if call["call"] == "cudaSetDevice")
    forms = ("cudaLaunchKernel", "__cudaLaunchKernel", "cudaLaunchKernelExC")
    kernels = [call for call in trace.calls if call["call"] in forms]
    first = kernels[:5]
    assert [trace.kind(call) for call in first] == ["legacy", "legacy", "per-thread", "per-thread", "legacy"]
    assert first[2]["tag"] == first[3]["tag"], "0 by a _ptsz name is the thread's own stream, as 2 is"
    assert first[2]["flags"] & PER_THREAD and not first[3]["flags"] & PER_THREAD
    created = [trace.streams[call["tag"]] for call in trace.of("cudaStreamCreateWithPriority")]
    assert [stream["priority"] for stream in created[:2]] == [-1, -2] and created[0]["id"] != created[1]["id"]
    assert [int(stream["handle"]) for stream in created[:2]] == [said["stream-0"], said["stream-1"]]
    assert {trace.streams[call["tag"]].get("device") for call in trace.calls if call["tid"] == tid and call["tag"]} == {1}
    other, = (call for call in trace.calls if call["tid"] != tid)
    assert trace.streams[other["tag"]].get("device", 0) == 0, "a thread's device is 0 until it sets one"
    assert trace.kind(other) == "per-thread" and other["tag"] != first[2]["tag"]
    assert trace.streams[other["tag"]]["tid"] == other["tid"]
    assert [device.get("ordinal", 0) for device in trace.devices] == [1, 0]
    assert all(device["busId"] for device in trace.devices)


def test_failures_are_recorded(traced_life):
    trace, _ = traced_life
    failed = trace.of("cudaMalloc")[0]
    assert (failed["result"], failed["count"], failed["peer"], failed["aux"]) == (2, 1 << 60, 1, 0)
    launch, = (call for call in trace.of("cudaLaunchKernel") if call["result"])
    assert launch["result"] == 400 and trace.kernels[launch["dtype"]] == "_Z3addPfS_i"


def test_polls_are_rows(traced_life):
    trace, said = traced_life
    for name, polls in (("cudaStreamQuery", said["stream-polls"]), ("cudaEventQuery", said["event-polls"])):
        *waiting, ready = trace.of(name)
        assert polls > 0 and ready["result"] == 0 and ready["count"] == polls
        assert [call["count"] for call in waiting] == [1 << i for i in range(polls.bit_length())]
        assert all(call["result"] == NOT_READY and call["flags"] & NOTHING_DONE for call in waiting)
        assert len({call["start"] for call in waiting}) == 1
    assert trace.of("cudaEventSynchronize")[0]["aux"] == said["event"]


def test_capture(traced_life):
    trace, said = traced_life
    begin, = trace.of("cudaStreamBeginCapture")
    end, = trace.of("cudaStreamEndCapture")
    within = [call for call in trace.calls if begin["start"] < call["start"] < end["start"]]
    assert [call["call"] for call in within] == ["cudaLaunchKernel", "cudaMemcpyAsync"]
    flagged = [call for call in trace.calls if call["flags"] & CAPTURING]
    assert flagged == within
    assert begin["op"] == 1 and end["aux"] == said["graph"]
    created, = trace.of("cudaGraphInstantiate")
    assert created["aux"] == said["exec"] and created["dtype"] == said["graph"] & 0xffffffff
    assert trace.of("cudaGraphLaunch")[0]["aux"] == said["exec"]
    assert [trace.of(name)[0]["aux"] for name in ("cudaGraphExecDestroy", "cudaGraphDestroy")] == [said["exec"], said["graph"]]


def test_memory_and_copies(traced_life):
    trace, said = traced_life
    copy, = trace.of("cudaMemcpyAsync")
    back, = trace.of("cudaMemcpy")
    assert (copy["count"], copy["op"], back["count"], back["op"]) == (64, 2, 64, 3)
    assert trace.kind(back) == "legacy"
    assert trace.of("cudaMalloc")[1]["aux"] == trace.of("cudaFree")[0]["aux"] == said["memory"]


def test_what_is_seen_is_told(traced_life):
    trace, _ = traced_life
    assert trace.levels == {"CUDA runtime": True, "CUDA driver": False, "kernel timing": False, "GPU completion": False}
    assert trace.libraries["CUDA runtime"] == "13.0"


def completions(trace):
    return {call["aux"]: call for call in trace.calls if call["call"] == "2"}


@pytest.mark.alone
@pytest.mark.parametrize("which, timed", [("1/1", None), ("scale", "_Z5scalePff"), ("^nothing$", "")])
def test_kernels_are_timed(bench, life, which, timed):
    """On the device, by the host's clock; never in a capture, and by name only once the name is known."""
    run(bench, [life], FAKES, NULLGPU_DEVICES=2, NULLGPU_KERNEL_US=3000, DDBG_KERNEL_TIMING=which, LINGER_MS=500)
    trace = Trace(bench)
    ended = completions(trace)
    launches = {call["aux"]: call for call in trace.calls if "Launch" in call["call"] and call["aux"]
                and call["call"] != "cudaGraphLaunch"}
    assert set(ended) == set(launches) and trace.levels["kernel timing"]
    assert not any(call["flags"] & CAPTURING or call["result"] for call in launches.values())
    if timed is not None:
        assert {trace.kernels[call["dtype"]] for call in launches.values()} == ({timed} if timed else set())
    for operation, end in ended.items():
        launch = launches[operation]
        slack = end["peer"] + 1000000  # the simulated device's own
        assert launch["start"] - slack <= end["start"] < launch["start"] + 2e9
        assert 2.5e6 < end["duration"] < 500e6
    assert (len(ended) > 0) == (timed != "")


@pytest.mark.parametrize("on", [1, 0])
def test_gpu_completion_of_nccl(bench, on):
    """A record for each call by itself, and for the last of a group on each stream; none in a capture."""
    need_fakes()
    program = compile_program(bench.folder / "nccl", "nccl_completion.cc", FAKES + "/libnccl.so.2", FAKES + "/libcudart.so.12",
                              "-Wl,-rpath," + FAKES)
    run(bench, [program], FAKES, DDBG_GPU_COMPLETION=on)
    trace = Trace(bench)
    alone, first, _, last, captured = trace.of("ncclAllReduce")
    assert captured["flags"] & CAPTURING
    ended = completions(trace)
    assert set(ended) == ({alone["aux"], first["aux"], last["aux"]} if on else set())
    for operation, end in ended.items():
        assert end["duration"] == 0 and end["start"] > alone["start"]
