# SPDX-License-Identifier: Apache-2.0
"""A rank whose peers are absent takes what it takes among them, to the byte; each of several ranks leaves its
trace."""
import json
import os
import subprocess

import harness
from harness import MEMTAP, PYTHON, ROOT, check

# By the number of ranks; campaigns/ranks has all of them.
LAYOUTS = {2: ("ep", "pp-interleaved", "gloo"), 4: ("hsdp",)}

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
try:
    dist.broadcast_object_list([None], src=0)
except EOFError:
    pass
dist.destroy_process_group()
# A script may name another master, make itself one, or meet the others in a file.
os.environ.update(MASTER_ADDR="node7.example", MASTER_PORT="12355", TORCHELASTIC_USE_AGENT_STORE="False")
for how in "env://", "tcp://10.1.2.3:29500", f"file://{os.getcwd()}/meet-{os.getpid()}":
    dist.init_process_group("cpu:gloo,cuda:nccl", init_method=how, rank=int(os.environ["RANK"]), world_size=1000)
    both = [torch.ones(1, device=device) for device in ("cpu", "cuda")]
    for count in both:
        dist.all_reduce(count)
    print(*(count.item() for count in both))
    dist.destroy_process_group()
"""


# Two stages of two replicas; the mesh's groups say so.
STAGES = """
import os, torch, torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl")
mesh = init_device_mesh("cuda", (2, dist.get_world_size() // 2), mesh_dim_names=("stage", "replica"))
kept = torch.empty(1 + mesh.get_local_rank("stage") << 20, device="cuda")
dist.all_reduce(kept[:1], group=mesh.get_group("replica"))
dist.destroy_process_group()
"""


# A rank whose peers do not come; a program that starts a rank of its own.
MEETS = """
import torch.distributed as dist
dist.TCPStore("127.0.0.1", 0, 2, True, wait_for_workers=True)
"""
STARTS = """
import torch.distributed as dist
dist.init_process_group("gloo", init_method="tcp://127.0.0.1:29599", rank=1, world_size=2)
"""


def check_bad_jobs(work):
    env = {**os.environ, "CUDASIM_PATIENCE": "1", "WORLD_SIZE": "2", "RANK": "0"}
    with subprocess.Popen([MEMTAP, "simulate", "--", PYTHON, "-c", MEETS], cwd=work, env=env, text=True,
                          stderr=subprocess.PIPE) as waiting:
        said = next((line for line in waiting.stderr if line.startswith("cudasim")), "")
        check(said.startswith("cudasim: rank 0 of 2 has waited 1 s for the other processes of its job to meet it at "
                              "127.0.0.1:0; it goes on waiting"), f"who is waited for: {said!r}")
        check(waiting.poll() is None, "it goes on waiting")
        waiting.kill()
    done = harness.run([MEMTAP, "run", "--simulate", "h100", "--world-size", 2, "--rank", 0, "--", PYTHON, "-c", STARTS], cwd=work)
    check(done.returncode == 2 and "claims to be rank 1 of 2, but rank 0 of 2 is simulated alone: give a program that "
          "starts no ranks itself" in done.stderr, f"{done.returncode}, {done.stderr}")


def check_layouts(work, size, layouts):
    done = harness.must_run([MEMTAP, "simulate", "--gpu", "h100", "--world-size", size, "--", PYTHON,
                             ROOT / "tests/torch/ranks_alone.py", *layouts], cwd=work)
    wanted = [f"{layout} {rank}" for layout in layouts for rank in range(size)]
    lines = [line for line in done.stdout.splitlines() if line.split()[:1] and line.split()[0] in layouts]
    if not harness.equal("layouts", [" ".join(line.split()[:2]) for line in lines], wanted) or \
            not check(all(line.endswith(" equal") for line in lines), f"each of {size} ranks alone is as among others"):
        print(done.stdout, done.stderr)


def main():
    if harness.ON_GPU:
        harness.skip("a real card has all of its ranks")
    harness.need_torch()
    with harness.folder() as work:
        for size, layouts in LAYOUTS.items():
            check_layouts(work, size, layouts)
        done = harness.must_run([MEMTAP, "run", "--simulate", "h100", "--world-size", 1000, "--rank", "3,999",
                                 "-o", "%r.mtap", "--", PYTHON, "-c", RANK], cwd=work)
        harness.equal("each rank's output", done.stdout.splitlines(), [line for own in ("1 3000 3", "499 999000 7")
                                               for line in ("{'the same'} " + own, *3 * ["1000.0 1000.0"])])
        told = done.stderr.count("waits for a broadcast from rank 0, which is absent: an object that only")
        harness.equal("lines about an absent rank's object", told, 2)
        done = harness.must_run([MEMTAP, "report", "-f", "json", "3.mtap", "999.mtap"], cwd=work)
        check_bad_jobs(work)
        both = harness.must_run([MEMTAP, "simulate", "--gpu", "h100", "--world-size", 4, "--rank", "all-different", "--",
                                 PYTHON, "-c", STAGES], cwd=work).stderr
        check("by the groups of rank 0 2 x 2: 4 run" in both, f"the mesh is known: {both}")
        for rank in 0, 2:
            check(f"rank {rank} stands for 2 (2 runs" in both, f"a rank of each stage: {both}")
        harness.equal("the report's ranks", [rank["rank"] for rank in json.loads(done.stdout)["ranks"]], [3, 999])
    harness.finish()


main()
