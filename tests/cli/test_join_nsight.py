# SPDX-License-Identifier: Apache-2.0
"""test_join_nsight.py MEMTAP: an Nsight Systems' SQLite export (which this test writes by the published schema, as several releases
have it) is imported as a trace, and joined by memtap export --format perfetto --with: each row on the clock and the track where
it belongs. Damaged files, and those of other runs, get one line."""
import os
import pathlib
import sqlite3
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import wire

memtap = os.path.abspath(sys.argv[1])
START, MIB = 1_790_000_000_000_000_000, 1 << 20
PROCESS = 0x01 << 56 | 1234 << 24
MAIN, OTHER = PROCESS | 1234, PROCESS | 1240
STRINGS = ["python", "pt_main_thread", "gemm", "void gemm<float, 128>(float*)", "cudaLaunchKernel_v7000", "cuMemcpyHtoDAsync_v2", "step 1",
           "NCCL", "it's \"a\"\n\x1b[31mname\ufffd"]
TABLES = {
    "CUDA_GPU_MEMORY_USAGE_EVENTS": "start globalPid deviceId contextId address pc bytes memKind memoryOperationType name",
    "CUPTI_ACTIVITY_KIND_KERNEL": "start end deviceId contextId streamId correlationId globalPid demangledName shortName mangledName "
                                  "registersPerThread gridX gridY gridZ blockX blockY blockZ staticSharedMemory dynamicSharedMemory graphNodeId",
    "CUPTI_ACTIVITY_KIND_MEMCPY": "start end deviceId contextId streamId correlationId globalPid bytes copyKind srcKind dstKind",
    "CUPTI_ACTIVITY_KIND_MEMSET": "start end deviceId contextId streamId correlationId globalPid value bytes memKind",
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": "start end deviceId contextId streamId correlationId globalPid graphId",
    "CUPTI_ACTIVITY_KIND_RUNTIME": "start end eventClass globalTid correlationId nameId returnValue",
    "NVTX_EVENTS": "start end eventType rangeId domainId text globalTid endGlobalTid textId",
    "PROCESSES": "globalPid pid name", "ThreadNames": "nameId priority globalTid", "ENUM_CUDA_MEMCPY_OPER": "id name label",
    "ENUM_CUDA_MEM_KIND": "id name label", "TARGET_INFO_SESSION_START_TIME": "utcEpochNs utcTime localTime",
}


def kernel(start, end, stream=7, name=(3, 2), node=None):
    return (start, end, 0, 1, stream, 9, PROCESS, *name, None, 32, 2, 3, 4, 128, 1, 1, 0, 1024, node)


def rows(shift=0):
    made = {
        "CUDA_GPU_MEMORY_USAGE_EVENTS": [(1000, PROCESS, 0, 1, 0x7f0000000000, 0, 64 * MIB, 2, 0, None),
                                         (9000, PROCESS, 0, 1, 0x7f0000000000, 0, 64 * MIB, 2, 1, None)],
        # Not in order, and two that overlap on a stream (a graph's nodes).
        "CUPTI_ACTIVITY_KIND_KERNEL": [kernel(5000, 6000), kernel(2000, 4000), kernel(3000, 4500, node=5), kernel(2500, 2600, 8, (8, 8)),
                                       *([] if shift else [kernel(0, 0)])],
        "CUPTI_ACTIVITY_KIND_MEMCPY": [(6000, 6500, 0, 1, 7, 10, PROCESS, 4096, 1, 0, 2)],
        "CUPTI_ACTIVITY_KIND_MEMSET": [(6500, 6600, 0, 1, 7, 11, PROCESS, 0, 512, 2)],
        "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": [(7000, 8000, 1, 1, 7, 12, PROCESS, 3)],
        "CUPTI_ACTIVITY_KIND_RUNTIME": [(1500, 1600, 0, MAIN, 9, 4, 0), (1650, 1700, 1, OTHER, 10, 5, 0)],
        "NVTX_EVENTS": [(1100, 8000, 59, 0, 0, None, MAIN, None, 6), (1200, 1900, 59, 0, 2, "inner", MAIN, None, None),
                        (1300, None, 34, 0, 0, "mark", MAIN, None, None), (1400, 8800, 60, 5, 0, "started", MAIN, OTHER, None),
                        (1500, 9900, 60, 6, 0, "also", OTHER, OTHER, None), (8100, None, 59, 0, 0, "never ends", MAIN, None, None),
                        (10, None, 75, 0, 2, None, MAIN, None, 7), (10, None, 39, 0, 0, "a thread's name", MAIN, None, None)],
    }
    return {table: [(row[0] + shift, row[1] + shift if shift and row[1] and table.find("MEMORY") < 0 else row[1], *row[2:]) for row in some]
            for table, some in made.items()} | {
        "PROCESSES": [(PROCESS, 1234, "python")], "ThreadNames": [(1, 0, MAIN)], "ENUM_CUDA_MEMCPY_OPER": [(1, "HTOD", "Host-to-Device")],
        "ENUM_CUDA_MEM_KIND": [(0, "PAGEABLE", "Pageable"), (2, "DEVICE", "Device")],
        "TARGET_INFO_SESSION_START_TIME": [(START, "", "")]}


def write(name, made, without=()):
    pathlib.Path(name).unlink(missing_ok=True)
    database = sqlite3.connect(name)
    database.execute("CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT)")
    database.executemany("INSERT INTO StringIds VALUES (?, ?)", enumerate(STRINGS))
    for table, columns in TABLES.items():
        kept = [column for column in columns.split() if column not in without]
        if table in without:
            continue
        database.execute(f"CREATE TABLE {table} ({', '.join(f'[{column}]' for column in kept)})")
        for row in made.get(table, ()):
            values = [value for column, value in zip(columns.split(), row, strict=True) if column not in without]
            database.execute(f"INSERT INTO {table} VALUES ({','.join('?' * len(values))})", values)
    database.commit()
    database.close()


def join(name, ends=0):
    pathlib.Path("out.pftrace").unlink(missing_ok=True)
    done = subprocess.run([memtap, "export", "-f", "perfetto", "--with", name, "-o", "out.pftrace", "run.mtap"],
                          capture_output=True, text=True, check=False)
    assert done.returncode == ends, (name, done)
    if ends:
        assert done.stderr.startswith(f"memtap: {name}: ") and done.stderr.count("\n") == 1, done.stderr
        assert not os.path.exists("out.pftrace")
        return done.stderr
    shown = wire.Perfetto(pathlib.Path("out.pftrace").read_bytes())
    # One range never ends: Perfetto shows it up to the trace's end.
    faults = [fault for fault in shown.faults() if "1 have no end" not in fault]
    assert not faults, faults
    return shown


def slices(shown):
    """(track, name, begin, end) of what Nsight recorded, since the session began."""
    found, open_on = [], {}
    for time, kind, track, name in sorted((event for event in shown.events if event[1] != "counter"), key=lambda event: event[0]):
        path = shown.tracks[track]
        if not path.startswith("nsight: "):
            continue
        if kind == "begin":
            open_on.setdefault(track, []).append((name, time - START))
        elif kind == "end":
            begun = open_on[track].pop()
            found.append((path, *begun, time - START))
        else:
            found.append((path, name, time - START, None))
    return sorted(found), [begun for some in open_on.values() for begun in some]


def check_whole():
    P = "nsight: python 1234"
    T = f"{P} / pt_main_thread 1234"
    wanted = sorted([
        (f"{P} / device 0 stream 7", "gemm", 2000, 4000), (f"{P} / device 0 stream 7 / at the same time", "gemm", 3000, 4500),
        (f"{P} / device 0 stream 7", "gemm", 5000, 6000), (f"{P} / device 0 stream 8", STRINGS[8], 2500, 2600),
        (f"{P} / device 0 stream 7", "Memcpy Host-to-Device", 6000, 6500), (f"{P} / device 0 stream 7", "Memset", 6500, 6600),
        (f"{P} / device 1 stream 7", "CUDA graph", 7000, 8000), (f"{T} / CUDA calls", "cudaLaunchKernel", 1500, 1600),
        (f"{P} / thread 1240 / CUDA calls", "cuMemcpyHtoDAsync_v2", 1650, 1700), (f"{T} / ranges", "step 1", 1100, 8000),
        (f"{T} / ranges", "inner", 1200, 1900), (f"{T} / ranges", "mark", 1300, None), (f"{P} / started ranges", "started", 1400, 8800),
        (f"{P} / started ranges / at the same time", "also", 1500, 9900)], key=lambda one: (one[0], one[1], one[2]))
    for name, shift in ("whole.sqlite", 0), ("unix.sqlite", START):
        write(name, rows(shift))
        found, still_open = slices(join(name))
        assert found == wanted, "\n".join(map(str, sorted(set(found) ^ set(wanted), key=str)))
        assert still_open == [("never ends", 8100)], still_open
    fields = dict(fields_of("out.pftrace", "gemm"))
    assert fields == {"full name": STRINGS[3], "grid x": 2, "grid y": 3, "grid z": 4, "block x": 128, "block y": 1, "block z": 1,
                      "registers per thread": 32, "static shared memory bytes": 0, "dynamic shared memory bytes": 1024, "correlation": 9}, fields
    assert dict(fields_of("out.pftrace", "Memcpy Host-to-Device")) == {"bytes": 4096, "from": "Pageable", "to": "Device", "correlation": 10}
    assert dict(fields_of("out.pftrace", "inner")) == {"domain": "NCCL"}


def fields_of(path, wanted):
    """The fields of the first event of that name."""
    names, keys, texts = {}, {}, {}
    for packet in wire.every(pathlib.Path(path).read_bytes(), 1):
        if (wire.first(packet, 13) or 0) & 1:
            names, keys, texts = {}, {}, {}
        for interned in wire.every(packet, 12):
            for kind, known in (2, names), (3, keys), (29, texts):
                known.update({wire.first(text, 1): wire.first(text, 2).decode() for text in wire.every(interned, kind)})
        event = wire.first(packet, 11)
        if event and names.get(wire.first(event, 10)) == wanted:
            return [(keys[wire.first(field, 1)], texts[wire.first(field, 17)] if wire.first(field, 17) else wire.first(field, 3))
                    for field in wire.every(event, 4)]
    raise AssertionError(f"no {wanted}")


def check_older():
    """Releases lack columns and tables."""
    write("older.sqlite", rows(), without=("shortName", "graphNodeId", "CUPTI_ACTIVITY_KIND_GRAPH_TRACE", "ThreadNames", "PROCESSES",
                                           "ENUM_CUDA_MEMCPY_OPER", "textId", "domainId", "globalPid"))
    found, _ = slices(join("older.sqlite"))
    names = {name for _, name, _, _ in found}
    assert {"kernel", "Memcpy", "cudaLaunchKernel", "inner", "mark"} <= names and "CUDA graph" not in names, names


def check_many():
    """Texts that are all different, and ranges that all overlap, take no more memory than others."""
    made = rows() | {"NVTX_EVENTS": [(1000 + i, 2_000_000 + i, 60, i, 0, f"range {i}", MAIN, MAIN, None) for i in range(70_000)]}
    write("many.sqlite", made)
    shown = join("many.sqlite")
    names = [name for _, _, track, name in shown.events if "started ranges" in shown.tracks[track] and name]
    assert len(names) == len(set(names)) == 70_000
    assert len([path for path in shown.tracks.values() if "started ranges" in path]) == 256


def check_bad():
    write("far.sqlite", rows() | {"TARGET_INFO_SESSION_START_TIME": [(START // 2, "", "")]})
    assert "are not near" in join("far.sqlite", 2)
    write("startless.sqlite", rows(), without=("TARGET_INFO_SESSION_START_TIME",))
    assert "its start time is missing" in join("startless.sqlite", 2)
    write("empty.sqlite", {"TARGET_INFO_SESSION_START_TIME": [(START, "", "")]})
    assert "--trace=cuda,nvtx" in join("empty.sqlite", 2)
    pathlib.Path("bad.sqlite").write_bytes(b"SQLite format 3\0" + b"\xff" * 500)
    join("bad.sqlite", 2)
    whole = pathlib.Path("many.sqlite").read_bytes()
    for cut in 600, 4096, len(whole) // 2, len(whole) - 5000:
        pathlib.Path("cut.sqlite").write_bytes(whole[:cut])
        join("cut.sqlite", 2)
    pathlib.Path("torn.sqlite").write_bytes(whole[:8192] + bytes(len(whole) // 2) + whole[8192 + len(whole) // 2:])
    join("torn.sqlite", 2)
    # A view may not stand for a table: it could run for ever.
    write("view.sqlite", rows(), without=("NVTX_EVENTS", "CUPTI_ACTIVITY_KIND_KERNEL"))
    database = sqlite3.connect("view.sqlite")
    database.execute("CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS WITH RECURSIVE n(start) AS (SELECT 1 UNION ALL SELECT start + 1 FROM n) SELECT * FROM n")
    database.commit()
    database.close()
    assert not any(name == "kernel" for _, name, _, _ in slices(join("view.sqlite"))[0])
    join(".", 2)


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    write("run.sqlite", rows())
    subprocess.run([memtap, "import", "-o", "run.mtap", "run.sqlite"], check=True, stdout=subprocess.DEVNULL)
    for check in check_whole, check_older, check_many, check_bad:
        check()
        print(check.__name__, "holds")
    os.chdir("/")
