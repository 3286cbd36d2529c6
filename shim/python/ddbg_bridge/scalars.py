"""Numbers that the program itself reads or logs, as values: of the tensor that backward ran on ("loss"), of a gradient norm on a device, of
SummaryWriter.add_scalar and wandb.log. A tensor's number is told only when the program has asked for it: then it has waited
for the device already."""
import numbers
import weakref

from . import marks
from .hooks import Hook
from .imports import watch_for
from .process import may_speak, process

_MOST_NAMES = 256  # names of values are kept for good


class _Watched:
    __slots__ = ("reference", "place", "tell")


_watched = {}
_values = {}
_item = None
_tensor = None


def number_of(tensor):
    """Only of one in host memory."""
    return float(_item(tensor))


def watch(name, tensor):
    """Tells the tensor's number as `name` when the program reads it, also through a detached alias."""
    if type(tensor) is not _tensor or tensor.numel() != 1:
        return
    watched = _watched.get(name)
    if watched is None:
        watched = _Watched()
        watched.tell = marks.value(name)
        _watched[name] = watched
    watched.place = tensor.data_ptr()
    watched.reference = weakref.ref(tensor)


def _tell(name, number):
    tell = _values.get(name)
    if tell is None:
        if len(_values) >= _MOST_NAMES:
            return
        tell = _values[name] = marks.value(name)
    tell(number)


def install(torch):
    global _item, _tensor
    _tensor, _item = torch.Tensor, torch.Tensor.item
    _reading(torch)
    for module in ("torch.utils.tensorboard.writer", "tensorboardX.writer"):
        watch_for(module, _summary_writer)
    watch_for("wandb.sdk.wandb_run", _wandb)


def _reading(torch):
    hook = Hook("item")
    tensor_class = torch.Tensor

    def told(tensor, number):
        place = tensor.data_ptr() if type(tensor) is tensor_class else None
        for watched in _watched.values():
            if watched.place == place and watched.reference() is not None:
                watched.tell(float(number))

    def make(original):
        def read(self):
            number = original(self)
            if process.active and _watched and hook.on:
                try:
                    told(self, number)
                except Exception:
                    hook.failed()
            return number
        return read

    hook.replace(tensor_class, "item", make)
    hook.replace(tensor_class, "__float__", make)


def _number(value):
    """None: nothing that can be read without asking a device."""
    if isinstance(value, numbers.Number) and not isinstance(value, complex):
        return float(value)
    if type(value) is _tensor and value.device.type == "cpu" and value.numel() == 1:
        return number_of(value)
    return None


def _summary_writer(module):
    hook = Hook("add_scalar")

    def make(original):
        def add_scalar(self, tag, scalar_value, *args, **kwargs):
            result = original(self, tag, scalar_value, *args, **kwargs)
            try:
                number = _number(scalar_value) if hook.on and may_speak() else None
                if number is not None:
                    _tell(tag, number)
            except Exception:
                hook.failed()
            return result
        return add_scalar

    hook.replace(module.SummaryWriter, "add_scalar", make)


def _wandb(module):
    hook = Hook("wandb")

    def make(original):
        def log(self, data, *args, **kwargs):
            result = original(self, data, *args, **kwargs)
            try:
                if hook.on and may_speak():
                    for name, value in data.items():
                        number = _number(value)
                        if number is not None:
                            _tell(name, number)
            except Exception:
                hook.failed()
            return result
        return log

    hook.replace(module.Run, "log", make)
