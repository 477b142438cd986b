# SPDX-License-Identifier: Apache-2.0
"""test_import.py MEMTAP: memtap import of files that this test writes: PyTorch's snapshots by Python's own pickle and json, as releases
from 2.0 on have them, torch.profiler's JSON, Nsight Systems' SQLite; and of files that are damaged or mean harm."""
import copy
import gzip
import json
import os
import pathlib
import pickle
import sqlite3
import struct
import subprocess
import sys
import tempfile

memtap = os.path.abspath(sys.argv[1])
BASE, MIB = 0x7F0000000000, 1 << 20
MAIN = [{"name": "forward", "filename": "/w/net.py", "line": 3}, {"name": "main", "filename": "/w/train.py", "line": 9}]
NATIVE = [{"name": "at::cuda::allocateCUDABlasWorkspace(unsigned long)", "filename": "libtorch_cuda.so", "line": 5},
          {"name": "torch::autograd::generated::AddmmBackward0::apply(std::vector)", "filename": "libtorch_cpu.so", "line": 7},
          {"name": "torch::autograd::Engine::thread_main(x)", "filename": "libtorch_cpu.so", "line": 1 << 40}]


def event(action, address, size, time, frames=MAIN, **more):
    return {"action": action, "addr": address, "size": size, "stream": 0, "time_us": time, "pool_id": (0, 0), "frames": frames, **more}


def block(address, size, state, frames=MAIN):
    return {"address": address, "size": size, "requested_size": size - 12, "state": state, "frames": frames}


def snapshot():
    """A block of the large pool that took what was left (60,000,000 bytes are 60,817,408), one of cuBLAS, one from before."""
    large = BASE + (64 << 20)
    total = 58 * MIB
    return {
        "segments": [
            {"device": 0, "address": BASE, "total_size": 2 * MIB, "segment_type": "small", "is_expandable": False, "frames": MAIN,
             "blocks": [block(BASE, 512, "active_allocated"), block(BASE + 512, 1024, "active_pending_free"),
                        block(BASE + 1536, 2 * MIB - 1536, "inactive", [])]},
            {"device": 0, "address": large, "total_size": total, "segment_type": "large", "is_expandable": False, "frames": MAIN,
             "blocks": [block(large, total, "active_allocated")]}],
        "device_traces": [[
            event("free_completed", BASE + 8192, 700, 1000), event("free_requested", BASE + 4096, 300, 1001),
            event("free_completed", BASE + 4096, 300, 1002), event("segment_alloc", large, total, 1003),
            event("alloc", large, 60_000_000, 1004), event("alloc", BASE + 512, 1000, 1005, NATIVE),
            event("free_requested", BASE + 512, 1000, 1006, []), event("oom", 5 * MIB, 1 << 34, 1007),
            event("snapshot", 0, 0, 1008)], []],
        "allocator_settings": {"roundup": {"1": 0}, "on": True, "part": 0.25, "nothing": None},
        "external_annotations": [{"stage": "START", "name": "step \u00fc", "device": 0, "time_us": 1003},
                                 {"stage": "END", "name": "step \u00fc", "device": 0, "time_us": 1006}]}


def run(*arguments, ends=0):
    done = subprocess.run([memtap, *arguments], capture_output=True, text=True, errors="replace", check=False)
    assert done.returncode == ends, (arguments, done)
    return done


def imported(data, name="s.pickle"):
    """The trace's events as (kind, {field: value}) and what memtap said."""
    pathlib.Path(name).write_bytes(data)
    pathlib.Path("t.mtap").unlink(missing_ok=True)
    said = run("import", "-o", "t.mtap", name).stdout
    events = [json.loads(line) for line in run("dump", "-f", "json", "t.mtap").stdout.splitlines()]
    return [{**one, "kind": one["record"]} for one in events if "thread" in one], said


def totals(events):
    """After each event of PyTorch's blocks: what the trace says is what its events add up to."""
    live, reserved, seen = {}, 0, []
    for one in events:
        if one["kind"] == "cuda_malloc":
            reserved += one["size"]
        elif one["kind"] == "alloc":
            assert one["address"] not in live, one
            live[one["address"]] = one["size"]
        elif one["kind"] == "free":
            assert live.pop(one["address"]) == one["size"], one
        if one["kind"] in ("alloc", "free", "oom"):
            assert (one["allocated"], one["reserved"]) == (sum(live.values()), reserved), one
            seen.append((one["kind"], sum(live.values())))
    return live, seen


def check_snapshot():
    made = snapshot()
    texts = {protocol: imported(pickle.dumps(made, protocol)) for protocol in (2, 3, 4, 5)}
    texts["pure Python"] = imported(pickle._dumps(made, 4))
    texts["JSON"] = imported(json.dumps(made).encode(), "s.json")
    texts["compressed JSON"] = imported(gzip.compress(json.dumps(made).encode()), "s.json.gz")
    texts["compressed pickle"] = imported(gzip.compress(pickle.dumps(made, 4)), "s.pickle.gz")
    texts["JSON with blanks"] = imported(("\n " + json.dumps(made, indent=3, ensure_ascii=False)).encode(), "s.json")
    events, said = texts[4]
    for name, other in texts.items():
        assert other[0] == events, name
    assert "9 events imported" in said and "3 blocks were allocated before the first event; for 2, the file has only the free" in said, said
    live, seen = totals(events)
    assert live == {BASE: 512, BASE + (64 << 20): 58 * MIB}, live
    assert [kind for kind, _ in seen] == ["alloc", "alloc", "alloc", "free", "free", "alloc", "alloc", "free", "oom"], seen
    kinds = [one["kind"] for one in events]
    for kind in ("node_begin", "node_end", "workspace", "range_push", "range_pop"):
        assert kinds.count(kind) == 1, (kind, kinds)
    work = next(one for one in events if one["kind"] == "workspace")
    assert work["address"] == BASE + 512 and work["thread"] == 2, work
    report = json.loads(run("report", "-f", "json", "t.mtap").stdout)
    assert report["oddities"] == dict.fromkeys(report["oddities"], 0), report["oddities"]
    sites = report["devices"][0]["call_sites"]
    assert sites[0]["line"] == {"function": "forward", "file": "/w/net.py", "line": 3}, sites
    assert "Out of memory" in run("oom", "t.mtap").stdout


def older():
    """2.0: blocks without addresses, whose frames are in a history; events without times."""
    made = snapshot()
    for segment in made["segments"]:
        for one in segment["blocks"]:
            one["history"] = [{"addr": one.pop("address"), "real_size": one.pop("requested_size"), "frames": one.pop("frames")}]
            one["state"] = one["state"].replace("active_pending_free", "active_awaiting_free")
    for one in made["device_traces"][0]:
        del one["time_us"]
    return made


def check_older():
    made = older()
    events, said = imported(pickle.dumps(made, 4))
    live, _ = totals(events)
    assert live == {BASE: 512, BASE + (64 << 20): 58 * MIB} and "no time" in said, (live, said)
    assert all(one["stack"] for one in events if one["kind"] == "alloc" and one["address"] == BASE)
    made["device_traces"] = [[]]
    live, _ = totals(imported(pickle.dumps(made, 2))[0])
    assert live == {BASE: 512, BASE + (64 << 20): 58 * MIB}, "a snapshot without a history"


def check_expandable():
    """Pages come in one piece and go in others."""
    made = {"segments": [{"device": 1, "address": BASE, "total_size": 22 * MIB, "segment_type": "large", "is_expandable": True,
                          "frames": [], "blocks": [block(BASE, 21 * MIB, "active_allocated"), block(BASE + 21 * MIB, MIB, "inactive")]}],
            "device_traces": [[], [event("segment_map", BASE, 40 * MIB, 1), event("alloc", BASE, 21 * MIB - 5, 2),
                                   event("segment_unmap", BASE + 22 * MIB, 18 * MIB, 3)]]}
    events, _ = imported(pickle.dumps(made))
    maps = [one["kind"] for one in events]
    assert maps.count("cuda_map") == 20 and maps.count("cuda_unmap") == 9, maps
    assert [one["size"] for one in events if one["kind"] == "alloc"] == [21 * MIB] and {one["device"] for one in events} == {1}


FORWARD = ['  File "/w/train.py", line 9, in main\n    loss = net(x)\n', '  File "/w/net.py", line 3, in Net.forward\n', "no such line\n"]


def check_requests():
    """Streams, pools, what was requested, frees that wait, forward's lines and the program's names."""
    def free(kind, address, time):
        return event(f"free_{kind}", address, 1000, time)
    entries = [event("alloc", BASE, 1000, 1000, stream=7, pool_id=(0, 1), user_metadata="cache"), event("alloc", BASE + 1024, 512, 1001),
               event("alloc", BASE + 2048, 100, 1002, [], forward_frames=FORWARD),
               event("alloc", BASE + 2560, 100, 1002, [], forward_frames=FORWARD, category="x", user_metadata="another tool's"),
               free("requested", BASE, 1003), free("requested", BASE + 1024, 1004), free("completed", BASE + 1024, 1005), free("completed", BASE, 1006)]
    made = {"segments": [], "device_traces": [entries], "allocator_settings": {"PYTORCH_CUDA_ALLOC_CONF": "max_split_size_mb:64"},
            "host_traces": [event("segment_alloc", 4096, 512, 900), event("alloc", 4096, 512, 900), event("segment_free", 8192, 64, 1007)],
            "host_segments": [{"device": -1, "address": 1 << 16, "total_size": 128, "segment_type": "small", "frames": [],
                               "blocks": [block(1 << 16, 128, "active_allocated")]}]}
    for data, name in (pickle.dumps(made), "r.pickle"), (json.dumps(made).encode(), "r.json"):
        events, said = imported(data, name)
        pinned = [(one["kind"], one["api"], one["address"], one.get("size")) for one in events if one["device"] == -1]
        assert pinned == [("cuda_malloc", "cudaHostAlloc", 8192, 64), ("cuda_malloc", "cudaHostAlloc", 1 << 16, 128),
                          ("cuda_malloc", "cudaHostAlloc", 4096, 512), ("cuda_free", "cudaFreeHost", 8192, None)], (pinned, said)
        assert not [one for one in events if one["kind"].startswith("cuda_") and one["device"] != -1], "a segment of a device"
        kept = [(one["kind"], one.get("stream", one.get("unused", one.get("address")))) for one in events
                if one["kind"] in ("request_stream", "request", "free_waits", "free_done", "named")]
        # The block of 100 bytes has a thread of its own: autograd's.
        assert kept == [("request_stream", 7), ("request", 24), ("named", BASE), ("request_stream", 0), ("request_stream", 0), ("request", 412),
                        ("request", 412), ("free_waits", None), ("free_done", BASE)], kept
        assert {one["pool"] for one in events if one["kind"] == "request_stream"} == {0, 1}
        waits = 1 + [one["kind"] for one in events].index("free_waits")
        lines = run("blocks", "-f", "csv", "--at", f"event:{waits}", "t.mtap").stdout.splitlines()
        assert sum('"Net.forward","/w/net.py",3' in line for line in lines) == 2, lines
        assert "max_split_size_mb:64" in run("info", "t.mtap").stdout
        assert run("info", name).stdout.splitlines()[0].split()[1] == name, "the name of the file, not of the trace made of it"


def check_annotations():
    """A later annotation replaces a name; it may concern a block that is from before the first event, or none."""
    old = BASE + MIB

    def annotate(address, name, time):
        return event("annotate", address, 1024, time, user_metadata=name)
    entries = [event("alloc", BASE, 1024, 1000, user_metadata="cache"), event("alloc", BASE + 1024, 1024, 1001),
               annotate(BASE, "packed", 1002), annotate(BASE, "again", 1003), annotate(old, "old", 1004), annotate(BASE + 512, "none", 1005),
               annotate(BASE, "", 1006), event("free_requested", BASE + 1024, 1024, 1007), annotate(BASE + 1024, "late", 1008)]
    made = {"device_traces": [entries], "segments": [
        {"device": 0, "address": BASE, "total_size": 2 * MIB, "segment_type": "small", "frames": [],
         "blocks": [block(BASE, 1024, "active_allocated"), block(BASE + 1024, 1024, "active_pending_free"),
                    block(BASE + 2048, MIB - 2048, "inactive"), block(old, 1024, "active_allocated"), block(old + 1024, MIB - 1024, "inactive")]}]}
    events, _ = imported(pickle.dumps(made))
    named = [one["address"] for one in events if one["kind"] == "named"]
    assert named == [BASE, BASE, BASE, old], named
    names = [(one["address"], one["name"]) for one in json.loads(run("blocks", "-f", "json", "--at", "end", "t.mtap").stdout)["devices"][0]["blocks"]]
    assert names == [(BASE, "again"), (old, "old")], names


def call(name, begin, end, came_from=None, thread=1, category="python_function"):
    more = {"CallFrom": came_from} if came_from else {}
    return {"ph": "X", "cat": category, "name": name, "pid": 9, "tid": thread, "ts": begin, "dur": end - begin, "args": {**more, "Ev Idx": 1}}


def profile():
    """with_stack=True: calls are in no order of their nesting; a node of backward has the line of the operator that a link begins at."""
    link = {"cat": "fwdbwd", "name": "fwdbwd", "id": 3, "pid": 9}
    given = [(12.5, 4096, BASE, 1), (15, 512, BASE + MIB, 1), (22.5, 1024, BASE + 2 * MIB, 2), (26, 2048, BASE + 3 * MIB, 2), (40, 8192, BASE + 4 * MIB, 1)]
    memory = [{"ph": "i", "name": "[memory]", "ts": ts, "pid": 9, "tid": thread, "args": {
        "Bytes": size, "Addr": address, "Device Id": 0, "Device Type": 1, "Total Allocated": 1 << 20, "Total Reserved": 2 * MIB}}
        for ts, size, address, thread in given]
    calls = [call("<built-in function linear>", 12, 13, "torch/nn/functional.py:7"), call("torch/nn/functional.py(4): linear", 11.5, 14, "net.py:11"),
             call("net.py(10): forward", 11, 20, "train.py:30"), call("train.py(1): <module>", 10, 30), call("net.py(20): later", 31, 32, "train.py:31"),
             call("autograd::engine::evaluate_function: AddmmBackward0", 22, 25, thread=2, category="cpu_op"),
             call("aten::mm", 22.25, 24, thread=2, category="cpu_op"),
             {**link, "ph": "f", "tid": 2, "ts": 22.125, "bp": "e"}, {**link, "ph": "s", "tid": 1, "ts": 12.25}]
    return {"traceEvents": [*memory, *calls]}


def check_profile_stacks():
    events, said = imported(json.dumps(profile()).encode(), "p.json")
    assert "does not record segments" in said and "no stacks" not in said, said
    table = json.loads(run("blocks", "-f", "json", "--at", "end", "t.mtap").stdout)
    found = {block["size"]: [[(frame["file"], frame["line"]) for frame in table["stacks"].get(str(block[stack]), [])]
                             for stack in ("stack", "forward_stack")] + [block["operator"]] for block in table["devices"][0]["blocks"]}
    forward = [("torch/nn/functional.py", 7), ("net.py", 11), ("train.py", 30)]
    assert found == {4096: [forward, [], None], 512: [[("net.py", 10), ("train.py", 30)], [], None],
                     1024: [[], forward, "AddmmBackward0"], 2048: [[], [], None], 8192: [[], [], None]}, found


def check_others():
    memory = [{"ph": "i", "name": "[memory]", "ts": ts, "args": {"Bytes": size, "Addr": address, "Device Id": device, "Device Type": kind,
                                                                "Total Allocated": 1, "Total Reserved": 1}}
              for ts, size, address, device, kind in [(10.5, 1024, BASE, 0, 1), (11, 99, 5, -1, 0), (12.25, -1024, BASE, 0, 1), (13, 2048, BASE, 1, 1)]]
    profile = {"schemaVersion": 1, "traceEvents": [{"ph": "X", "name": "aten::mm", "ts": 1, "args": {"Input Dims": [[1, 2], []]}}, *memory]}
    events, said = imported(json.dumps(profile).encode(), "p.json")
    assert [(one["kind"], one["device"], one["size"]) for one in events] == [("alloc", 0, 1024), ("free", 0, 1024), ("alloc", 1, 2048)]
    assert "does not record segments" in said, said
    # One thread's events come after another's; these are allocated before they are freed, within a microsecond.
    memory[:] = [{**memory[0], "ts": ts, "args": {**memory[0]["args"], "Bytes": size, "Total Allocated": total, "Total Reserved": 2 * MIB}}
                 for ts, size, total in [(100.25, -1024, 4096), (100.75, 1024, 5120), (90.0, 1024, 5120), (100.5, 512, 4608), (100.625, -512, 4096)]]
    events, said = imported(json.dumps({"traceEvents": memory, "baseTimeNanoseconds": 1_790_000_000_000_000_000}).encode(), "p.json")
    assert [(one["kind"], one["size"]) for one in events] == [("alloc", 1024), ("free", 1024), ("alloc", 512), ("free", 512), ("alloc", 1024)], events
    assert "4.00 KiB allocated before" in said and {one["reserved"] for one in events} == {2 * MIB - 4096}, (said, events)
    assert "start_realtime_ns=1790000000000090000" in run("dump", "t.mtap").stdout
    pathlib.Path("n.sqlite").unlink(missing_ok=True)
    database = sqlite3.connect("n.sqlite")
    database.execute("CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS (start, globalPid, deviceId, contextId, address, pc, bytes, memKind, "
                     "memoryOperationType, name)")
    database.executemany("INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES (?,1,?,1,?,0,?,?,?,NULL)",
                         [(5000, 0, BASE, 4096, 2, 0), (6000, 0, 77, 10, 0, 0), (7000, 0, BASE + MIB, 8192, 4, 0), (9000, 0, BASE, 4096, 2, 1)])
    database.commit()
    database.close()
    events, _ = imported(pathlib.Path("n.sqlite").read_bytes(), "n.sqlite")
    assert [(one["kind"], one["time_ns"], one["api"]) for one in events] == [
        ("cuda_malloc", 0, "cudaMalloc"), ("cuda_malloc", 2000, "cudaMallocManaged"), ("cuda_free", 4000, "cudaFree")], events


def check_public():
    """What public files have: paths of Windows, events without addresses, bytes that contradict each other."""
    here = [{"name": "forward", "filename": "C:\\w\\net.py", "line": 3},
            {"name": "_call_impl", "filename": "C:\\Python311\\Lib\\site-packages\\torch\\nn\\modules\\module.py", "line": 4},
            {"name": "inner", "filename": "C:\\Python311\\Lib\\contextlib.py", "line": 5}, {"name": "main", "filename": "C:\\w\\train.py", "line": 9}]
    entries = [event("segment_alloc", BASE, 2 * MIB, 1, here), event("alloc", BASE, 512, 2, here), event("alloc", BASE + 4 * MIB, 3 * MIB, 3, here[1:])]
    _, said = imported(pickle.dumps({"segments": [], "device_traces": [entries]}))
    assert "contradicts itself: 3.00 MiB allocated, but only 2.00 MiB reserved" in said, said
    report = run("report", "t.mtap").stdout
    assert "contradicts itself: device 0 has 3.00 MiB allocated, but only 2.00 MiB\nreserved" in report.replace("  ", " ") or "contradicts itself" in report, report
    lines = run("blocks", "-f", "csv", "t.mtap").stdout
    assert '"forward","C:/w/net.py",3' in lines and '"main","C:/w/train.py",9' in lines, lines
    bare = {"device": 0, "address": BASE, "total_size": 2 * MIB, "segment_type": "small", "is_expandable": False, "frames": [],
            "blocks": [block(BASE, 512, "active_allocated", []), block(BASE + 512, 2 * MIB - 512, "active_allocated", here[3:])]}
    imported(pickle.dumps({"segments": [bare], "device_traces": [[]]}))
    assert "in start-up" in run("report", "t.mtap").stdout, "no backward is known of what has no frames because it came before them"
    old = {"ph": "i", "name": "[memory]", "ts": 1, "args": {"Device Type": 1, "Device Id": 0, "Bytes": 1024}}
    host = {"ph": "i", "name": "[memory]", "ts": 2, "args": {"Device Type": 0, "Device Id": -1, "Bytes": 1024}}
    refused(json.dumps({"traceEvents": [old, host, old]}).encode(), "2 memory events have no address")
    beyond = [{"ph": "i", "name": "[memory]", "ts": 1, "args": {"Bytes": 512, "Addr": BASE, "Device Id": 0, "Device Type": 1,
                                                               "Total Allocated": 4 * MIB + 512, "Total Reserved": 8 * MIB}}]
    _, said = imported(json.dumps({"traceEvents": beyond}).encode(), "p.json")
    assert "4.00 MiB allocated before" in said, said
    assert "another 4.00 MiB, allocated before its first event" in run("report", "t.mtap").stdout


def refused(data, words):
    pathlib.Path("bad").write_bytes(data)
    pathlib.Path("t.mtap").unlink(missing_ok=True)
    done = run("import", "-o", "t.mtap", "bad", ends=2)
    assert done.stderr.startswith("memtap: bad: ") and done.stderr.count("\n") == 1 and words in done.stderr and not done.stdout, (words, done)
    assert not os.path.exists("t.mtap")


class Runs:
    def __reduce__(self):
        return os.system, ("touch was-run",)


def check_hostile():
    good = pickle.dumps(snapshot(), 4)
    for data, words in [
            (b"", "is empty"), (b"hello", "not a pickle"), (gzip.compress(gzip.compress(b"{}")), "gunzip"), (b"\x1f\x8b123", "error"), (b"PK\3\4abc", "archive"),
            (b"\x80\x04", "truncated at"), (b"{", "not a string"), (b"[", "unexpected end"), (b'{"segments": [}', "invalid JSON"), (b'{"a" 1}', "colon"),
            (b"[" * 100000, "too deep"), (b'["\\u12"]', "four digits"), (b'["\\q"]', "escape"), (b'{"segments": []} x', "trailing data"),
            (pickle.dumps(Runs(), 2), "GLOBAL"), (pickle.dumps(Runs(), 4), "runs code"), (pickle.dumps({"segments": Runs()}, 5), "runs code"),
            (b"\x80\x05\x97.", "NEXT_BUFFER"), (b"\x80\x02(i os\nsystem\n.", "INST"), (b"\x80\x04\x8c", "truncated within"),
            (b"\x80\x04X\xff\xff\xff\xff", "truncated within"), (b"\x80\x04\x8d" + b"\xff" * 8, "truncated within"), (b"\x80\x04\x8b\xff\xff\xff\x7f", "number of"),
            (b"\x80\x04" + b"(" * 20_000_000, "nested too deeply"), (b"\x80\x04Kr" + b"r\xff\xff\xff\x7f", "memo"), (b"\x80\x04h\5.", "unknown memo"),
            (b"\x80\x04e.", "stack is empty"), (b"\x80\x04K\1K\1a.", "not a list"), (b"\x80\x04K\1a.", "stack is empty"), (b"\x80\x04}K\1s.", "dictionary"), (b"\x80\x04K\1(u.", "dictionary"), (b"\x80\x04K\1K\1.", "one value"),
            (b"\x80\x04}\xee.", "0xee"), (b"\x80\x04}.", "neither a memory snapshot"), (b"{}", "neither a memory snapshot"), (b"[]", "neither a memory snapshot"),
            (pickle.dumps({"segments": [], "device_traces": [[event("segment_map", BASE, 1 << 50, 1)]]}, 4), "safety limit"),  # of pages
            (pickle.dumps({"segments": [], "device_traces": []}), "no memory events and no blocks"), (json.dumps({"traceEvents": []}).encode(), "no memory events"),
            (b"SQLite format 3\0" + b"\xff" * 200, "database")]:
        refused(data, words)
    for cut in range(2, len(good) - 1, 37):
        refused(good[:cut], "")
    assert not os.path.exists("was-run"), "nothing in a file runs"
    empty = sqlite3.connect("empty.sqlite")
    empty.execute("CREATE TABLE x (y)")
    empty.commit()
    empty.close()
    refused(pathlib.Path("empty.sqlite").read_bytes(), "--cuda-memory-usage=true")
    odd = snapshot()
    name = "a\nb\x1b[31m\0\u202e<script>\ud800".encode("utf-8", "surrogatepass")
    odd["segments"][0]["blocks"][0]["frames"] = [{"name": "NAME", "filename": "/w/NAME.py", "line": -5}]
    odd["device_traces"][0] += [event("alloc", -5, -7, -9), event("free_requested", 1 << 70, 1 << 63, 1 << 62), event("alloc", BASE, 512, 1010)] * 3
    data = pickle.dumps(odd, 4).replace(b"\x8c\x04NAME", b"\x8c" + struct.pack("B", len(name)) + name)
    events, _ = imported(data[:2] + b"\x95" + b"\0" * 8 + data[11:])  # whatever its frame says
    totals(events)
    shown = run("blocks", "--at", "end", "t.mtap").stdout
    assert "\x1b" not in shown and "\u202e" not in shown
    for first, last in ((-(1 << 62), 1 << 62), (-(1 << 58), 1 << 58), (1 << 63, (1 << 63) + 5), (-(1 << 70), 3)):  # times that no clock has
        far = {"device_traces": [[event("alloc", BASE, 512, first), event("free_completed", BASE, 512, last)]],
               "external_annotations": [{"stage": "START", "name": "x", "time_us": last}, {"stage": "END", "name": "x", "time_us": first}]}
        times = [one["time_ns"] for one in imported(pickle.dumps(far, 4))[0]]
        assert times == sorted(times) and 0 <= times[0] and times[-1] < 1 << 63, times
        base = sqlite3.connect("far.sqlite")
        base.executescript("DROP TABLE IF EXISTS CUDA_GPU_MEMORY_USAGE_EVENTS; CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS (start INT, globalPid INT, deviceId INT, "
                           "contextId INT, address INT, bytes INT, memKind INT, memoryOperationType INT, name INT, correlationId INT, localMemoryPoolAddress INT)")
        for time, kind in ((max(first, -(1 << 63)), 0), (min(last, (1 << 63) - 1), 1)):
            base.execute("INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES (?, 0, 0, 1, 4096, 512, 2, ?, NULL, 1, 0)", (min(time, (1 << 63) - 1), kind))
        base.commit()
        base.close()
        times = [one["time_ns"] for one in imported(pathlib.Path("far.sqlite").read_bytes())[0]]
        assert times == sorted(times) and 0 <= times[0], times
    shared = copy.copy(MAIN)  # a list in itself, and one that two things have
    shared.append(shared)
    events, _ = imported(pickle.dumps({"device_traces": [[event("alloc", BASE, 512, 1, shared), event("alloc", BASE + 512, 512, 1, shared)]]}))
    assert [one["kind"] for one in events] == ["request_stream", "alloc", "alloc"]


def check_command():
    pathlib.Path("s.pickle").write_bytes(pickle.dumps(snapshot()))
    pathlib.Path("s.mtap").unlink(missing_ok=True)
    assert "memtap report s.mtap" in run("import", "s.pickle").stdout
    assert "already exists" in run("import", "s.pickle", ends=2).stderr
    for arguments, words in [((), "no file given"), (("a", "b"), "one file at a time"), (("nothing",), "No such file"), (("-o", "-", "s.pickle"), "name a file"), ((".",), "directory"),
                             (("-o", "s.pickle/t.mtap", "s.pickle"), "cannot create"), (("s.mtap", "-o", "u.mtap"), "already a memtap trace"), (("s.pickle", "-o", "t.mtap"), "--force")]:
        done = run("import", *arguments, ends=2)
        assert words in done.stderr and done.stderr.count("\n") == 1, done
    run("report", "s.mtap")
    run("blocks", "s.mtap")
    for command in ("report", "blocks", "stacks"):  # with the import in between
        direct, through = run(command, "-f", "json", "s.pickle"), run(command, "-f", "json", "s.mtap")
        assert direct.stdout == through.stdout and "as memtap import would" in direct.stderr, direct
    pathlib.Path("no.json").write_text("{}")
    assert "neither a memory snapshot" in run("report", "no.json", ends=2).stderr
    run("diff", "s.mtap", "s.mtap")
    run("check", "s.mtap", "--against", "s.mtap", "--allow-ended", "any")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        check_snapshot()
        check_older()
        check_expandable()
        check_requests()
        check_annotations()
        check_profile_stacks()
        check_others()
        check_public()
        check_hostile()
        check_command()
        os.chdir("/")
