"""Reached through an entry in PYTHONPATH that libddbg.so makes. Leads to the bridge when PyTorch or mpi4py is imported; until then it is
one look-up at each import, and the program sees sys.path, os.environ, sys.modules and its own sitecustomize as without."""
import os
import sys

_FOLDER = os.path.dirname(os.path.abspath(__file__))


def _is_here(entry):
    return isinstance(entry, str) and os.path.abspath(entry) == _FOLDER


def _take_entry_out():
    """As before main; a child of this program gets the entry anew if libddbg.so is preloaded there."""
    sys.path[:] = [entry for entry in sys.path if not _is_here(entry)]
    if "PYTHONPATH" not in os.environ:
        return
    entries = os.environ["PYTHONPATH"].split(os.pathsep)
    others = [entry for entry in entries if not entry or not _is_here(entry)]
    if others:
        os.environ["PYTHONPATH"] = os.pathsep.join(others)
    else:
        os.environ.pop("PYTHONPATH", None)


def _bridge():
    if "ddbg_bridge" not in sys.modules:
        from importlib.util import module_from_spec, spec_from_file_location
        place = os.path.join(_FOLDER, "ddbg_bridge")
        spec = spec_from_file_location("ddbg_bridge", os.path.join(place, "__init__.py"), submodule_search_locations=[place])
        sys.modules["ddbg_bridge"] = bridge = module_from_spec(spec)
        try:
            spec.loader.exec_module(bridge)
        except Exception:
            del sys.modules["ddbg_bridge"]
            raise
    return sys.modules["ddbg_bridge"]


class _Watch:
    """Waits in sys.meta_path for the first import of each of these; nothing else is imported before."""
    names = {"torch", "mpi4py"}

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name not in cls.names:
            return None
        cls.names.discard(name)
        if not cls.names:
            sys.meta_path.remove(cls)
        try:
            return _bridge().watch(name, path, target)
        except Exception:
            return None


try:
    _take_entry_out()
    if os.environ.get("DDBG") not in ("0", "off") and os.environ.get("DDBG_PYTHON") not in ("0", "off"):
        sys.meta_path.insert(0, _Watch)
except Exception:  # the program comes first
    pass

# The next one, as Python would find it; its exceptions are Python's to report. Where there is none, this module must seem
# not to have been there either, which `site` takes from an ImportError with this name.
del sys.modules["sitecustomize"]
import sitecustomize  # noqa: E402,F401
