"""Makes MPI calls from many Python places and prints the path each was made by, outermost first: one line a call.
Through ctypes, so that any interpreter can run it. Arguments: the MPI library, and what to do."""
import contextlib
import ctypes
import gc
import sys
import threading

library = ctypes.CDLL(sys.argv[1], ctypes.RTLD_GLOBAL)
mpi = ctypes.CDLL(None)  # the recorder's wrappers come first there
MPICH_WORLD = 0x44000000
MPI_THREAD_MULTIPLE = 3


def world():
    with contextlib.suppress(ValueError):
        return ctypes.c_void_p(ctypes.addressof(ctypes.c_char.in_dll(library, "ompi_mpi_comm_world")))
    return ctypes.c_int(MPICH_WORLD)


COMM = world()


def barrier(frame):
    path = []
    while frame:
        path.append("%s:%d" % (frame.f_code.co_name, frame.f_lineno))
        frame = frame.f_back
    print(" ".join(reversed(path)), flush=True)
    return COMM


def direct():
    for _ in range(3):
        mpi.MPI_Barrier(barrier(sys._getframe()))
    mpi.MPI_Barrier(barrier(sys._getframe()))


class Ünïcode:
    def method(self, depth):
        if depth:
            return self.method(depth - 1)
        return sorted([1], key=lambda _: mpi.MPI_Barrier(barrier(sys._getframe())))

    def generator(self):
        for _ in range(2):
            yield mpi.MPI_Barrier(barrier(sys._getframe()))


def nested():
    for _ in range(3):
        for depth in range(4):
            Ünïcode().method(depth)
    list(Ünïcode().generator())
    with contextlib.ExitStack() as stack:
        stack.callback(lambda: mpi.MPI_Barrier(barrier(sys._getframe())))
    try:
        raise ValueError
    except ValueError:
        mpi.MPI_Barrier(barrier(sys._getframe()))


def made_anew():
    """Functions that are compiled, called and freed: the next one's code often lies where the last one's did."""
    places, again = set(), 0
    for i in range(60):
        scope = {"mpi": mpi, "barrier": barrier, "sys": sys}
        source = "\n" * (i % 7) + "def made_%d():\n  for _ in range(3):\n    mpi.MPI_Barrier(barrier(sys._getframe()))" % (i % 5)
        exec(compile(source, "made.py", "exec"), scope)
        again += id(scope["made_%d" % (i % 5)].__code__) in places
        places.add(id(scope["made_%d" % (i % 5)].__code__))
        scope["made_%d" % (i % 5)]()
        del scope
        gc.collect()
    print("%d of 60 codes lay where another had lain" % again, file=sys.stderr)


def deep(n):
    return deep(n - 1) if n else mpi.MPI_Barrier(barrier(sys._getframe()))


def in_thread():
    thread = threading.Thread(target=direct)
    thread.start()
    thread.join()


mpi.MPI_Init_thread(None, None, MPI_THREAD_MULTIPLE, ctypes.byref(ctypes.c_int()))
for step in [direct, nested, made_anew, lambda: deep(20), lambda: [deep(n) for n in (90, 90, 90)], in_thread, direct]:
    step()
mpi.MPI_Finalize()
