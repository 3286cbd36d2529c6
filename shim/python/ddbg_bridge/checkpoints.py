"""torch.save, torch.load and torch.distributed.checkpoint: phase "checkpoint", event "checkpoint_write" or "checkpoint_read" with the path, the
file's size (-1: no file, or not to be had) and how long it took. What is written to or read from memory is no checkpoint, nor is a
dataset's file that is read while a batch is made."""
import os
import time

from . import loader, marks
from .hooks import Hook
from .imports import watch_for
from .process import may_speak


class _State:
    inside = False


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


def _around(hook, kind, find_path):
    """A maker of functions that tell of `kind`; find_path(args, kwargs) gives the path."""
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
            _State.inside = True
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
                    marks.event(kind, path + error, _size_of(path), time.monotonic_ns() - start)
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
    """The directory; its size is not asked for."""
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
                hook.replace_function(checkpoint, name, _around(hook, kind, place))
