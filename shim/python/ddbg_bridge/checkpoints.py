"""torch.save, torch.load and torch.distributed.checkpoint: phase "checkpoint", event "checkpoint_write" or "checkpoint_read" with the path, the
file's size (of a distributed checkpoint what this rank wrote or read; -1: not to be had) and how long it took. What is written to or read
from memory is no checkpoint, nor is a dataset's file that is read while a batch is made."""
import os
import time
from threading import get_ident

from . import loader, marks
from .hooks import Hook
from .imports import watch_for
from .process import may_speak


class _State:
    inside = False
    thread = 0  # that is inside
    moved = -1  # bytes of a distributed checkpoint


def _path_of(place):
    """Of a path, or of an open file; None: memory."""
    if isinstance(place, (str, os.PathLike)):
        return os.fspath(place)
    name = getattr(place, "name", None)
    return name if isinstance(name, str) else None


def _size_of(path):
    try:
        return os.path.getsize(path) if os.path.isfile(path) else -1
    except (OSError, ValueError):
        return -1


def _around(hook, kind, find_path, size_of=_size_of):
    """A maker of functions that tell of `kind`; find_path(args, kwargs) gives the path, size_of(path) the bytes."""
    begin, end = marks.begin("checkpoint"), marks.end("checkpoint")

    def make(original):
        def function(*args, **kwargs):
            if _State.inside or loader.loading or not hook.on or not may_speak():
                return original(*args, **kwargs)
            try:
                path = find_path(args, kwargs)
            except Exception:
                hook.failed()
                path = None
            if path is None:
                return original(*args, **kwargs)
            _State.inside, _State.thread, _State.moved = True, get_ident(), -1
            begin()
            start, error = time.monotonic_ns(), ""
            try:
                return original(*args, **kwargs)
            except BaseException as raised:
                error = " (%s)" % type(raised).__name__
                raise
            finally:
                _State.inside = False
                try:
                    marks.event(kind, path + error, size_of(path), time.monotonic_ns() - start)
                except Exception:
                    hook.failed()
                end()
        return function
    return make


def _argument(args, kwargs, place, name):
    return args[place] if len(args) > place else kwargs.get(name)


def install(torch):
    hook = Hook("checkpoints")
    save = _around(hook, "checkpoint_write", lambda args, kwargs: _path_of(_argument(args, kwargs, 1, "f")))
    load = _around(hook, "checkpoint_read", lambda args, kwargs: _path_of(_argument(args, kwargs, 0, "f")))
    hook.replace_function(torch, "save", save)
    hook.replace_function(torch, "load", load)
    watch_for("torch.distributed.checkpoint", _distributed)


def _distributed(checkpoint):
    """The path is the directory's."""
    hook = Hook("distributed checkpoints")

    def place(args, kwargs):
        where = kwargs.get("checkpoint_id")
        for candidate in [where, kwargs.get("storage_writer"), kwargs.get("storage_reader"), *args[1:]]:
            path = _path_of(candidate) or _path_of(getattr(candidate, "path", None))
            if path:
                return path
        return "(not a file)"

    for kind, names in (("checkpoint_write", ("save", "save_state_dict", "async_save")), ("checkpoint_read", ("load", "load_state_dict"))):
        for name in names:
            if callable(getattr(checkpoint, name, None)):
                hook.replace_function(checkpoint, name, _around(hook, kind, place, lambda path: _State.moved))
    _count(hook, getattr(checkpoint, "FileSystemWriter", None), "write_data", _bytes_written)
    _count(hook, getattr(checkpoint, "FileSystemReader", None), "read_data", _bytes_read)


def _bytes_written(writer, plan, future):
    return sum(result.size_in_bytes for result in future.value()) if future.done() else 0


def _bytes_read(reader, plan, future):
    return sum(reader.storage_data[item.storage_index].length for item in plan.items)


def _count(hook, cls, name, bytes_of):
    """Adds up what `name` of the class moves while its thread is in a checkpoint."""
    owner = next((base for base in getattr(cls, "__mro__", ()) if name in base.__dict__), None)
    if owner is None:
        return

    def make(original):
        def function(self, plan, *args, **kwargs):
            future = original(self, plan, *args, **kwargs)
            if hook.on and _State.inside and _State.thread == get_ident():
                try:
                    _State.moved = max(_State.moved, 0) + bytes_of(self, plan, future)
                except Exception:
                    hook.failed()
            return future
        return function

    hook.replace(owner, name, make)
