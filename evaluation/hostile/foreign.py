# SPDX-License-Identifier: Apache-2.0
"""Small files for memtap import that stand for much: pickles, JSON and databases."""
import contextlib
import json
import pickle
import sqlite3

MANY = 200_000


class Raw:
    """A pickle's opcodes, written by hand: what Python's own pickler would not write."""

    def __init__(self):
        self.bytes = bytearray(b"\x80\x04")

    def put(self, *pieces):
        for piece in pieces:
            if isinstance(piece, str):
                text = piece.encode()
                self.bytes += b"X" + len(text).to_bytes(4, "little") + text
            elif isinstance(piece, int):
                self.bytes += b"\x8a\x08" + piece.to_bytes(8, "little", signed=True)
            else:
                self.bytes += piece

    def save(self, path):
        self.put(b".")
        path.write_bytes(bytes(self.bytes))


def shared_frames(path, frames=4000, events=MANY):
    """One list of frames that each event names."""
    one = [{"name": f"f{i}", "filename": "a.py", "line": i} for i in range(frames)]
    trace = [{"action": "alloc", "addr": i << 9, "size": 512, "stream": 0, "frames": one, "time_us": i} for i in range(events)]
    save_snapshot(path, trace)


def save_snapshot(path, trace, segments=()):
    with path.open("wb") as file:
        pickle.dump({"segments": list(segments), "device_traces": [trace]}, file, protocol=4)


def shared_event(path, times=3_000_000):
    """One event, remembered, and then got again and again: two bytes each."""
    raw = Raw()
    raw.put(b"}", b"(", "segments", b"]", "device_traces", b"](](")
    raw.put(b"}(", "action", "alloc", "addr", 4096, "size", 512, "stream", 0, "frames", b"]", "time_us", 1, b"u", b"q\x01")
    raw.put(b"h\x01" * times)
    raw.put(b"e", b"e", b"u")
    raw.save(path)


def doubled(path, depth=200):
    """A list of two of the list before, and so on: 2^depth values for who walks them."""
    raw = Raw()
    raw.put(b"}(", "segments", b"](")
    raw.put(b"]q\x00")
    for _ in range(depth):
        raw.put(b"](h\x00h\x00eq\x00")
    raw.put(b"e", "device_traces", b"]", b"u")
    raw.save(path)


def nested(path, depth=1_000_000):
    raw = Raw()
    raw.put(b"}(", "segments", b"]" * depth, b"a" * (depth - 1), "device_traces", b"]", b"u")
    raw.save(path)


def texts(path, number=150):
    """Texts of a mebibyte that repeat nearly: long equal beginnings."""
    raw = Raw()
    raw.put(b"}(", "segments", b"]", "device_traces", b"](](")
    for i in range(number):
        raw.put(b"}(", "action", "alloc", "addr", i << 9, "size", 512, "frames", b"](}(", "name", "a" * 60_000 + str(i), "filename", "a.py",
                "line", 1, b"ue", b"u")
    raw.put(b"e", b"e", b"u")
    raw.save(path)


def same_hash(path):
    """Addresses that are multiples of one another's hash factor, in frames and blocks."""
    inverse = pow(0x9E3779B97F4A7C15, -1, 1 << 64)
    trace = [{"action": "alloc", "addr": (i * inverse) & ((1 << 62) - 1), "size": 512, "stream": 0, "frames": [], "time_us": i}
             for i in range(MANY)]
    save_snapshot(path, trace)


def blocks(path, number=MANY):
    """A segment of many blocks, and events that name segments that overlap."""
    segment = {"address": 0, "total_size": 512 * number, "stream": 0, "segment_type": "large", "allocated_size": 512 * number,
               "blocks": [{"address": 512 * i, "size": 512, "requested_size": 1, "state": "active_allocated", "frames": []}
                          for i in range(number)]}
    overlapping = [{**segment, "address": i * 512, "blocks": []} for i in range(2000)]
    save_snapshot(path, [], [segment, *overlapping])


def pieces(path, number=60_000):
    """Expandable segments that are mapped and unmapped in adjacent pieces, then all at once, repeatedly."""
    trace = []
    for i in range(number):
        trace.append({"action": "segment_map", "addr": (2 * i) << 21, "size": 1 << 21, "stream": 0, "frames": [], "time_us": i})
        trace.append({"action": "segment_unmap", "addr": 0, "size": 1 << 50, "stream": 0, "frames": [], "time_us": i})
    save_snapshot(path, trace)


def json_deep(path, depth=3_000_000):
    path.write_text('{"segments": ' + "[" * depth)


def json_snapshot(path, number=60_000):
    trace = [{"action": "alloc", "addr": i << 9, "size": 512, "stream": 0, "frames": [], "time_us": i} for i in range(number)]
    path.write_text(json.dumps({"segments": [], "device_traces": [trace] * 4}))


def profile(path, number=60_000):
    """torch.profiler's: ranges that hold each other, and memory at each."""
    events = [{"ph": "X", "cat": "cpu_op", "name": "aten::a", "pid": 1, "tid": 1, "ts": i, "dur": 10 ** 9, "args": {}} for i in range(number)]
    events += [{"ph": "X", "cat": "python_function", "name": f"a.py({i}): f", "pid": 1, "tid": 1, "ts": i, "dur": 10 ** 9,
                "args": {"Python id": i, "Python parent id": i - 1}} for i in range(number)]
    events += [{"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "pid": 1, "tid": 1, "ts": number + i,
                "args": {"Device Type": 1, "Device Id": 0, "Addr": i << 9, "Bytes": 512, "Total Allocated": i << 9, "Total Reserved": 1 << 40}}
               for i in range(number)]
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))


NSIGHT = ("start INTEGER, globalPid INTEGER, deviceId INTEGER, contextId INTEGER, address INTEGER, pc INTEGER, bytes INTEGER, "
          "memKind INTEGER, memoryOperationType INTEGER, name TEXT, correlationId INTEGER, streamId INTEGER")


def nsight(path, *statements):
    path.unlink(missing_ok=True)
    with contextlib.closing(sqlite3.connect(path)) as made, made:
        for statement in statements:
            made.execute(statement)


def nsight_computed(path):
    """A column that is computed when it is read, and takes long."""
    nsight(path, f"CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS({NSIGHT.replace('name TEXT', 'name AS (bytes)')})",
           "INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS(start, bytes, memKind, memoryOperationType, deviceId, address) "
           "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 5000) SELECT i, 512, 2, 0, 0, i * 512 FROM n",
           "PRAGMA writable_schema = ON",
           "UPDATE sqlite_master SET sql = replace(sql, 'AS (bytes)', "
           "'AS (replace(hex(zeroblob(20000000)), ''0'', ''ab''))')")


def nsight_texts(path):
    """Names of a mebibyte that are computed."""
    nsight(path, f"CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS({NSIGHT.replace('name TEXT', 'name AS (bytes)')})",
           "INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS(start, bytes, memKind, memoryOperationType, deviceId, address) "
           "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 5000) SELECT i, 512, 2, 0, 0, i * 512 FROM n",
           "PRAGMA writable_schema = ON",
           "UPDATE sqlite_master SET sql = replace(sql, 'AS (bytes)', 'AS (printf(''%01000000d'', start))')")


def nsight_rows(path):
    """Many rows, their times in no order, so that they are sorted."""
    nsight(path, f"CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS({NSIGHT})",
           "INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS(start, bytes, memKind, memoryOperationType, deviceId, address) "
           "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 60000) "
           "SELECT i * 7919 % 60013, 512, 2, 0, 0, i * 512 FROM n")


BOMBS = {
    "shared-frames.pickle": shared_frames, "shared-event.pickle": shared_event, "doubled.pickle": doubled, "nested.pickle": nested,
    "texts.pickle": texts, "same-hash.pickle": same_hash, "blocks.pickle": blocks, "pieces.pickle": pieces,
    "deep.json": json_deep, "snapshot.json": json_snapshot, "profile.json": profile,
    "computed.sqlite": nsight_computed, "texts.sqlite": nsight_texts, "rows.sqlite": nsight_rows,
}


def make(folder):
    """Writes all of them into the folder; their names."""
    for name, write in BOMBS.items():
        write(folder / name)
    return list(BOMBS)
