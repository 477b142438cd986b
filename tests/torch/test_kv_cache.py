# SPDX-License-Identifier: Apache-2.0
"""Caches of keys and values are a category of their own, whatever the file that made them: transformers' by their class, those of
modules by their attributes; to the byte. What generate() keeps of logits are activations. How many tokens have room in them is what their makers say. What vLLM's runner and sampler make
beside the cache has its category too."""
import json
import re
from pathlib import Path

import harness
from harness import MEMTAP, check, equal

PROGRAM = Path(__file__).resolve().parent / "kv_caches.py"
DEAD = PROGRAM.with_name("kv_dead.py")

TOKENS = 200 + 19  # of each of 8 texts; the 20th is not an input any more
BLOCKS = -(-300 // 16)  # that vLLM's longest sequence takes, of 103
ROOM = {  # tokens, longest, sequences, at least
    "dynamic": (8 * TOKENS, TOKENS, 8, False), "mine": (8 * TOKENS, TOKENS, 8, False),
    "scores": (8 * TOKENS, TOKENS, 8, False), "static": (8 * 220, 220, 8, False),
    "runner": (103 * 16, 300, 103 // BLOCKS, False), "window": (103 // BLOCKS * 300, 300, 103 // BLOCKS, True),
    "groups": (103 // 2 // BLOCKS * 300, 300, 103 // 2 // BLOCKS, True), "sglang": (1234, 0, 0, False)}


def advises_a_smaller_one(kind, memory, forks, work):
    """Where the cache fills the card, a cache of half the size comes first; it serves the run, with half the length or half the batch."""
    trace, env = Path(work) / f"{kind}-dead.mtap", {"CUDASIM_MEMORY": str(memory << 20)}
    code, output = forks.run(trace, DEAD, kind, "64", "1024", env=env)
    if not check(code and re.search("OutOfMemoryError|ALLOC_FAILED", output), f"{kind}: {code}, {output[-300:]}"):
        return
    told = json.loads(harness.must_run([MEMTAP, "oom", "--format", "json", trace]).stdout)
    first = told["suggestions"][0]
    check(told["categories"]["kv_cache"] > told["allocated"] / 2, f"{kind}: {told['categories']} of {told['allocated']}")
    equal(f"{kind}: first", (first["change"], first["fits"], first["how"]), ("kv-cache:1/2", True, "modelled"))
    text = harness.must_run([MEMTAP, "oom", trace]).stdout
    check("accumulated" not in text and "optimizer" not in text and "largest batch" not in text, f"{kind}: advice for training: {text}")
    for batch, length in ("64", "512"), ("32", "1024"):
        trace.unlink()
        code, output = forks.run(trace, DEAD, kind, batch, length, env=env)
        check(code == 0 and output.endswith("end\n"), f"{kind}, {batch} sequences of {length}: {code}, {output[-300:]}")


def main():
    harness.need_torch()
    kinds = ["buffers", "pool", "runner", "window", "groups", "sglang"]
    if harness.has("transformers"):
        kinds += ["dynamic", "mine", "static", "scores"]
    with harness.folder() as work, harness.Forks() as forks:
        for kind in kinds:
            trace = Path(work) / f"{kind}.mtap"
            code, output = forks.run(trace, PROGRAM, kind)
            found = dict(re.findall(r"kept (\w+) (\d+)", output))
            if not check(code == 0 and found, f"{kind}: ended with {code}: {output}"):
                continue
            told = json.loads(harness.must_run([MEMTAP, "report", "--format", "json", trace]).stdout)
            device = told["devices"][0]
            for category, size in found.items():
                equal(f"{kind}: {category}", device["peak"]["categories"].get(category), int(size))
            room = device["cache_room"]
            equal(f"{kind}: room", room and tuple(room[key] for key in ("tokens", "longest", "sequences", "at_least")), ROOM.get(kind))
        if not harness.ON_GPU:
            for kind, memory in (("own", 1700), ("transformers", 1400)):
                if kind == "own" or harness.has("transformers"):
                    advises_a_smaller_one(kind, memory, forks, work)
    harness.finish()


main()
