# SPDX-License-Identifier: Apache-2.0
"""A rank whose peers are absent takes what it takes among them, to the byte; each of several ranks leaves its
trace."""
import json

import harness
from harness import MEMTAP, PYTHON, ROOT, check

LAYOUTS, RANKS = ("ddp", "fsdp2"), 2

# A part of a job of 1,000 ranks, as the script of one.
RANK = """
import os, torch, torch.distributed as dist
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl")
kept = torch.empty(1 << (20 + dist.get_rank() // 999), device="cuda")
total = torch.full((1,), dist.get_rank(), device="cuda")
dist.all_reduce(total)
found = [None] * dist.get_world_size()
dist.all_gather_object(found, "the same")
odd = dist.new_group(list(range(1, 1000, 2)))
dist.all_reduce(total, dist.ReduceOp.MAX, group=odd)
print(set(found), dist.get_rank(odd), total.item(), torch.cuda.current_device())
dist.destroy_process_group()
"""


def main():
    if harness.ON_GPU:
        harness.skip("a real card has all of its ranks")
    harness.need_torch()
    with harness.folder() as work:
        done = harness.must_run([MEMTAP, "simulate", "--gpu", "h100", "--world-size", RANKS, "--", PYTHON,
                                 ROOT / "tests/torch/ranks_alone.py", *LAYOUTS], cwd=work)
        wanted = [f"{layout} {rank}" for layout in LAYOUTS for rank in range(RANKS)]
        lines = [line for line in done.stdout.splitlines() if line.split()[:1] and line.split()[0] in LAYOUTS]
        if not harness.equal("layouts", [" ".join(line.split()[:2]) for line in lines], wanted) or \
                not check(all(line.endswith(" equal") for line in lines), "each rank alone is as among others"):
            print(done.stdout, done.stderr)
        done = harness.must_run([MEMTAP, "run", "--simulate", "h100", "--world-size", 1000, "--rank", "3,999",
                                 "-o", "%r.mtap", "--", PYTHON, "-c", RANK], cwd=work)
        harness.equal("each rank's output", done.stdout.splitlines(), ["{'the same'} 1 3000 3", "{'the same'} 499 999000 7"])
        done = harness.must_run([MEMTAP, "report", "-f", "json", "3.mtap", "999.mtap"], cwd=work)
        harness.equal("the report's ranks", [rank["rank"] for rank in json.loads(done.stdout)["ranks"]], [3, 999])
        done = harness.must_run([MEMTAP, "simulate", "--world-size", 4, "--", PYTHON, "-c",
                                 RANK.replace("nccl", "cpu:gloo,cuda:nccl")], ends=2)
        check("ProcessGroupGloo: rank 0 of 4 is simulated alone" in done.stderr, f"gloo: {done.stderr}")
    harness.finish()


main()
