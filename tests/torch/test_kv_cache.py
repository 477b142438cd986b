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

TOKENS = 200 + 19  # of each of 8 texts; the 20th is not an input any more
BLOCKS = -(-300 // 16)  # that vLLM's longest sequence takes, of 103
ROOM = {  # tokens, longest, sequences, at least
    "dynamic": (8 * TOKENS, TOKENS, 8, False), "mine": (8 * TOKENS, TOKENS, 8, False),
    "scores": (8 * TOKENS, TOKENS, 8, False), "static": (8 * 220, 220, 8, False),
    "runner": (103 * 16, 300, 103 // BLOCKS, False), "window": (103 // BLOCKS * 300, 300, 103 // BLOCKS, True),
    "groups": (103 // 2 // BLOCKS * 300, 300, 103 // 2 // BLOCKS, True), "sglang": (1234, 0, 0, False)}


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
    harness.finish()


main()
