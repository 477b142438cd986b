# SPDX-License-Identifier: Apache-2.0
"""test_categories.py SCRIPT: the report's categories at the peak against hand-made sums: of the
script's own tensors, found in the program by walking its models and optimizers, and of the shapes
that the architecture has. And the totals of each phase, as in test_totals.py."""
import json
import sys

import harness
import totals
from harness import MEMTAP, equal, last_before

MIB = 2**20
CATEGORIES = ("parameters", "gradients", "optimizer_state")


def rounded(size):
    """PyTorch hands out multiples of 512 bytes."""
    return (size + 511) // 512 * 512


def fp32(*shapes):
    total = 0
    for shape in shapes:
        elements = 1
        for n in shape:
            elements *= n
        total += rounded(4 * elements)
    return total


def qwen(layers=28, hidden=1536, wide=8960, kv=256, vocabulary=151936):
    """Bytes of Qwen2.5-1.5B's parameters; the output layer is the embedding."""
    layer = [(hidden, hidden), (hidden,), (kv, hidden), (kv,), (kv, hidden), (kv,),
             (hidden, hidden), (wide, hidden), (wide, hidden), (hidden, wide), (hidden,), (hidden,)]
    return fp32((vocabulary, hidden), (hidden,), *(layer * layers))


# Script, its arguments, bytes of its parameters by hand (None: only as found in the program), bytes
# of activations at the peak by hand (None: not known), and where the peak is.
CASES = [
    # The output; the loss is one block.
    ("conv_vs_linear.py", ["--layer", "conv"], fp32((64, 3, 3, 3), (64,)), 12_845_056 + 512, None),
    ("conv_vs_linear.py", ["--layer", "linear"], fp32((1024, 1024), (1024,)), 4_096 + 512, None),
    ("linear_loop.py", [], fp32((50_000, 10_000), (50_000,)), None, None),
    ("qwen_adamw.py", [], qwen(), None, "before the step"),
    ("qwen_adamw.py", ["--batch", "2"], qwen(), None, "in the step"),
    ("diffusion_unet.py", [], None, None, "before the step"),
]


def blocks_of(trace):
    """Each block's life: (address, size, begin, end)."""
    live, blocks = {}, []
    for event in trace.of("alloc", "free"):
        if event["record"] == "alloc":
            live[event["address"]] = block = {"size": event["size"], "begin": event["time_ns"],
                                              "end": float("inf"), "is": None}
            blocks.append((event["address"], block))
        else:
            live.pop(event["address"])["end"] = event["time_ns"]
    return blocks


def name_blocks(blocks, phases, start):
    """Marks the blocks that hold the tensors which the program had at each phase."""
    by_address = {}
    for address, block in blocks:
        by_address.setdefault(address, []).append(block)
    for phase in phases:
        now = phase["time_ns"] - start
        for category in CATEGORIES:
            for address, size in phase["truth"][category]:
                holders = [b for b in by_address.get(address, []) if b["begin"] <= now < b["end"]]
                if harness.check(len(holders) == 1, f"a block holds the tensor at {address:#x}"):
                    # PyTorch does not split a rest of up to 1 MiB off a big block.
                    harness.check(0 <= holders[0]["size"] - rounded(size) <= MIB,
                                  f"{size} bytes in a block of {holders[0]['size']}")
                    holders[0]["is"] = category


def place(phases, start, peak_ns):
    """Where in a training step the peak is: the last phase before it tells."""
    times = [{"time_ns": phase["time_ns"] - start} for phase in phases]
    before = phases[last_before(times, peak_ns)]["name"]
    return "in the step" if before.endswith("backward") else "before the step"


def test(script, arguments, parameters, activations, where):
    label = " ".join([script, *arguments])
    with harness.folder() as work:
        path, phases = harness.record(work, script, *arguments)
        trace = harness.Trace(path)
        report = json.loads(harness.must_run([MEMTAP, "report", "--format", "json", path]).stdout)
    peak = report["peak"]
    totals.compare(trace, phases)
    blocks = blocks_of(trace)
    name_blocks(blocks, phases, trace.start)
    found = {category: 0 for category in CATEGORIES}
    for _, block in blocks:
        if block["begin"] <= peak["time_ns"] < block["end"] and block["is"]:
            found[block["is"]] += block["size"]

    print(label, json.dumps(peak, indent=1))
    highest = max(trace.of("alloc"), key=lambda event: event["allocated"])
    equal(f"{label}: allocated at the peak", peak["allocated"], highest["allocated"])
    equal(f"{label}: the categories' sum", sum(peak["categories"].values()), peak["allocated"])
    equal(f"{label}: oddities", [n for n in report["oddities"].values() if n], [])
    for category in CATEGORIES:
        equal(f"{label}: {category}", peak["categories"].get(category, 0), found[category])
    if parameters is not None:
        at_end = phases[-1]["truth"]["parameters"] or phases[0]["truth"]["parameters"]
        equal(f"{label}: parameters by hand", sum(rounded(size) for _, size in at_end), parameters)
    if activations is not None:
        equal(f"{label}: activations by hand", peak["categories"]["activations"], activations)
    if where is not None:
        equal(f"{label}: the peak's place", place(phases, trace.start, peak["time_ns"]), where)


def main():
    harness.need_torch(*(["transformers"] if sys.argv[1].startswith("qwen") else []))
    cases = [case for case in CASES if case[0] == sys.argv[1]]
    harness.check(cases, f"there are cases for {sys.argv[1]}")
    for case in cases:
        test(*case)
    harness.finish()


main()
