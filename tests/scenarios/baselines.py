"""What simpler tools would say of the same traces. Both read `ddbg events --json`."""
import collections

from catalog import CONTROL_FLOW


def silent():
    return dict(verdict="healthy")


def timeout_only(events, hung):
    """A watchdog of a job that hangs: the call that has been open for longest. It knows no class."""
    waits = [event for event in events if "dur_ns" in event and event["dur_ns"] is None]
    if not hung or not waits:
        return silent()
    return dict(verdict="fault", kind="hang", first_bad_event=place_of(min(waits, key=lambda event: event["t_ns"])))


def counts_only(events):
    """NCCL RAS: how many operations of each communicator every rank has begun. The rank that is behind most is to blame."""
    counts, members = collections.defaultdict(collections.Counter), {}
    for event in events:
        if event.get("kind") == "collective" and event.get("seq") is not None:
            counts[event["comm_uid"]][event["rank"]] = max(counts[event["comm_uid"]][event["rank"]], event["seq"] + 1)
            members[event["comm_uid"]] = event["comm"]
    for uid, by_rank in counts.items():
        most, least = max(by_rank.values()), min(by_rank.values())
        if most != least:
            behind = min(by_rank, key=lambda rank: (by_rank[rank], rank))
            return {"verdict": "fault", "class": CONTROL_FLOW, "kind": "count_mismatch",
                    "first_bad_event": dict(rank=behind, comm=members[uid], seq=least, call=None)}
    return silent()


def place_of(event):
    return dict(rank=event["rank"], comm=event.get("comm"), seq=event.get("seq"), call=event.get("call"))
