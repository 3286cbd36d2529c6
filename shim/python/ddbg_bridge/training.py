"""Phases "backward" and "optimizer", value "grad_norm", event "skipped_step"."""
import functools
from threading import get_ident

from . import marks, modules, scalars
from .hooks import Hook, compiling
from .imports import watch_for
from .process import decide, process
from .steps import turns


class _State:
    __slots__ = ("in_backward", "in_optimizer", "stepped", "clipped")

    def __init__(self):
        self.in_backward = self.in_optimizer = False
        self.stepped = 0  # optimizers' steps
        self.clipped = 0  # norms that were told


_state = _State()


def is_in_backward():
    return _state.in_backward


def install(torch):
    _backward(torch)
    _optimizer(torch)
    _clipping(torch)
    _scaler(torch)


def _backward(torch):
    hook = Hook("backward")
    begin, end, is_compiling = marks.begin("backward"), marks.end("backward"), compiling(torch)

    def make(original):
        def backward(tensors, *args, **kwargs):
            if is_compiling() or _state.in_backward or not hook.on or not (process.active or decide()):
                return original(tensors, *args, **kwargs)
            try:
                turns.loop_thread = get_ident()
                if turns.over or turns.number < 0:
                    turns.work_begins()
                if modules.roots.evaluated is not None:
                    modules.backward_began()
                scalars.watch("loss", tensors)
            except Exception:
                hook.failed()
            _state.in_backward = True
            begin()
            try:
                return original(tensors, *args, **kwargs)
            finally:
                end()
                _state.in_backward = False
        return backward

    hook.replace_function(torch.autograd, "backward", make)  # Tensor.backward calls it


def _optimizer(torch):
    hook = Hook("optimizer")
    begin, end, is_compiling = marks.begin("optimizer"), marks.end("optimizer"), compiling(torch)

    def around(closure):
        """What a closure does is no work of the optimizer."""
        @functools.wraps(closure)
        def outside(*args, **kwargs):
            end()
            _state.in_optimizer = False
            try:
                return closure(*args, **kwargs)
            finally:
                _state.in_optimizer = True
                begin()
        return outside

    def make(original):
        def step(self, *args, **kwargs):
            if is_compiling() or _state.in_optimizer or not hook.on or not (process.active or decide()):
                return original(self, *args, **kwargs)
            try:
                if turns.over or turns.number < 0:
                    turns.optimizer_begins(self)
                if args:
                    if callable(args[0]):
                        args = (around(args[0]),) + args[1:]
                elif kwargs and callable(kwargs.get("closure")):
                    kwargs["closure"] = around(kwargs["closure"])
            except Exception:
                hook.failed()
            _state.in_optimizer = True
            begin()
            try:
                return original(self, *args, **kwargs)
            finally:
                end()
                _state.in_optimizer = False
                _state.stepped += 1
                turns.optimizer_ended(self)
        step.of_ddbg = True
        return step

    def make_init(original):
        def __init__(self, *args, **kwargs):
            original(self, *args, **kwargs)
            try:
                cls = type(self)
                if hook.on and not getattr(cls.step, "of_ddbg", False):
                    hook.replace(cls, "step", make)
            except Exception:
                hook.failed()
        return __init__

    hook.replace(torch.optim.Optimizer, "__init__", make_init)


def _clipping(torch):
    hook = Hook("clip_grad_norm_")
    tell = marks.value("grad_norm")

    def told(norm):
        _state.clipped += 1
        if norm.device.type == "cpu":
            tell(scalars.number_of(norm))
        else:
            scalars.watch("grad_norm", norm)

    def make(original):
        def clip_grad_norm_(*args, **kwargs):
            before = _state.clipped
            norm = original(*args, **kwargs)
            try:
                # FSDP's may call the other.
                if process.active and hook.on and type(norm) is torch.Tensor and _state.clipped == before:
                    told(norm)
            except Exception:
                hook.failed()
            return norm
        return clip_grad_norm_

    hook.replace_function(torch.nn.utils, "clip_grad_norm_", make)
    watch_for("torch.distributed.fsdp.fully_sharded_data_parallel",
              lambda fsdp: hook.replace(fsdp.FullyShardedDataParallel, "clip_grad_norm_", make))


def _scaler(torch):
    """A step that a GradScaler left out. It asks the device itself before it does; a fused optimizer decides on the device, and
    there nobody knows."""
    hook = Hook("scaler")

    def make(original):
        def step(self, optimizer, *args, **kwargs):
            before = _state.stepped
            result = original(self, optimizer, *args, **kwargs)
            try:
                if process.active and hook.on and self.is_enabled() and _state.stepped == before:
                    marks.event("skipped_step", type(optimizer).__name__, turns.number)
                    turns.optimizer_ended(optimizer)
            except Exception:
                hook.failed()
            return result
        return step

    amp = getattr(torch, "amp", None)
    for owner in (getattr(amp, "GradScaler", None), getattr(torch.cuda.amp, "GradScaler", None)):
        if owner is not None and "step" in owner.__dict__:
            hook.replace(owner, "step", make)
