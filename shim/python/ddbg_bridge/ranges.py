"""Ranges of torch.cuda.nvtx, which libddbg.so makes phases of (shim/marks/nvtx) where NVTX finds it. NVTX looks for a tool at its first call only,
in a variable: that is set for one call here, so that no child has it. A profiler's place is left alone."""
import os

_VARIABLE = "NVTX_INJECTION64_PATH"
_OF_PROFILERS = (_VARIABLE, "CUDA_INJECTION64_PATH")
_LIBRARY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../libddbg.so")


def install(torch):
    nvtx = getattr(torch._C, "_nvtx", None)  # of builds with CUDA
    if nvtx is None or any(name in os.environ for name in _OF_PROFILERS) or not os.path.exists(_LIBRARY):
        return
    os.putenv(_VARIABLE, os.path.realpath(_LIBRARY))
    try:
        nvtx.markA("")
    finally:
        os.unsetenv(_VARIABLE)
