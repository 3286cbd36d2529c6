"""The driver level, DDBG_CUDA_DRIVER=1: calls of libcuda by whatever way a program has come by them."""
import os
import shutil
import subprocess

import pytest

from cuda_programs import FAKES, Trace, compare_with_table, compile_program, need_fakes, run
from launchers import PROGRAMS

NESTED = 32  # kFlagNested
NVCC = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cuda_driver_table")
    library = compile_program(folder / "libcuda.so.1", "cuda_table_library.cc", "-DDRIVER", "-shared", "-fPIC",
                              "-Wl,-Bsymbolic", "-Wl,-soname,libcuda.so.1")
    compile_program(folder / "cuda_table", "cuda_table.cc", "-DDRIVER", library)
    return folder


@pytest.mark.parametrize("way", ["linked", "looked-up"])
def test_every_function_once(bench, table, way):
    printed = run(bench, [table / "cuda_table", way], table, DDBG_CUDA_DRIVER=1)
    trace = Trace(bench)
    called = compare_with_table(trace, printed)
    assert len(called) > 20 and not any(call["flags"] & NESTED for call in trace.calls)
    assert trace.levels["CUDA driver"] and trace.libraries["CUDA driver"] == "13.0"


def test_only_functions_that_are_known_are_wrapped(bench, table):
    """A function of a later CUDA is left alone, unless it is still the same one."""
    printed = run(bench, [table / "cuda_table", "looked-up"], table, DDBG_CUDA_DRIVER=1)
    where = {words[0]: words[2] for words in printed if words[1] == "in"}
    assert where == {"later-and-other": "libcuda.so.1", "later-and-same": "libddbg.so", "earlier": "?", "unknown": "?",
                     "per-thread-too-early": "libcuda.so.1", "per-thread": "libddbg.so"}


@pytest.mark.parametrize("way", ["linked", "looked-up"])
def test_off_passes_everything_on(bench, table, way):
    printed = run(bench, [table / "cuda_table", way], table)
    assert all(words[1] == words[2] for words in printed if len(words) == 3 and words[1].isdigit())
    assert "libddbg.so" not in {words[-1] for words in printed}
    assert not bench.runs.exists(), "with the switch off there is nothing to record"


@pytest.fixture(scope="module")
def layers(table, tmp_path_factory):
    """A program whose runtime and NCCL launch by the driver, and which does so itself."""
    folder = tmp_path_factory.mktemp("cuda_layers")
    shutil.copy(table / "libcuda.so.1", folder)
    libraries = [compile_program(folder / name, "cuda_layers.cc", define, "-shared", "-fPIC", "-Wl,-soname," + name)
                 for name, define in (("libcudart.so.13", "-DRUNTIME"), ("libnccl.so.2", "-DNCCL"))]
    compile_program(folder / "layers", "cuda_layers.cc", *libraries)
    return folder


def test_a_launch_is_recorded_once_whoever_makes_it(bench, layers):
    run(bench, [layers / "layers"], layers, DDBG_CUDA_DRIVER=1)
    trace = Trace(bench)
    collective, = trace.of("ncclAllReduce")
    nested, direct = trace.of("cuLaunchKernel")
    assert len(trace.calls) == 4, "the runtime's own launch is the runtime's call"
    assert trace.of("cudaLaunchKernel")[0]["count"] == 8
    assert nested["flags"] & NESTED and not direct["flags"] & NESTED
    assert collective["start"] <= nested["start"]
    assert nested["start"] + nested["duration"] <= collective["start"] + collective["duration"]
    assert nested["tag"] == collective["tag"] and (nested["count"], direct["count"]) == (6, 4)


def test_without_the_switch_nothing_is_nested(bench, layers):
    run(bench, [layers / "layers"], layers)
    assert [call["call"] for call in Trace(bench).calls] == ["cudaLaunchKernel", "ncclAllReduce"]


@pytest.fixture(scope="module")
def nvcc():
    if not os.path.exists(NVCC):
        pytest.skip("nvcc is not installed")
    return NVCC


def compile_cuda(nvcc, output, *extra):
    done = subprocess.run([nvcc, "-arch=sm_90", *extra, PROGRAMS / "cuda_launch.cu", "-o", output], capture_output=True,
                          text=True)
    assert done.returncode == 0, done.stderr
    return output


@pytest.mark.parametrize("streams", ["legacy", "per-thread"])
def test_nvcc_with_a_shared_runtime(bench, nvcc, streams):
    """<<<>>> of CUDA 13 launches by __cudaLaunchKernel; one build in two by its _ptsz name."""
    need_fakes()
    program = compile_cuda(nvcc, bench.folder / "program", "-cudart", "shared", "-default-stream", streams)
    printed = run(bench, [program], FAKES)
    assert printed == [["malloc", "0"], ["launched", "0"]]
    trace = Trace(bench)
    assert [call["call"] for call in trace.calls] == [
        "cudaMalloc", "cudaStreamCreateWithFlags", "__cudaLaunchKernel", "__cudaLaunchKernel", "cudaStreamSynchronize",
        "cudaFree"]
    launches = trace.of("__cudaLaunchKernel")
    assert {trace.kernels[call["dtype"]] for call in launches} == {"_Z9scale_allPff"}
    assert {(call["count"], call["peer"], trace.kind(call)) for call in launches} == {(2, 128, "created")}


@pytest.mark.parametrize("on", [1, 0])
def test_nvcc_with_a_static_runtime(bench, nvcc, on):
    """It finds the driver by dlsym and cuGetProcAddress_v2: with the level on through ours, else directly."""
    program = compile_cuda(nvcc, bench.folder / "program")
    subprocess.run(["gcc", "-shared", "-fPIC", "-Wall", PROGRAMS / "cuda_lookups.c", "-o", bench.folder / "libcuda.so.1",
                    "-Wl,-soname,libcuda.so.1", "-ldl"], check=True)
    printed = run(bench, [program], bench.folder, DDBG_CUDA_DRIVER=on)
    assert printed[0] == ["look-up", "from", "libddbg.so" if on else "program"]
    assert printed[1:] and printed[-1][0] == "malloc" and printed[-1][1] != "0", "this driver can do nothing"
