"""Calls back when a module has been imported."""
import sys

_waiting = {}  # name → functions of the module


class _Finder:
    """First in sys.meta_path for as long as something is waited for. Lets the others find, and only wraps the loader."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name not in _waiting:
            return None
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            spec = find(name, path, target) if find and finder is not _Finder else None
            if spec is not None:
                if hasattr(spec.loader, "exec_module"):
                    spec.loader = _Loader(spec.loader)
                return spec
        return None


class _Loader:
    """Stands before the real loader until the module is executed; the module never sees it."""

    def __init__(self, loader):
        self._loader = loader

    def __getattr__(self, name):
        return getattr(self._loader, name)

    def create_module(self, spec):
        return self._loader.create_module(spec)

    def exec_module(self, module):
        module.__spec__.loader = self._loader
        if getattr(module, "__loader__", None) is self:
            module.__loader__ = self._loader
        self._loader.exec_module(module)
        _tell(module.__name__, module)


find_spec = _Finder.find_spec


def _tell(name, module):
    functions = _waiting.pop(name, ())
    for function in functions:
        try:
            function(module)
        except Exception:
            pass
    if not _waiting and _Finder in sys.meta_path:
        sys.meta_path.remove(_Finder)


def watch_for(name, function):
    """function(module) once `name` has been imported; now, if it has been."""
    module = sys.modules.get(name)
    if module is not None and not getattr(getattr(module, "__spec__", None), "_initializing", False):
        function(module)
        return
    _waiting.setdefault(name, []).append(function)
    if _Finder not in sys.meta_path:
        sys.meta_path.insert(0, _Finder)
