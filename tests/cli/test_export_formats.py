# SPDX-License-Identifier: Apache-2.0
"""test_export_formats.py MAKE_TRACES MEMTAP: each format of memtap export, read back: it has the bytes that memtap
blocks lists, of odd traces too; and files appear whole or not at all."""
import csv
import gzip
import io
import json
import os
import pathlib
import pickle
import pty
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import wire
from checks import check, finish

make_traces, memtap = (os.path.abspath(path) for path in sys.argv[1:3])
TRACES = ["training", "mixed", "layers", "phases", "oom", "fragmented", "hostile", "c-program", "native", "unknown"]


def export(trace, *options):
    done = subprocess.run([memtap, "export", *options, trace], capture_output=True, check=False)
    if done.returncode:
        check(False, f"{trace} {options}: {done.stderr.decode()}")
    return done.stdout


def live(trace, moment="peak"):
    """Device -> bytes that are live then."""
    done = subprocess.run([memtap, "blocks", "--format", "csv", "--at", moment, trace], capture_output=True, text=True, check=True)
    sums = {}
    for row in csv.DictReader(io.StringIO(done.stdout)):
        sums[row["device"]] = sums.get(row["device"], 0) + int(row["size"])
    return sums


def see_pprof(trace, bytes_by_device):
    profile = gzip.decompress(export(trace, "-f", "pprof"))
    texts = [text.decode() for text in wire.every(profile, 6)]
    check(texts[:1] == [""], f"{trace}: the first string is empty")
    types = [texts[wire.first(each, 1)] + "/" + texts[wire.first(each, 2)] for each in wire.every(profile, 1)]
    check(types == ["blocks/count", "space/bytes"], f"{trace}: {types}")
    locations = {wire.first(each, 1) for each in wire.every(profile, 4)}
    functions = {wire.first(each, 1) for each in wire.every(profile, 5)}
    check(all(wire.first(wire.first(each, 4), 1) in functions for each in wire.every(profile, 4)), f"{trace}: functions")
    total = 0
    for sample in wire.every(profile, 2):
        check(set(wire.packed(wire.first(sample, 1))) <= locations, f"{trace}: locations")
        blocks, size = wire.packed(wire.first(sample, 2))
        labels = {texts[wire.first(each, 1)] for each in wire.every(sample, 3)}
        check(blocks and {"category", "phase"} <= labels, f"{trace}: labels {labels}")
        total += size
    check(total == sum(bytes_by_device.values()), f"{trace}: pprof has {total} bytes, blocks {bytes_by_device}")


def see_speedscope(trace, bytes_by_device):
    file = json.loads(export(trace, "-f", "speedscope"))
    frames = file["shared"]["frames"]
    check(len({json.dumps(frame) for frame in frames}) == len(frames), f"{trace}: each frame once")
    for profile in file["profiles"]:
        check(len(profile["samples"]) == len(profile["weights"]), f"{trace}: a weight a sample")
        check(sum(profile["weights"]) == profile["endValue"], f"{trace}: the end")
        check(all(0 <= i < len(frames) for sample in profile["samples"] for i in sample), f"{trace}: frames")
    total = sum(profile["endValue"] for profile in file["profiles"])
    check(total == sum(bytes_by_device.values()), f"{trace}: speedscope has {total} bytes")


def see_folded(trace, bytes_by_device):
    lines = export(trace, "-f", "folded").decode().splitlines()
    check(sum(int(line.rpartition(" ")[2]) for line in lines) == sum(bytes_by_device.values()), f"{trace}: folded")


def history_faults(snapshot):
    """As memory_viz goes back from the end: each block that is there lies within a segment that is there."""
    for device, entries in enumerate(snapshot["device_traces"]):
        of_device = [segment for segment in snapshot["segments"] if segment["device"] == device]
        segments = {segment["address"]: segment["total_size"] for segment in of_device}
        blocks = {block["address"]: block["size"] for segment in of_device for block in segment["blocks"] if block["state"] != "inactive"}
        for entry in reversed(entries):
            if entry["action"] == "segment_free":
                segments[entry["addr"]] = entry["size"]
            elif entry["action"] == "free_completed":
                blocks[entry["addr"]] = entry["size"]
                if not any(at <= entry["addr"] and entry["addr"] + entry["size"] <= at + size for at, size in segments.items()):
                    yield f"{entry['addr']:x} was in no segment before it was freed"
            elif entry["action"] in ("segment_alloc", "alloc"):
                if (segments if entry["action"] == "segment_alloc" else blocks).pop(entry["addr"], None) is None:
                    yield f"{entry['action']} of {entry['addr']:x}, which was not there later"
        if segments or blocks:
            yield f"at the begin there are {segments} {blocks}"


def see_memory_viz(trace, _):
    if trace in (f"{name}.mtap" for name in ("c-program", "native", "phases", "unknown")):
        done = subprocess.run([memtap, "export", "-f", "memory_viz", trace], capture_output=True, text=True, check=False)
        check(done.returncode == 2 and "no memory of PyTorch's" in done.stderr and not done.stdout, f"{trace}: {done}")
        return
    snapshot = pickle.loads(export(trace, "-f", "memory_viz"))
    for fault in list(history_faults(snapshot))[:3]:
        check(False, f"{trace}: {fault}")
    for entry in (entry for entries in snapshot["device_traces"] for entry in entries):
        forward = entry.get("forward_frames", [])
        check(all(text.startswith('  File "') and text.endswith("\n") for text in forward), f"{trace}: {forward}")
    for segment in snapshot["segments"]:
        at = segment["address"]
        for block in segment["blocks"]:
            check(block["address"] == at, f"{trace}: blocks tile a segment")
            at += block["size"]
        check(at == segment["address"] + segment["total_size"], f"{trace}: to its end")
    for entries in snapshot["device_traces"]:
        check(not entries or any(entry.get("category") == "unknown" for entry in entries), f"{trace}: unknown")
    peak = pickle.loads(export(trace, "-f", "memory_viz", "--at", "peak"))
    for device, size in live(trace).items():
        if device:
            there = sum(s["allocated_size"] for s in peak["segments"] if s["device"] == int(device))
            check(there in (size, 0), f"{trace}: device {device} has {there} bytes at its peak, not {size}")


def see_perfetto(trace, _):
    picture = wire.Perfetto(export(trace, "-f", "perfetto"))
    for fault in picture.faults()[:3]:
        check(False, f"{trace}: {fault}")
    at_end, last = live(trace, "end"), picture.last()
    shown = [value for name, value in last.items() if name.endswith("/ allocated")]
    check(sum(shown) == sum(at_end.values()), f"{trace}: perfetto ends with {shown}, blocks with {at_end}")
    parts = sum(value for name, value in last.items() if not name.endswith(("/ allocated", "/ reserved")))
    check(parts == sum(shown), f"{trace}: categories have {parts} bytes")


def see_tables(trace, bytes_by_device):
    rows = list(csv.DictReader(io.StringIO(export(trace, "-f", "csv", "--at", "peak").decode())))
    check(sum(int(row["size"]) for row in rows) == sum(bytes_by_device.values()), f"{trace}: csv at the peak")
    blocks = list(csv.DictReader(io.StringIO(export(trace, "-f", "csv").decode())))
    events = list(csv.DictReader(io.StringIO(export(trace, "-f", "csv", "--table", "events").decode())))
    kinds = {int(row["event"]): row for row in events}
    for block in blocks:
        begin = kinds[int(block["event"])]
        check((begin["address"], begin["size"]) == (block["address"], block["size"]), f"{trace}: event {block['event']}")
    for of_file in ("arrow", "arrow_stream"):
        check(len(export(trace, "-f", of_file)) > 1000, f"{trace}: {of_file}")


def see_files():
    """What stands in a file before stays, unless the new one is whole; and nothing else is left there."""
    before = sorted(os.listdir("."))
    pathlib.Path("out.csv").write_text("before")
    for options in (["--at", "step:99"], ["--at", "oom"]):
        done = subprocess.run([memtap, "export", "-f", "csv", "-o", "out.csv", *options, "training.mtap"], capture_output=True, check=False)
        check(done.returncode == 2, f"{options}: exit code {done.returncode}")
    check(pathlib.Path("out.csv").read_text() == "before", "a failed export changes no file")
    small = ["sh", "-c", 'ulimit -f 1; trap "" XFSZ; exec "$0" export -f arrow -o out.csv training.mtap', memtap]
    done = subprocess.run(small, capture_output=True, text=True, check=False)
    check(done.returncode == 2 and "cannot be written" in done.stderr, f"no room: {done.returncode} {done.stderr}")
    check(pathlib.Path("out.csv").read_text() == "before", "an export without room changes no file")
    subprocess.run([memtap, "export", "-f", "csv", "-o", "out.csv", "training.mtap"], check=True)
    check(pathlib.Path("out.csv").read_bytes() == export("training.mtap", "-f", "csv"), "a file has what goes to stdout")
    check(sorted(os.listdir(".")) == sorted([*before, "out.csv"]), f"left behind: {set(os.listdir('.')) - set(before)}")


def see_terminal():
    main, other = pty.openpty()
    done = subprocess.run([memtap, "export", "-f", "pprof", "training.mtap"], stdout=other, stderr=subprocess.PIPE, text=True, check=False)
    check(done.returncode == 2 and "use -o FILE" in done.stderr, f"a terminal: {done.returncode} {done.stderr}")
    os.close(main)
    os.close(other)


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    subprocess.run([make_traces, "."], check=True)
    for name in TRACES:
        path = f"{name}.mtap"
        sums = live(path)
        for see in (see_pprof, see_speedscope, see_folded, see_memory_viz, see_perfetto, see_tables):
            see(path, sums)
    see_files()
    see_terminal()
    os.chdir("/")
finish()
