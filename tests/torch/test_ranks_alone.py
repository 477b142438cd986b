# SPDX-License-Identifier: Apache-2.0
"""A rank whose peers are absent takes what it takes among them, to the byte; each of several ranks leaves its
trace."""
import json
import os
import subprocess
from pathlib import Path

import harness
from harness import MEMTAP, PYTHON, ROOT, check

# By the number of ranks; evaluation/ranks has all of them.
LAYOUTS = {2: ("ep", "pp-interleaved", "gloo"), 4: ("hsdp",)}

# A part of a job of 1,000 ranks, as the script of one. Two of them, each alone, have the same port at the same time.
RANK = """
import os, time, torch, torch.distributed as dist
begin = time.time()
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
    open(f"{how[:3]}-{os.environ['RANK']}", "w").close()
    while not all(os.path.exists(f"{how[:3]}-{rank}") for rank in (3, 999)):
        assert time.time() < begin + 300, "the other rank has failed"
        time.sleep(0.02)
    dist.destroy_process_group()
"""


# What rank 0 broadcasts: a seed, lists by their lengths, and at last something that the others do not wait for, and a
# call that only it makes. A value in a store that nobody has set is waited for, here until the line about it comes.
SENDS = """
import os, threading, torch, torch.distributed as dist
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl")
rank = dist.get_rank()
seed = torch.full((1,), 4711 if rank == 0 else -1, device="cuda")
dist.broadcast(seed, 0)
found = [{"name": "run 7"} if rank == 0 else None]
dist.broadcast_object_list(found, src=0)
every = [None] * 4
dist.all_gather_object(every, rank)
last = torch.full((2 + rank,), rank, device="cuda")
dist.broadcast(last, 0)
print(seed.item(), found, last.tolist())
if rank == 0:
    dist.all_reduce(seed)
dist.destroy_process_group()

def tcp():
    return dist.TCPStore("127.0.0.1", int(os.environ["MASTER_PORT"]), is_master=False, wait_for_workers=False)

def file():
    return dist.FileStore(f"kept-{rank}", 4)

def set_when_told(store, lines):
    for line in lines:
        if "has waited" in line:
            print(line, end="")
            store.set("best", "mine")

for make in tcp, file:
    store, other = make(), make()
    store.set(f"loss_{rank}", "0.5")
    reads, writes = os.pipe()
    was = os.dup(2)
    os.dup2(writes, 2)
    setter = threading.Thread(target=set_when_told, args=(other, open(reads)))
    setter.start()
    print(store.get(f"loss_{1 + rank}"), store.get("best"), store.multi_get([f"loss_{3 + rank}", "best"]))
    os.dup2(was, 2)
    os.close(writes)
    setter.join()  # it has read all that was said
"""


# A rank whose peers are not absent, and do not come; a program that starts a rank of its own.
BAD_JOBS = """
import os, threading, torch.distributed as dist
os.environ["CUDASIM_ALONE"] = "0"
reads, writes = os.pipe()
was = os.dup(2)
os.dup2(writes, 2)
waits = threading.Thread(target=dist.TCPStore, args=("127.0.0.1", 0, 2, True), daemon=True)
waits.start()
print(open(reads).readline(), waits.is_alive(), flush=True)
os.dup2(was, 2)
os.environ["CUDASIM_ALONE"] = "1"
dist.TCPStore("127.0.0.1", 0, 3, wait_for_workers=False)
dist.init_process_group("gloo", init_method="tcp://127.0.0.1:29599", rank=1, world_size=2)
"""


def check_bad_jobs(work):
    done = harness.run([MEMTAP, "run", "--simulate", "h100", "--world-size", 2, "--rank", 0, "--", PYTHON, "-c", BAD_JOBS], cwd=work,
                       env={"CUDASIM_PATIENCE": "1"})
    line, _, goes_on = done.stdout.partition("\n")
    check(line.startswith("cudasim: rank 0 of 2 has waited 1 s for the other processes of its job to meet it at 127.0.0.1:0; "
                          "still waiting"), f"who is waited for: {line!r}")
    harness.equal("it goes on waiting", goes_on.strip(), "True")
    check(done.returncode == 2 and "claims to be rank 1 of 2, but rank 0 of 2 is simulated alone; run a program that "
          "does not start ranks itself" in done.stderr, f"{done.returncode}, {done.stderr}")
    check("this process meets 3 ranks, but rank 0 of 2 is simulated alone" in done.stderr, f"ranks of its own: {done.stderr}")


def check_sent(work):
    """A rank gets what an earlier one of --rank has broadcast; where their calls differ, a line says so."""
    done = harness.run([MEMTAP, "simulate", "--world-size", 4, "--rank", "0,2", "--", PYTHON, "-c", SENDS], cwd=work,
                       env={"TMPDIR": work, "CUDASIM_PATIENCE": "0"})
    waited = ("cudasim: rank {} of 4 is simulated alone, and has waited 0 s for the key 'best' of a store, which another rank sets; "
              "still waiting; set it on every rank")
    read = 2 * ["b'0.5' b'mine' [b'0.5', b'mine']"]
    harness.equal("what rank 0 sent", sorted(done.stdout.splitlines()),
                  sorted(["4711 [{'name': 'run 7'}] [0, 0]", "4711 [{'name': 'run 7'}] [2, 2, 2, 2]"] +
                         2 * (read + [waited.format(0), waited.format(2)])))
    check("memtap: ranks 0 and 2 make different collective calls: call 7 is an all-reduce on rank 0, none on rank 2; real "
          "ranks would wait for each other" in done.stderr, f"a call of rank 0 only: {done.stderr}")
    check("rank 0 broadcasts 16 bytes where rank 2 waits for 32: their calls differ" in done.stderr,
          f"calls that differ: {done.stderr}")
    harness.equal("left behind", [name for name in os.listdir(work) if "memtap-sent" in name], [])


def check_layouts(work, size, layouts):
    groups = Path(work, f"groups-{size}")
    groups.touch()
    done = harness.must_run([MEMTAP, "simulate", "--gpu", "h100", "--world-size", size, "--", PYTHON,
                             ROOT / "tests/torch/ranks_alone.py", *layouts], cwd=work,
                            env={"CUDASIM_GROUPS": str(groups)})
    wanted = [f"{layout} {rank}" for layout in layouts for rank in range(size)]
    lines = [line for line in done.stdout.splitlines() if line.split()[:1] and line.split()[0] in layouts]
    if not harness.equal("layouts", [" ".join(line.split()[:2]) for line in lines], wanted) or \
            not check(all(line.endswith(" equal") for line in lines), f"each of {size} ranks alone is as among others"):
        print(done.stdout, done.stderr)
    if layouts == ("hsdp",):  # --rank all-different arranges ranks by such lines; each group's two ranks were run twice
        harness.equal("groups of the mesh: first, distance, ranks", sorted(groups.read_text().splitlines()),
                      [line for line in ("0 1 2", "0 2 2", "1 2 2", "2 1 2") for _ in range(4)])


def check_nccl(report):
    """What the simulated NCCL allocates is that of its communicators: 24 channels of 12 MiB each."""
    nccl = report["devices"][0]["balance"]["nccl"]
    check(nccl["communicators"] > 0, nccl)
    harness.equal("bytes of NCCL's communicators", nccl["bytes"], nccl["communicators"] * 24 * 12 << 20)


def main():
    if harness.ON_GPU:
        harness.skip("a real card has all of its ranks")
    harness.need_torch()
    with harness.folder() as work:
        for size, layouts in LAYOUTS.items():
            check_layouts(work, size, layouts)
        pair = [subprocess.Popen([MEMTAP, "run", "--simulate", "h100", "--world-size", "1000", "--rank", str(rank), "-o", "%r.mtap",
                                  "--", PYTHON, "-c", RANK], cwd=work, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                for rank in (3, 999)]
        for rank, own, one in zip((3, 999), ("1 3000 3", "499 999000 7"), pair):
            out, err = one.communicate()
            harness.equal(f"rank {rank}'s output", out.splitlines(), ["{'the same'} " + own, *3 * ["1000.0 1000.0"]])
            told = err.count("waits for a broadcast from rank 0, which is absent: an object that only")
            harness.equal("lines about an absent rank's object", told, 1)
        done = harness.must_run([MEMTAP, "report", "-f", "json", "3.mtap", "999.mtap"], cwd=work)
        told = harness.must_run([MEMTAP, "report", "3.mtap", "999.mtap"], cwd=work).stdout
        check("2 of the 1,000 processes of one job" in told, told)
        check_nccl(json.loads(harness.must_run([MEMTAP, "report", "-f", "json", "3.mtap"], cwd=work).stdout))
        check_bad_jobs(work)
        check_sent(work)
        harness.equal("the report's ranks", [rank["rank"] for rank in json.loads(done.stdout)["ranks"]], [3, 999])
    harness.finish()


main()
