"""Which weights a model has: event "weights_loaded" of load_state_dict (number: tensors), and event "weights" before the first training
forward of a DistributedDataParallel, whose ranks must have equal ones: text: the model and the ranks it is on; number: a sum of some of
its trained parameters. Only of those in host memory."""
import weakref
import zlib

from . import marks
from .groups import ranks_of
from .hooks import Hook
from .process import may_speak

_MOST_PARAMETERS, _MOST_ELEMENTS = 64, 8

_distributed = None  # the class
_told = weakref.WeakSet()


def _sum_of(model):
    """None: not all are in host memory."""
    ignored = getattr(model, "parameters_to_ignore", None) or ()
    trained = [parameter for name, parameter in model.module.named_parameters() if parameter.requires_grad and name not in ignored]
    if not trained or any(parameter.device.type != "cpu" for parameter in trained):
        return None
    total = 0
    for parameter in trained[::len(trained) // _MOST_PARAMETERS + 1]:
        flat = parameter.detach().reshape(-1)
        total = zlib.crc32(repr(flat[::flat.numel() // _MOST_ELEMENTS + 1].tolist()).encode(), total)
    return total


def before_forward(model):
    """Of a training forward in the first step."""
    if not isinstance(model, _distributed) or model in _told:
        return
    _told.add(model)
    total = _sum_of(model)
    if total is not None:
        marks.event("weights", "%s on ranks %s" % (type(model.module).__name__, ranks_of(model.process_group)), total)


def install(torch):
    global _distributed
    _distributed = torch.nn.parallel.DistributedDataParallel
    hook = Hook("weights")

    def make(original):
        def load_state_dict(self, state_dict, *args, **kwargs):
            result = original(self, state_dict, *args, **kwargs)
            try:
                if hook.on and may_speak():
                    marks.event("weights_loaded", type(self).__name__, len(state_dict))
            except Exception:
                hook.failed()
            return result
        return load_state_dict

    hook.replace(torch.nn.Module, "load_state_dict", make)
