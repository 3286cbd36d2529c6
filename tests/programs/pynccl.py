"""A ctypes client of NCCL, as vLLM and others have: pynccl.py RANKS. Each rank is a forked process; NCCL is loaded by path or
name, functions are found by dlsym, and ncclUniqueId goes by value through libffi."""
import ctypes
import os
import sys


class UniqueId(ctypes.Structure):
    _fields_ = [("internal", ctypes.c_byte * 128)]


def check(result):
    if result:
        raise RuntimeError("NCCL gave %d" % result)


def work(rank, ranks, unique_id):
    cudart, nccl = ctypes.CDLL("libcudart.so.12"), ctypes.CDLL("libnccl.so.2")
    check(cudart.cudaSetDevice(rank))
    data, stream, comm = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    check(cudart.cudaMalloc(ctypes.byref(data), ctypes.c_size_t(4096)))
    check(cudart.cudaStreamCreate(ctypes.byref(stream)))
    numbers = (ctypes.c_float * 4)(*(rank + i for i in range(4)))
    check(cudart.cudaMemcpy(data, numbers, ctypes.c_size_t(16), 1))
    check(nccl.ncclCommInitRank(ctypes.byref(comm), ranks, unique_id, rank))
    check(nccl.ncclAllReduce(data, data, ctypes.c_size_t(4), 7, 0, comm, stream))
    check(cudart.cudaStreamSynchronize(stream))
    check(cudart.cudaMemcpy(numbers, data, ctypes.c_size_t(16), 2))
    check(nccl.ncclCommDestroy(comm))
    expected = [sum(r + i for r in range(ranks)) for i in range(4)]
    print("rank", rank, list(numbers) == expected, flush=True)


def main():
    ranks = int(sys.argv[1])
    pipes = [os.pipe() for _ in range(ranks)]
    for rank in range(ranks):
        if os.fork() == 0:
            os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(ranks))
            unique_id = UniqueId()
            if rank == 0:
                check(ctypes.CDLL("libnccl.so.2").ncclGetUniqueId(ctypes.byref(unique_id)))
                for other in range(1, ranks):
                    os.write(pipes[other][1], bytes(unique_id))
            else:
                unique_id = UniqueId.from_buffer_copy(os.read(pipes[rank][0], 128))
            work(rank, ranks, unique_id)
            sys.exit(0)
    codes = [os.waitstatus_to_exitcode(os.wait()[1]) for _ in range(ranks)]
    sys.exit(any(codes))


main()
