"""Phase "forward" (or "evaluation") around the forward of a whole model.

Models inside DistributedDataParallel, FullyShardedDataParallel and DataParallel are known by these. Others are learned in the first two
steps: while no model is running nn.Module.__call__ is replaced by a function that takes the next module called for a model, puts the
original back and calls it. So no submodule is ever called through it, and it is gone before torch.compile can follow a call.

A known model's class (not the model, which may be copied, pickled or scripted) gets a __call__ of its own.
"""
import sys
import threading
import weakref

from . import loader, marks, weights
from .hooks import Hook, compiling
from .process import decide, on_fork, process
from .steps import turns

hook = Hook("modules")
_LEARNING_STEPS = 2
_MOST_LEARNED = 32


class _Roots:
    __slots__ = ("ids", "classes", "patched", "inside", "armed", "learned", "thread", "evaluated", "trains_in_eval")

    def __init__(self):
        self.ids = set()      # of models
        self.classes = set()  # all instances are models
        self.patched = set()  # classes with our __call__
        self.inside = False   # a model's forward is running
        self.armed = False    # nn.Module.__call__ is replaced
        self.learned = 0
        self.thread = None    # that imported torch; threads of a DataParallel call modules, too
        self.evaluated = None  # weak: the model that was last called in eval mode, with gradients
        self.trains_in_eval = set()


roots = _Roots()


def _forget(own):
    def forget(_):
        roots.ids.discard(own)
        roots.trains_in_eval.discard(own)
    return forget


_references = {}


def _add(model):
    own = id(model)
    roots.ids.add(own)
    _references[own] = weakref.ref(model, _forget(own))


def backward_began():
    """A model in eval mode whose output is differentiated trains: with frozen normalization, say."""
    model = roots.evaluated and roots.evaluated()
    if model is not None:
        roots.trains_in_eval.add(id(model))
        roots.evaluated = None


def _is_compiled():
    """Has torch.compile been used? Then it may have looked at, and come to rely on, what nn.Module.__call__ is."""
    frame = sys.modules.get("torch._dynamo.eval_frame")
    return bool(getattr(frame, "cached_backends", None))


def install(torch):
    module = torch.nn.Module
    is_grad_enabled, is_compiling = torch.is_grad_enabled, compiling(torch)
    begin_forward, end_forward = marks.begin("forward"), marks.end("forward")
    begin_evaluation, end_evaluation = marks.begin("evaluation"), marks.end("evaluation")
    roots.thread = threading.get_ident()

    def begin(model):
        """Begins the phase, and returns how to end it."""
        if not is_grad_enabled():
            begin_evaluation()
            return end_evaluation
        if not model.training and id(model) not in roots.trains_in_eval:
            roots.evaluated = weakref.ref(model)
            begin_evaluation()
            return end_evaluation
        if turns.over or turns.number < 0:
            turns.work_begins()
        if turns.number <= 0:
            weights.before_forward(model)
        begin_forward()
        return end_forward

    def make(cls):
        def make_call(original):
            is_own = "__call__" in cls.__dict__ and cls is not module

            def __call__(self, *args, **kwargs):
                following = original.__get__(self) if is_own else super(cls, self).__call__
                if is_compiling() or roots.inside or not hook.on:
                    return following(*args, **kwargs)
                if (id(self) not in roots.ids and type(self) not in roots.classes or loader.loading
                        or not (process.active or decide())):
                    return following(*args, **kwargs)
                try:
                    if roots.armed:
                        disarm()
                    end = begin(self)
                except Exception:
                    hook.failed()
                    return following(*args, **kwargs)
                roots.inside = True
                try:
                    return following(*args, **kwargs)
                finally:
                    roots.inside = False
                    end()
                    if turns.number < _LEARNING_STEPS:
                        arm()
            return __call__
        return make_call

    def patch(cls):
        if cls in roots.patched:
            return
        roots.patched.add(cls)
        hook.replace(cls, "__call__", make(cls))

    original_call = module.__call__

    def is_model(candidate):
        return (threading.get_ident() == (turns.loop_thread or roots.thread) and not loader.loading and not in_backward()
                and not isinstance(candidate, torch.jit.ScriptModule))

    def learn(self, *args, **kwargs):
        if is_compiling() or roots.inside or not is_model(self):
            return original_call(self, *args, **kwargs)
        try:
            disarm()
            _add(self)
            roots.learned += 1
            patch(type(self))
        except Exception:
            hook.failed()
            return original_call(self, *args, **kwargs)
        return self(*args, **kwargs)

    def disarm():
        if roots.armed:
            roots.armed = False
            if module.__dict__.get("__call__") is learn:
                module.__call__ = original_call

    def arm():
        if roots.armed or turns.number >= _LEARNING_STEPS or roots.learned >= _MOST_LEARNED or _is_compiled():
            return
        if module.__dict__.get("__call__") is original_call:
            module.__call__ = learn
            roots.armed = True

    def known(cls):
        roots.classes.add(cls)
        patch(cls)

    from .training import is_in_backward as in_backward
    known(torch.nn.parallel.DataParallel)
    known(torch.nn.parallel.DistributedDataParallel)
    from .imports import watch_for
    watch_for("torch.distributed.fsdp.fully_sharded_data_parallel", lambda fsdp: known(fsdp.FullyShardedDataParallel))
    arm()
    on_fork(disarm)
