# SPDX-License-Identifier: Apache-2.0
"""What PyTorch reserved and has free: a report says the bytes that PyTorch does, and where they are, and calls only free pieces of
the same stream and pool fragmentation; a compact copy says the same."""
import json
from pathlib import Path

import harness
from harness import MEMTAP, check, equal

PROGRAM = Path(__file__).with_name("cached.py")
# Where most of the free memory is at the end, and words that the report has, or has not.
WAYS = {"one_side_stream": ("other_pools", "cached for side stream 1"),
        "two_side_streams": ("other_pools", "cached for 2 other streams"),
        "stream_in_a_loop": ("other_pools", "cached for side stream 1"),
        "graph_of_each_shape": ("other_pools", "private pool"),
        "graphs_of_one_pool": ("other_pools", "private pool"),
        "pool_of_ours": ("other_pools", "cached for the MemPool ("),
        "emptied": (None, None), "emptied_in_part": (None, None), "emptied_twice": (None, None),
        "whole_segments": ("whole_segments", "torch.cuda.empty_cache() returns"),
        "left_by_an_evaluation": ("whole_segments", "torch.cuda.empty_cache() returns"),
        "wrong_sizes": ("whole_segments", "torch.cuda.empty_cache() returns"),
        "holes": ("pieces", "pieces between blocks"),
        "holes_of_a_third": ("pieces", "pieces between blocks"),
        "holes_beside_large_ones": ("pieces", "pieces between blocks")}


def report(trace, *at):
    return harness.must_run([MEMTAP, "report", *at, trace]).stdout


def check_way(way, trace, copy, said):
    mostly, words = WAYS[way]
    at_end = json.loads(report(trace, "--format", "json", "--at", "end"))["devices"][0]
    equal(f"{way}: reserved at the end", at_end["peak"]["reserved"], said["reserved"])
    equal(f"{way}: most reserved", at_end["most_reserved"]["reserved"], said["most"])
    pools = at_end["most_reserved"]["by"]["pools"]
    equal(f"{way}: pools at the peak of reserved", sum(pool["reserved"] for pool in pools), said["most"])
    cached = at_end["cached"]
    equal(f"{way}: pools at the end", sum(pool["reserved"] for pool in cached["pools"]), said["reserved"])
    equal(f"{way}: free", cached["other_pools"] + cached["whole_segments"] + cached["pieces"],
          said["reserved"] - said["allocated"])
    graphs = [pool["reserved"] for pool in pools if pool["pool"].startswith("private pool of graph")]
    equal(f"{way}: saved by one pool", at_end["most_reserved"]["by"]["sharing"], sum(graphs) - max(graphs, default=0))
    if mostly:
        equal(f"{way}: mostly", cached["mostly"], mostly)
        text = " ".join(report(trace, "--at", "end").split())
        check(words in text, f"{way}: no \"{words}\" in\n{text}")
    worst = at_end["fragmentation"]["worst"] if at_end["fragmentation"] else None
    if way == "graph_of_each_shape":
        check(f"saves up to {(sum(graphs) - max(graphs)) >> 20}.00 MiB" in text, text)
    if mostly in ("other_pools", "whole_segments"):
        check(not worst, f"{way} is called fragmented: {worst}")
    highest = json.loads(report(trace, "--format", "json", "--at", "reserved"))["devices"][0]
    equal(f"{way}: --at reserved", highest["peak"]["reserved"], said["most"])
    harness.must_run([MEMTAP, "compact", "-o", copy, trace])
    for at in ("end", "reserved"):
        of_copy = json.loads(report(copy, "--format", "json", "--at", at))["devices"][0]
        whole = at_end if at == "end" else highest
        equal(f"{way}, compact, {at}", [of_copy["cached"], of_copy["most_reserved"]["by"], of_copy["peak"]["reserved"]],
              [whole["cached"], whole["most_reserved"]["by"], whole["peak"]["reserved"]])


def check_sharing(folder):
    """What one pool saves is not more than is said."""
    most = [json.loads(report(folder / f"{way}.mtap", "--format", "json"))["devices"][0]["most_reserved"]
            for way in ("graph_of_each_shape", "graphs_of_one_pool")]
    saved = most[0]["reserved"] - most[1]["reserved"]
    check(0 < saved <= most[0]["by"]["sharing"], f"one pool saves {saved}, said: up to {most[0]['by']['sharing']}")


def main():
    harness.need_torch()
    with harness.folder() as work, harness.Forks(PROGRAM) as forks:
        for way in WAYS:
            trace = Path(work) / f"{way}.mtap"
            code, output = forks.run(trace, PROGRAM, way)
            if "has no attribute 'MemPool'" in output or "has no attribute 'use_mem_pool'" in output:
                continue  # PyTorch before 2.5
            if check(code == 0, f"{way} runs:\n{output}"):
                check_way(way, trace, Path(work) / f"copy-{way}.mtap", json.loads(output.splitlines()[0]))
        check_sharing(Path(work))
    harness.finish()


main()
