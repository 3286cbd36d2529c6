"""Reads Perfetto's native trace format, by the numbers of the published schema (github.com/google/perfetto,
protos/perfetto/trace): an own decoder, so that a mistake of the writer is not repeated. Checks what the format asks for:
interned texts are there before they are used, tracks are described, slices end in the order in which they began.
"""
import struct
from dataclasses import dataclass, field


def fields(data):
    """Yields (number, value) of a message: an int, or bytes."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if not byte & 0x80:
                return value

    while at < len(data):
        key = varint()
        kind = key & 7
        if kind == 0:
            value = varint()
        elif kind == 1:
            value, = struct.unpack_from("<Q", data, at)
            at += 8
        elif kind == 2:
            length = varint()
            value = bytes(data[at:at + length])
            assert len(value) == length, "a message is cut off"
            at += length
        else:
            raise AssertionError("wire type %d is not in this format" % kind)
        yield key >> 3, value


def one(data, number, default=None):
    return next((value for key, value in fields(data) if key == number), default)


def signed(value):
    return value - (1 << 64) if value >= 1 << 63 else value


@dataclass
class Track:
    uuid: int
    parent: int
    name: str
    pid: int = None
    tid: int = None
    command_line: list = field(default_factory=list)
    slices: list = field(default_factory=list)
    instants: list = field(default_factory=list)


@dataclass
class Event:
    name: str
    category: str
    start: int
    arguments: dict
    flows: list
    last_flows: list
    end: int = None
    depth: int = 0


class Trace:
    def __init__(self, content):
        self.tracks = {}
        self.clocks = {}
        self.texts = {}  # (table, iid) → text
        self.raw = []    # (ts, place in the file, type, track, event)
        sequences = set()
        for number, packet in fields(content):
            assert number == 1, "not a packet"
            sequence, flags = one(packet, 10), one(packet, 13, 0)
            assert sequence, "a packet without a sequence id"
            if flags & 1:
                sequences.add(sequence)
            if flags & 2:
                assert sequence in sequences, "incremental state before it was cleared"
            for number, value in fields(packet):
                if number == 12:
                    self.intern(value)
            self.packet(packet)
        self.nest()

    def intern(self, data):
        for table, entry in fields(data):
            iid, text = one(entry, 1), one(entry, 2).decode()
            assert iid and (table, iid) not in self.texts, "a text is defined twice"
            self.texts[table, iid] = text

    def packet(self, packet):
        for number, value in fields(packet):
            if number == 60:
                self.describe(value)
            elif number == 6:
                for _, clock in fields(value):
                    self.clocks[one(clock, 1)] = one(clock, 2)
            elif number == 11:
                self.event(one(packet, 8), value)

    def describe(self, data):
        process, thread = one(data, 3), one(data, 4)
        track = Track(one(data, 1), one(data, 5, 0), one(data, 2).decode())
        assert track.uuid and track.uuid not in self.tracks, "a track is described twice"
        assert not track.parent or track.parent in self.tracks, "a track's parent is not described before it"
        if process is not None:
            track.pid = one(process, 1)
            track.command_line = [word.decode() for key, word in fields(process) if key == 2]
        if thread is not None:
            track.pid, track.tid = one(thread, 1), one(thread, 2)
        self.tracks[track.uuid] = track

    def event(self, ts, data):
        track = one(data, 11)
        assert track in self.tracks, "an event on a track that is not described"
        assert ts is not None and ts < 1 << 63
        flows = [value for key, value in fields(data) if key == 47]
        last = [value for key, value in fields(data) if key == 48]
        arguments = dict(self.argument(value) for key, value in fields(data) if key == 4)
        name, category = one(data, 10), one(data, 3)
        event = Event(self.texts[2, name] if name else None, self.texts[1, category] if category else None, ts, arguments,
                      flows, last)
        self.raw.append((ts, len(self.raw), one(data, 9), track, event))

    def argument(self, data):
        name = self.texts[3, one(data, 1)]
        for number, value in fields(data):
            if number == 2:
                return name, bool(value)
            if number == 3:
                return name, value
            if number == 4:
                return name, signed(value)
            if number == 6:
                return name, value.decode()
            if number == 17:
                return name, self.texts[29, value]
        raise AssertionError("an argument without a value: %s" % name)

    def nest(self):
        """As trace_processor does: by time, those of one time as in the file; an end ends the slice begun last."""
        open_slices = {}
        for ts, _, kind, uuid, event in sorted(self.raw, key=lambda item: item[:2]):
            track, stack = self.tracks[uuid], open_slices.setdefault(uuid, [])
            if kind == 1:
                event.depth = len(stack)
                stack.append(event)
                track.slices.append(event)
            elif kind == 2:
                assert stack, "an end on %s without a begin" % track.name
                begun = stack.pop()
                begun.end = ts
                begun.last_flows += event.last_flows
                begun.flows += event.flows
            else:
                assert kind == 3
                event.depth = len(stack)
                track.instants.append(event)

    # For tests

    def processes(self):
        return {track.name: track for track in self.tracks.values() if track.pid is not None and track.tid is None}

    def threads(self, process):
        return [track for track in self.tracks.values() if track.tid is not None and track.pid == process.pid]

    def children(self, process):
        return [track for track in self.tracks.values() if track.parent == process.uuid]

    def slices(self):
        return [event for track in self.tracks.values() for event in track.slices]

    def flows(self):
        """Flow id → the events of it, by time of their part in it."""
        ends = {}
        for track in self.tracks.values():
            for event in track.slices + track.instants:
                for flow in event.flows:
                    ends.setdefault(flow, []).append((event.start, track, event))
                for flow in event.last_flows:
                    ends.setdefault(flow, []).append((event.end if event.end is not None else event.start, track, event))
        return ends
