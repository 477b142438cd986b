# SPDX-License-Identifier: Apache-2.0
"""memtap export --format memory_viz against the snapshot that PyTorch's own recorder took of the same run: entry by
entry, segment by segment, block by block; torch.cuda._memory_viz reads it. And what torch.profiler recorded, joined by
--format perfetto --with."""
import csv
import gzip
import json
import pickle
import sys
from pathlib import Path

import harness
from harness import MEMTAP, check, equal

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
import wire  # noqa: E402

PLAIN = ("alloc", "free_requested", "free_completed", "segment_alloc", "segment_free")
CATEGORIES = {"parameters", "buffers", "gradients", "optimizer_state", "activations", "inputs", "temporaries",
              "workspace", "communication", "runtime", "unknown"}


def load(path):
    """Plain values only: a pickle that names a class is refused."""
    class Plain(pickle.Unpickler):
        def find_class(self, module, name):
            raise pickle.UnpicklingError(f"{module}.{name}")
    with open(path, "rb") as file:
        return Plain(file).load()


def streams(entries):
    """PyTorch's streams by the order in which they come."""
    known = {}
    return [known.setdefault(entry["stream"], len(known)) for entry in entries]


def entries_agree(ours, theirs):
    ours, theirs = ([e for e in trace if e["action"] in PLAIN] for trace in (ours, theirs))
    ours = ours[:len(theirs)]  # memtap goes on to the process's end
    for number, (own, other) in enumerate(zip(ours, theirs)):
        keys = ("action", "addr", "size")
        if [own[key] for key in keys] != [other[key] for key in keys]:
            equal(f"entry {number}", [own[key] for key in keys], [other[key] for key in keys])
            return
    equal("entries", len(ours), len(theirs))
    equal("their streams", streams(ours), streams(theirs))
    near = sum(abs(own["time_us"] - other["time_us"]) < 1_000_000 for own, other in zip(ours, theirs)
               if "time_us" in other)
    check(not theirs or "time_us" not in theirs[0] or near > len(theirs) * 0.99, f"{near} of {len(theirs)} times agree")
    lines = sum(any(f["filename"].endswith("recorded_twice.py") for f in own["frames"]) ==
                any(f["filename"].endswith("recorded_twice.py") for f in other["frames"])
                for own, other in zip(ours, theirs) if own["action"] == "alloc")
    check(lines > 0.95 * sum(e["action"] == "alloc" for e in ours), f"{lines} allocations with the script's line in both")


def expandable_agree(ours, theirs, until_us):
    """PyTorch notes one entry for several pieces."""
    def pages(trace, action):
        return sorted(at for e in trace if e["action"] == action and e.get("time_us", 0) <= until_us
                      for at in range(e["addr"], e["addr"] + e["size"], 2 << 20))
    for action in ("segment_map", "segment_unmap"):
        equal(action, pages(ours, action), pages(theirs, action))


def segments_of(snapshot):
    return sorted((s["address"], s["total_size"], s["allocated_size"], s["segment_type"],
                   [(b["size"], b["state"]) for b in s["blocks"] if b["state"] != "inactive"]) for s in snapshot["segments"])


def run(setting):
    print(f"{setting}:")
    with harness.folder() as work:
        trace, theirs, ours = (Path(work) / name for name in ("trace.mtap", "theirs.pickle", "ours.pickle"))
        harness.fork(trace, HERE / "recorded_twice.py", theirs, env=setting)
        newest, peak = Path(work) / "newest.pickle", Path(work) / "peak.pickle"
        harness.must_run([MEMTAP, "export", "-f", "memory_viz", "-o", ours, trace])
        harness.must_run([MEMTAP, "export", "-f", "memory_viz", "--newest", "100", "-o", newest, trace])
        harness.must_run([MEMTAP, "export", "-f", "memory_viz", "--at", "peak", "-o", peak, trace])
        own, other, info = load(ours), load(theirs), harness.Trace(trace).info
        start = int(info["start_monotonic_ns"])
        until_us = (int(info["start_realtime_ns"]) + other["monotonic_ns"] - start) // 1000
        then = Path(work) / "then.pickle"
        harness.must_run([MEMTAP, "export", "-f", "memory_viz", "--at", f"{other['monotonic_ns'] - start}ns", "-o", then, trace])
        entries_agree(own["device_traces"][0], other["device_traces"][0])
        expandable_agree(own["device_traces"][0], other["device_traces"][0], until_us)
        same = segments_of(load(then)), segments_of(other)
        check(same[0] == same[1], f"{len(same[1])} segments, and the blocks in them")
        if same[0] != same[1]:
            print(*next(pair for pair in zip(*same) if pair[0] != pair[1]), sep="\n")
        check(all(sum(b["size"] for b in s["blocks"]) == s["total_size"] for s in own["segments"]), "blocks tile each segment")
        found = {e["category"] for e in own["device_traces"][0] if "category" in e}
        check({"parameters", "activations", "optimizer_state", "unknown"} <= found <= CATEGORIES, f"categories {sorted(found)}")
        few = load(newest)["device_traces"][0]
        equal("the newest entries", few[:-1], own["device_traces"][0][-101:-1])
        at_peak = load(peak)
        equal("no entries of a moment", sum(map(len, at_peak["device_traces"])), 0)
        check(sum(s["allocated_size"] for s in at_peak["segments"]) >
              sum(s["allocated_size"] for s in own["segments"]), "more is allocated at the peak than at the end")
        harness.fork("", HERE / "viz_loader.py", ours, newest, peak, before=harness.alone())


def sources(trace):
    """(size, operator of backward, the program's line) of each request, in their order."""
    rows = csv.DictReader(harness.must_run([MEMTAP, "export", "-f", "csv", trace]).stdout.splitlines())
    return [(row["size"], row["operator"], Path(row["file"]).name, row["line"])
            for row in sorted(rows, key=lambda row: int(row["event"])) if row["level"] == "pytorch"]


def run_profiled():
    """Memory stands under what torch.profiler saw: the gradient of the weight appears while backward runs."""
    print("torch.profiler:")
    with harness.folder() as work:
        trace, profile, picture = (Path(work) / name for name in ("trace.mtap", "profile.json", "picture.pftrace"))
        harness.fork(trace, HERE / "profiled.py", profile)
        profile.with_suffix(".json.gz").write_bytes(gzip.compress(profile.read_bytes()))
        for file in (profile, profile.with_suffix(".json.gz")):
            harness.must_run([MEMTAP, "export", "-f", "perfetto", "--with", file, "-o", picture, trace])
            shown = wire.Perfetto(picture.read_bytes())
            equal("faults", shown.faults(), [])
            ranges = [shown.tracks[track] for _, kind, track, name in shown.events if kind == "begin" and name == "a step"]
            equal("ranges", len(ranges), 3)
            made = [time for time, kind, _, name in shown.events if kind == "begin" and "MiB gradients" in str(name)]
            linear = [(time, name) for time, kind, track, name in shown.events
                      if kind == "begin" and name in ("aten::linear", "AddmmBackward0") and "profiler: " in shown.tracks[track]]
            equal("operators", len(linear), 6)
            steps = sorted(time for time, _ in linear)
            check(made and steps[0] < made[0] < steps[2], f"the gradient appears in the first step: {made}, {steps}")
        made = Path(work) / "imported.mtap"
        said = harness.must_run([MEMTAP, "import", "-o", made, profile]).stdout
        check("allocated before the first event is left out" in said, f"the weights are older than the profile: {said}")
        of_profile, own = (json.loads(harness.must_run([MEMTAP, "report", "-f", "json", path]).stdout)["peak"] for path in (made, trace))
        unused = [peak["reserved"] - peak["allocated"] for peak in (of_profile, own)]
        equal("the profile's unused cache at its peak, in KiB", unused[0] >> 10, unused[1] >> 10)
        lines = [sources(path) for path in (made, trace)]
        check(len(lines[0]) > 10, f"the profile has requests: {lines[0]}")
        equal("lines of the profile, of its calls", lines[0], lines[1][-len(lines[0]):])
        other = Path(work) / "other.json"
        other.write_text('{"traceEvents": [{"ph": "X", "name": "x", "pid": 1, "tid": 1, "ts": 5, "dur": 1}]}')
        told = harness.must_run([MEMTAP, "export", "-f", "perfetto", "--with", other, "-o", picture, trace], ends=2).stderr
        check("its times are not near" in told, f"another run's: {told}")


harness.need_torch()
for each in ({}, {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}):
    run(each)
run_profiled()
harness.finish()
