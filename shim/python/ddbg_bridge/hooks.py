"""Replaces functions of PyTorch by ones that mark and call them.

A hook is taken out after some failures: the original is put back where nobody has wrapped it since; else it is no more than a call.
"""
import functools
import sys

_MOST_FAILURES = 8


class Hook:
    """One hook with all places that it has."""

    def __init__(self, name):
        self.name = name
        self.on = True
        self.failures = 0
        self._places = []  # (owner, attribute, what was there, ours)

    def failed(self):
        """Call it in an except clause."""
        self.failures += 1
        if self.failures >= _MOST_FAILURES:
            self.take_out()

    def take_out(self):
        self.on = False
        for owner, attribute, before, ours in self._places:
            try:
                if owner.__dict__.get(attribute) is ours:
                    setattr(owner, attribute, before)
            except Exception:
                pass
        self._places.clear()

    def replace(self, owner, attribute, make):
        """owner.attribute = make(owner.attribute), looking like it."""
        before = owner.__dict__[attribute] if attribute in owner.__dict__ else getattr(owner, attribute)
        ours = functools.wraps(before)(make(before))
        setattr(owner, attribute, ours)
        self._places.append((owner, attribute, before, ours))
        return ours

    def replace_function(self, owner, attribute, make):
        """The same of a module's function, and in all modules of torch that have it by this name."""
        before = getattr(owner, attribute)
        ours = self.replace(owner, attribute, make)
        for name, module in list(sys.modules.items()):
            if name.partition(".")[0] == "torch" and getattr(module, "__dict__", {}).get(attribute) is before:
                setattr(module, attribute, ours)
                self._places.append((module, attribute, before, ours))


def compiling(torch):
    """The function that is true where torch.compile follows the code, and that it takes for a constant."""
    for owner in (getattr(torch, "compiler", None), getattr(torch, "_utils", None)):
        if hasattr(owner, "is_compiling"):
            return owner.is_compiling
    return lambda: False
