# SPDX-License-Identifier: Apache-2.0
"""Protobuf's wire format, without schemas: what the tests of exports need of it."""


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def fields(data):
    """(number, value) of each field in order; a message's or a text's value is its bytes."""
    at, found = 0, []
    while at < len(data):
        head, at = varint(data, at)
        if head & 7 == 0:
            value, at = varint(data, at)
        elif head & 7 == 2:
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
            if len(value) != size:
                raise ValueError("a field beyond the end")
        else:
            raise ValueError(f"wire type {head & 7}")
        found.append((head >> 3, value))
    return found


def first(data, number, default=None):
    return next((value for field, value in fields(data) if field == number), default)


def every(data, number):
    return [value for field, value in fields(data) if field == number]


def packed(data):
    at, found = 0, []
    while at < len(data):
        value, at = varint(data, at)
        found.append(value)
    return found


class Perfetto:
    """A trace of Perfetto's: tracks by number, and events as (unix time in ns, type, track, name, fields)."""
    TYPES = {1: "begin", 2: "end", 3: "instant", 4: "counter"}

    def __init__(self, data):
        self.tracks, self.events, now, names = {}, [], {}, {}
        for packet in every(data, 1):
            sequence = first(packet, 10)
            if clocks := first(packet, 6):
                now[sequence] = next(first(clock, 2) for clock in every(clocks, 1) if first(clock, 1) == 1)
                names[sequence] = {}
            for interned in every(packet, 12):
                for text in every(interned, 2):
                    names[sequence][first(text, 1)] = first(text, 2).decode()
            if track := first(packet, 60):
                self.add_track(track)
            if event := first(packet, 11):
                if first(packet, 58) is None:
                    now[sequence] += first(packet, 8)
                    time = now[sequence]
                else:
                    time = first(packet, 8)
                name = first(event, 10)
                self.events.append((time, self.TYPES[first(event, 9)], first(event, 11),
                                    first(event, 30) if name is None else names[sequence][name]))

    def add_track(self, track):
        process, thread = first(track, 3), first(track, 4)
        name = first(track, 2) or (process and first(process, 6)) or (thread and first(thread, 5)) or b""
        parent = first(track, 5)
        before = self.tracks[parent] + " / " if parent else ""
        self.tracks[first(track, 1)] = before + name.decode()

    def last(self):
        """The last number of each counter."""
        return {self.tracks[track]: value for time, kind, track, value in self.events if kind == "counter"}

    def faults(self):
        """Slices that end before they begin, or never; tracks that nobody has described."""
        found, depth = [], {}
        for time, kind, track, _ in sorted(self.events, key=lambda event: event[0]):
            if track not in self.tracks:
                found.append(f"no track {track}")
            if kind in ("begin", "end"):
                depth[track] = depth.get(track, 0) + (1 if kind == "begin" else -1)
                if depth[track] < 0:
                    found.append(f"{self.tracks[track]}: an end without a begin at {time}")
        return found + [f"{self.tracks[track]}: {n} have no end" for track, n in depth.items() if n > 0]
