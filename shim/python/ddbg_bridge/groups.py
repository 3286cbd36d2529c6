"""torch.distributed.init_process_group, new_group, destroy_process_group: event "process_group" with what was made, its backend and
ranks, its size, and how long it took; also of one that failed. Before the first, which may never return, event "joining": as whom the
process joins, how, and which address its host has by /etc/hosts, which gloo gives to the others; number: the timeout in ms."""
import inspect
import os
import socket
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


def ranks_of(group):
    """Of one that this process is in."""
    from torch.distributed import distributed_c10d as c10d
    if hasattr(c10d, "get_process_group_ranks"):
        return _ranks(c10d.get_process_group_ranks(group))
    return _ranks(c10d._pg_group_ranks[group])


def _address_of_host():
    """What /etc/hosts says of the host's name; no name server is asked."""
    name = socket.gethostname()
    with open("/etc/hosts", errors="replace") as hosts:
        for line in hosts:
            words = line.partition("#")[0].split()
            if name in words[1:]:
                return name, words[0]
    return name, ""


def _number(given, variable):
    return given if isinstance(given, int) and given >= 0 else int(os.environ.get(variable, -1))


def _described_joining(asked, default_timeout):
    """(text, timeout in ms) of init_process_group's arguments."""
    backend = str(asked.get("backend") or "gloo and others").lower()
    method = "a store" if asked.get("store") is not None else asked.get("init_method") or "env://"
    if method == "env://":
        method = "%s:%s" % (os.environ.get("MASTER_ADDR", "?"), os.environ.get("MASTER_PORT", "?"))
    text = "rank %d of %d over %s by %s" % (_number(asked.get("rank"), "RANK"), _number(asked.get("world_size"), "WORLD_SIZE"), backend, method)
    if "gloo" in backend and not os.environ.get("GLOO_SOCKET_IFNAME"):
        name, address = _address_of_host()
        if address:
            text += ", %s is %s" % (name, address)
    timeout = asked.get("timeout") or default_timeout(backend)
    return text, int(timeout.total_seconds() * 1000) if timeout else -1


def install(torch):
    if not torch.distributed.is_available():
        return
    from torch.distributed import distributed_c10d as c10d
    hook = Hook("groups")

    def described(verb, group):
        """(text, size) of a group that this process is in; else of its name alone."""
        if group is c10d.GroupMember.NON_GROUP_MEMBER or group is None:
            return "%s, without this rank" % verb, 0
        name = c10d._pg_names.get(group, "")
        return "%s %s %s: ranks %s" % (verb, c10d.get_backend(group), name, ranks_of(group)), c10d.get_world_size(group)

    def default_timeout(backend):
        own = getattr(c10d, "default_pg_nccl_timeout", None) if backend == "nccl" else None
        return own or getattr(c10d, "default_pg_timeout", None)

    def join(original, args, kwargs):
        is_rank()
        asked = inspect.signature(original).bind_partial(*args, **kwargs).arguments
        rank, size = asked.get("rank", -1), asked.get("world_size", -1)
        if 0 <= rank < size:
            marks.rank(rank, size)
        if hook.on and may_speak():
            marks.event("joining", *_described_joining(asked, default_timeout))

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
