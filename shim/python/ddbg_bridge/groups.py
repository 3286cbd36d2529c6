"""torch.distributed.init_process_group, new_group, destroy_process_group: event "process_group" with what was made, its backend and
ranks, its size, and how long it took; also of one that failed."""
import inspect
import time

from . import marks
from .hooks import Hook
from .process import is_rank, may_speak


def _ranks(ranks):
    """"0-3,8"; a launcher's numbers, in their order."""
    spans = []
    for rank in ranks:
        if spans and spans[-1][1] + 1 == rank:
            spans[-1][1] = rank
        else:
            spans.append([rank, rank])
    return ",".join(str(a) if a == b else "%d-%d" % (a, b) for a, b in spans)


def install(torch):
    if not torch.distributed.is_available():
        return
    from torch.distributed import distributed_c10d as c10d
    hook = Hook("groups")

    def described(verb, group):
        """(text, size) of a group that this process is in; else of its name alone."""
        if group is c10d.GroupMember.NON_GROUP_MEMBER or group is None:
            return "%s, without this rank" % verb, 0
        ranks = c10d.get_process_group_ranks(group) if hasattr(c10d, "get_process_group_ranks") else list(c10d._pg_group_ranks[group])
        name = c10d._pg_names.get(group, "")
        return "%s %s %s: ranks %s" % (verb, c10d.get_backend(group), name, _ranks(ranks)), len(ranks)

    def join(original, args, kwargs):
        is_rank()
        asked = inspect.signature(original).bind_partial(*args, **kwargs).arguments
        rank, size = asked.get("rank", -1), asked.get("world_size", -1)
        if 0 <= rank < size:
            marks.rank(rank, size)

    def maker(verb, told, before=lambda *_: None):
        def make(original):
            def function(*args, **kwargs):
                start = time.monotonic_ns()
                try:
                    before(original, args, kwargs)
                    early = told(verb, None, args, kwargs) if verb == "destroy" else None
                except Exception:
                    hook.failed()
                    early = ("destroy", 0)
                try:
                    result = original(*args, **kwargs)
                except BaseException as error:
                    tell("%s failed: %s: %s" % (verb, type(error).__name__, error), -1, start)
                    raise
                try:
                    text, size = early or told(verb, result, args, kwargs)
                    tell(text, size, start)
                except Exception:
                    hook.failed()
                return result
            return function
        return make

    def tell(text, size, start):
        try:
            if hook.on and may_speak():
                marks.event("process_group", text, size, time.monotonic_ns() - start)
        except Exception:
            hook.failed()

    def of_destroyed(verb, _, args, kwargs):
        group = args[0] if args else kwargs.get("group")
        return described(verb, group if group is not None else c10d.group.WORLD)

    hook.replace_function(c10d, "init_process_group", maker("init", lambda verb, *_: described(verb, c10d.group.WORLD), join))
    hook.replace_function(c10d, "new_group", maker("new", lambda verb, group, *_: described(verb, group)))
    hook.replace_function(c10d, "destroy_process_group", maker("destroy", of_destroyed))
