# SPDX-License-Identifier: Apache-2.0
"""memtap import of snapshots that a real PyTorch makes, against memtap's own recording of the same run: allocated and
reserved bytes after every event of the allocator, the blocks and segments at the end, lines and categories; also of a
history that lost its beginning, with expandable segments, and as JSON."""
import json
import pickle
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from harness import MEMTAP, check, equal, finish, folder, fork, must_run, need_torch, run  # noqa: E402

PROGRAM = r"""
import json, os, random, sys
import torch

record = torch.cuda.memory._record_memory_history
try:
    record(max_entries=int(sys.argv[2]))
except TypeError:
    record(True, trace_alloc_max_entries=int(sys.argv[2]))


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a = torch.nn.Linear(256, 1024)
        self.b = torch.nn.Linear(1024, 256)

    def forward(self, x):
        return self.b(torch.relu(self.a(x)))


net = Net().cuda()
optimizer = torch.optim.Adam(net.parameters())
for step in range(3):
    x = torch.randn(512, 256, device="cuda")
    optimizer.zero_grad()
    net(x).square().mean().backward()
    optimizer.step()
random.seed(5)
held = {}
for i in range(1500):
    if held and random.random() < 0.48:
        del held[random.choice(list(held))]
    else:
        size = random.choice([random.randrange(1, 4096), random.randrange(4096, 1 << 20), random.randrange(1 << 20, 60 << 20), 60_000_000])
        held[i] = torch.empty(size, dtype=torch.uint8, device="cuda")
    if i % 500 == 499:
        torch.cuda.empty_cache()
try:
    torch.empty(1 << 50, dtype=torch.uint8, device="cuda")
except RuntimeError:
    pass
made = torch.cuda.memory._snapshot()
torch.cuda.memory._dump_snapshot(sys.argv[1])
with open(sys.argv[1] + ".json", "w") as out:
    json.dump(made, out)
"""


def dumped(trace):
    lines = must_run([MEMTAP, "dump", "-f", "json", trace]).stdout.splitlines()
    return [event for event in map(json.loads, lines) if "thread" in event]


def blocks_of(events):
    return [(event["record"], event["size"], event["allocated"], event["reserved"]) for event in events
            if event["record"] in ("alloc", "free", "oom") and event["device"] == 0]


def live_at_end(events):
    live = {}
    for event in events:
        if event["record"] == "alloc":
            live[event["address"]] = event["size"]
        elif event["record"] == "free":
            live.pop(event["address"], None)
    return live


def segments_at_end(events):
    """By address, or by the handle of physical memory."""
    live = {}
    for event in events:
        if event["record"] == "cuda_malloc":
            live[event["address"]] = event["size"]
        elif event["record"] == "cuda_free":
            live.pop(event["address"])
    return live


def snapshot_blocks(path):
    made = pickle.loads(path.read_bytes())
    live, reserved = {}, 0
    for segment in made["segments"]:
        reserved += segment["total_size"]
        address = segment["address"]
        for block in segment["blocks"]:
            if block["state"] == "active_allocated":
                live[address] = block["size"]
            address += block["size"]
    return live, reserved


def lines_of(trace, *more):
    """Bytes at the peak by category, and by line and category."""
    report = json.loads(must_run([MEMTAP, "report", "-f", "json", *more, trace]).stdout)
    sites = {}
    for site in report["devices"][0]["call_sites"]:
        # Which operator of backward made a block, only native frames tell without labels.
        line = site["line"] and not site["operator"] and (site["line"]["file"], site["line"]["line"])
        key = (site["category"], line or None)
        sites[key] = sites.get(key, 0) + site["bytes"]
    return report["peak"], sites


def entries_of(path):
    """Each entry with its request's stream (by the order in which they come) and pool."""
    known, kept = {}, []
    for entry in pickle.loads(path.read_bytes())["device_traces"][0]:
        if entry["action"] in ("alloc", "free_requested", "free_completed", "segment_alloc", "segment_free", "oom"):
            where = (known.setdefault(entry["stream"], len(known)), entry.get("pool_id")) if entry["action"] != "oom" else (None, None)
            kept.append((entry["action"], entry.get("addr"), entry["size"], *where))
    return kept


def compare(work, name, entries, settings=None):
    """The same run, recorded twice; the imported one, and what it should be."""
    dump, own, made = (work / f"{name}{end}" for end in (".pickle", ".own.mtap", ".mtap"))
    (work / "program.py").write_text(PROGRAM)
    fork(own, work / "program.py", dump, entries, env=settings)
    said = must_run([MEMTAP, "import", "-o", made, dump]).stdout
    events, wanted = dumped(made), dumped(own)
    live, reserved = snapshot_blocks(dump)
    equal(f"{name}: live blocks at the end", live_at_end(events), live)
    equal(f"{name}: reserved at the end", sum(segments_at_end(events).values()), reserved)
    check("the final size" not in said, f"{name}: {said}")
    got, should = blocks_of(events), blocks_of(wanted)
    should = should[:max(i for i, event in enumerate(should) if event[0] == "oom") + 1]
    if entries > 100000:
        equal(f"{name}: events", len(got), len(should))
        wrong = next((pair for pair in zip(got, should) if pair[0] != pair[1]), None)
        check(not wrong, f"{name}: the first event that differs: {wrong}")
    else:
        n = sum(1 for event in events if event["time_ns"] > 0 and event["record"] in ("alloc", "free", "oom"))
        equal(f"{name}: the newest events' totals", [event[0] for event in got[-n:]], [event[0] for event in should[-n:]])
        equal(f"{name}: allocated", [event[2] for event in got[-n // 2:]], [event[2] for event in should[-n // 2:]])
        check("were allocated before the first event" in said, f"{name}: {said}")
    if entries > 100000:
        must_run([MEMTAP, "import", "-o", work / f"{name}.json.mtap", f"{dump}.json"])
        equal(f"{name}: as JSON", [(one["record"], one.get("size")) for one in dumped(work / f"{name}.json.mtap")],
              [(one["record"], one.get("size")) for one in events])
        (peak, sites), (own_peak, own_sites) = lines_of(made), lines_of(own, "--no-labels")
        if "pt_autograd" not in must_run([MEMTAP, "dump", own]).stdout:
            # PyTorch 2.1 gives autograd's threads no names; an import knows them, since they have no Python: its gradients are found.
            check(not own_peak["categories"]["gradients"], f"{name}: gradients without labels")
            found = sites.pop(("gradients", None), 0)
            sites["other", None] = sites.get(("other", None), 0) + found
            peak["categories"]["gradients"] -= found
            peak["categories"]["other"] += found
        equal(f"{name}: peak", (peak["allocated"], peak["reserved"], peak["phase"]), (own_peak["allocated"], own_peak["reserved"], own_peak["phase"]))
        equal(f"{name}: categories", peak["categories"], own_peak["categories"])
        equal(f"{name}: lines", sites, own_sites)
    if name == "whole":
        must_run([MEMTAP, "export", "-f", "memory_viz", "-o", work / "again.pickle", made])
        first, again = entries_of(dump), entries_of(work / "again.pickle")
        has_pools = any(entry[4] for entry in first)  # from 2.1 or 2.2 on
        if not has_pools:
            again = [(*entry[:4], None) for entry in again]
        wrong = next((pair for pair in zip(first, again) if pair[0] != pair[1]), None)
        check(len(first) == len(again) and not wrong, f"{name}: exported again: {len(first)} and {len(again)} entries, the first that differs: {wrong}")
        planned = must_run([MEMTAP, "plan", made]).stdout
        check("totals match" in planned or "Replayed" in planned, f"{name}: {planned[:400]}")
    for command in "blocks", "oom", "stacks", "view":
        more = ["-o", work / "page.html"] if command == "view" else []
        done = run([MEMTAP, command, *more, made])
        check(done.returncode == 0 or "without its page" in done.stderr, f"{name}: memtap {command}: {done.stderr}")


def main():
    need_torch()
    with folder() as work:
        work = Path(work)
        compare(work, "whole", 1_000_000)
        compare(work, "expandable", 1_000_000, {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"})
        compare(work, "ring", 700)
    finish()


main()
