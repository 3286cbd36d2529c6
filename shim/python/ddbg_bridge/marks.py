"""The functions of shim/ddbg.h, for Python.

Where it can be they are functions that Python calls directly (shim/python/calls.cc), bound to their name: begin("loader") gives a
function without arguments. Else ctypes calls the same, at several times the price.
"""
import ctypes

_METH_NOARGS, _METH_O = 0x0004, 0x0008
_kept = []  # what C has pointers to
_library = None
_direct = False


class _MethodDef(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("function", ctypes.c_void_p), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p)]


def bind():
    """False: libddbg.so is not in this process."""
    global _library, _direct
    library = ctypes.CDLL(None)
    if not hasattr(library, "ddbg_step") or not hasattr(library, "ddbg_event"):
        return False
    library.ddbg_step.argtypes = [ctypes.c_int64]
    library.ddbg_phase_begin.argtypes = library.ddbg_phase_end.argtypes = [ctypes.c_char_p]
    library.ddbg_value.argtypes = [ctypes.c_char_p, ctypes.c_double]
    library.ddbg_event.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_int64, ctypes.c_int64]
    for name in ("ddbg_step", "ddbg_phase_begin", "ddbg_phase_end", "ddbg_value", "ddbg_event"):
        getattr(library, name).restype = None
    _library = library
    _direct = hasattr(library, "ddbg_python_prepare") and bool(library.ddbg_python_prepare())
    return True


def _function(name, flags, bound):
    definition = _MethodDef(name.encode(), ctypes.cast(getattr(_library, name), ctypes.c_void_p), flags, None)
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.argtypes = [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
    make.restype = ctypes.py_object
    _kept.append(definition)
    return make(ctypes.addressof(definition), bound, None)


def _encoded(name, most=127):
    return name.encode("utf-8", "replace")[:most]


def begin(name):
    name = _encoded(name)
    return _function("ddbg_python_begin", _METH_NOARGS, name) if _direct else lambda: _library.ddbg_phase_begin(name)


def end(name):
    name = _encoded(name)
    return _function("ddbg_python_end", _METH_NOARGS, name) if _direct else lambda: _library.ddbg_phase_end(name)


def value(name):
    """function(number); a float or int, never a tensor: asking it for its number may wait for a device."""
    name = _encoded(name)
    if _direct:
        return _function("ddbg_python_value", _METH_O, name)
    return lambda number: _library.ddbg_value(name, number)


def step():
    """function(number)"""
    return _function("ddbg_python_step", _METH_O, b"") if _direct else _library.ddbg_step


def rank(number, world_size):
    """Who this process is, where no launcher's variable says it; before the first mark."""
    if hasattr(_library, "ddbg_python_rank"):
        _library.ddbg_python_rank(ctypes.c_int(number), ctypes.c_int(world_size))


def event(kind, text="", number=0, duration_ns=0):
    _library.ddbg_event(_encoded(kind), _encoded(text, 511), number, duration_ns)
