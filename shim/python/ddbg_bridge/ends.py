"""How a program goes wrong, and what stops it: event "exception" for one that nobody caught ("Type: message (file:line in function)";
number 1: it ends the main thread, 0: another thread), "gc" for a collection of over a millisecond (number: generation), and "child" for
a process that it forked and that lives when its interpreter ends (number: its pid): the interpreter may wait for it, and it keeps what
was open. Not of those that are ended with it: daemons, as a DataLoader's workers are, and multiprocessing's own."""
import atexit
import gc
import multiprocessing.process
import os
import sys
import threading
import time

from . import marks
from .hooks import Hook
from .process import may_speak, process

_LONG_NS = 1000000
_MOST_CHILDREN = 8
_watched = False
_OWN = os.path.dirname(os.path.abspath(__file__))
_LIBRARIES = ("/site-packages/", "/dist-packages/", "/lib/python3")


def _is_own(traceback):
    return traceback.tb_frame.f_code.co_filename.startswith(_OWN)


def _without_own(traceback):
    """The traceback as it would be without the bridge."""
    while traceback is not None and _is_own(traceback):
        traceback = traceback.tb_next
    at = traceback
    while at is not None:
        while at.tb_next is not None and _is_own(at.tb_next):
            at.tb_next = at.tb_next.tb_next
        at = at.tb_next
    return traceback


def _place(traceback):
    """The innermost line of the program's own, else the innermost one."""
    best = None
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if best is None or not any(part in code.co_filename for part in _LIBRARIES) or any(part in best for part in _LIBRARIES):
            best = "%s:%d in %s" % (code.co_filename, traceback.tb_lineno, code.co_name)
        traceback = traceback.tb_next
    return best or "?"


def _tell(kind, error, traceback, ends_main):
    message = str(error).strip().partition("\n")[0]
    place = " (%s)" % _place(traceback)
    room = 511 - len(place.encode("utf-8", "replace"))
    text = ("%s: %s" % (kind.__name__, message) if message else kind.__name__).encode("utf-8", "replace")[:room].decode("utf-8", "ignore")
    marks.event("exception", text + place, ends_main)


def _chained(error, seen):
    """Tracebacks of what it was raised from are printed with it."""
    if error is None or id(error) in seen:
        return
    seen.add(id(error))
    error.__traceback__ = _without_own(error.__traceback__)
    _chained(error.__cause__, seen)
    _chained(error.__context__, seen)


def watch_exceptions():
    global _watched
    if _watched:
        return
    _watched = True
    hook = Hook("exceptions")
    before, before_thread = sys.excepthook, threading.excepthook

    def excepthook(kind, error, traceback):
        try:
            traceback = _without_own(traceback)
            _chained(error, set())
            if may_speak() and not issubclass(kind, KeyboardInterrupt):
                _tell(kind, error, traceback, 1)
        except Exception:
            hook.failed()
        before(kind, error, traceback)

    def thread_excepthook(args):
        try:
            if args.exc_type is not SystemExit and process.active:
                _chained(args.exc_value, set())
                _tell(args.exc_type, args.exc_value, args.exc_traceback, 0)
        except Exception:
            hook.failed()
        before_thread(args)

    sys.excepthook = excepthook
    threading.excepthook = thread_excepthook


def _exceptions_of_spawned():
    """torch.multiprocessing catches what a process of spawn raises, sends it to the parent, and ends the process."""
    hook = Hook("spawned")

    def make(original):
        def _wrap(*args, **kwargs):
            try:
                return original(*args, **kwargs)
            except SystemExit as end:
                try:
                    error = end.__context__
                    if error is not None and hook.on and may_speak():
                        _tell(type(error), error, _without_own(error.__traceback__), 1)
                except Exception:
                    hook.failed()
                raise
        return _wrap

    hook.replace(sys.modules["torch.multiprocessing.spawn"], "_wrap", make)


def _collections():
    started = 0
    clock = time.monotonic_ns

    def collected(phase, info):
        nonlocal started
        if phase == "start":
            started = clock()
            return
        took = clock() - started
        if took > _LONG_NS and process.active:
            marks.event("gc", "", info["generation"], took)

    gc.callbacks.append(collected)


def _read(*path):
    with open(os.path.join("/proc", *map(str, path)), "rb") as file:
        return file.read()


def _children():
    """Pids of those that are no zombies."""
    own = str(os.getpid())
    for thread in os.listdir("/proc/self/task"):
        for pid in _read(own, "task", thread, "children").decode().split():
            if _read(pid, "stat").rpartition(b")")[2].split()[0] != b"Z":
                yield int(pid)


def _sockets(pid):
    """How many it holds: of a forked one mostly what was open at the fork."""
    folder, count = "/proc/%d/fd" % pid, 0
    for name in os.listdir(folder):
        try:
            count += os.readlink(os.path.join(folder, name)).startswith("socket:")
        except OSError:  # closed meanwhile
            pass
    return count


def _servants():
    """Pids of multiprocessing's own processes, which end with the program."""
    tracker = getattr(sys.modules.get("multiprocessing.resource_tracker"), "_resource_tracker", None)
    server = getattr(sys.modules.get("multiprocessing.forkserver"), "_forkserver", None)
    return {getattr(tracker, "_pid", None), getattr(server, "_forkserver_pid", None)}


def _left_children():
    def at_exit():
        if not process.active:
            return
        try:
            started = {child.pid: child.daemon for child in multiprocessing.process._children}
            servants = _servants()
            for pid in list(_children())[:_MOST_CHILDREN]:
                if started.get(pid) or pid in servants:
                    continue
                name = _read(pid, "comm").decode("utf-8", "replace").strip()
                waits = "the interpreter waits for it" if pid in started else "nobody waits for it"
                marks.event("child", "%s, %s, holds %d sockets" % (name, waits, _sockets(pid)), pid)
        except Exception:  # it has gone, or is not ours to look at
            pass

    # Before that of multiprocessing, which was registered earlier and waits for children.
    atexit.register(at_exit)


def install(torch):
    watch_exceptions()
    _exceptions_of_spawned()
    _collections()
    _left_children()
