"""Assertions on the JSON of `ddbg diagnose` (schema ddbg.diagnosis/1)."""
import json

from harness import line_of


def shown(verdict):
    return json.dumps(verdict, indent=1)[:6000]


def assert_healthy(verdict):
    assert verdict["schema"] == "ddbg.diagnosis/1"
    assert verdict["verdict"] == "healthy", shown(verdict)
    assert verdict["exit_code"] == 0, shown(verdict)
    assert not verdict.get("findings"), shown(verdict)


def assert_fault(verdict, kinds, fault_class, **first):
    """A fault of one of `kinds` in `fault_class`, whose first bad event has the given fields."""
    assert verdict["schema"] == "ddbg.diagnosis/1"
    assert verdict["verdict"] == "fault", shown(verdict)
    assert verdict["exit_code"] == 1, shown(verdict)
    assert verdict["kind"] in ([kinds] if isinstance(kinds, str) else kinds), shown(verdict)
    assert verdict["class"] == fault_class, shown(verdict)
    assert verdict["summary"], shown(verdict)
    for field, value in first.items():
        assert verdict["first_bad_event"].get(field) == value, "first_bad_event.%s is not %r\n%s" % (
            field, value, shown(verdict))


def assert_at(verdict, function, source, mark):
    """The first bad event was called from `function`, on the line of `source` marked `mark`."""
    stack = verdict["first_bad_event"].get("stack")
    assert stack, "no stack\n" + shown(verdict)
    frame = next((frame for frame in stack if frame.get("source")), stack[0])
    assert frame.get("function", "").split("(")[0] == function, shown(verdict)
    assert frame.get("file", "").endswith(source), shown(verdict)
    assert frame.get("line") == line_of(source, mark), shown(verdict)


def same_first_bad_event(one, other):
    """The fields that name the event; what is observed of it (how long it has been open) may differ."""
    for field in ("rank", "comm", "seq", "call", "field", "stack"):
        assert one["first_bad_event"].get(field) == other["first_bad_event"].get(field), (
            "first_bad_event.%s differs\n%s\n%s" % (field, shown(one), shown(other)))
    assert one["kind"] == other["kind"]
