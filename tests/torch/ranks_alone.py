# SPDX-License-Identifier: Apache-2.0
"""ranks_alone.py LAYOUT...: trains in each layout, as WORLD_SIZE real ranks and as each rank alone, and
prints what differs in the allocator's counters after each step. Started by memtap simulate --world-size."""
import functools
import gc
import json
import os
import socket
import sys
import traceback

import torch
import torch.distributed as dist
from torch import nn

RANKS = int(os.environ["WORLD_SIZE"])
STEPS, BATCH, LENGTH, WIDTH, LAYERS = 3, 4, 32, 256, 4


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.up = nn.Linear(WIDTH, 4 * WIDTH)
        self.down = nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        return x + self.down(torch.relu(self.up(self.norm(x))))


def layers(count=LAYERS):
    return nn.Sequential(*(Layer() for _ in range(count)), nn.Linear(WIDTH, 1000, bias=False)).cuda()


def batch():
    """Ranks have batches of different sizes."""
    return torch.randn(BATCH + dist.get_rank() % 2, LENGTH, WIDTH, device="cuda")


def steps_of(model, optimizer=None, clips=True):
    optimizer = optimizer or torch.optim.AdamW(model.parameters(), foreach=clips)

    def step(_):
        model(batch() if clips else torch.randn(BATCH, LENGTH, WIDTH, device="cuda")).square().mean().backward()
        if clips:
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
    return step


def ddp():
    return steps_of(nn.parallel.DistributedDataParallel(layers(), device_ids=[torch.cuda.current_device()]))


def fsdp1():
    from torch.distributed.fsdp import FullyShardedDataParallel
    from torch.distributed.fsdp.wrap import ModuleWrapPolicy
    return steps_of(FullyShardedDataParallel(layers(), auto_wrap_policy=ModuleWrapPolicy({Layer}),
                                             use_orig_params=True))


def fully(mesh):
    from torch.distributed.fsdp import fully_shard, MixedPrecisionPolicy
    model = layers()
    for part in [*model, model]:
        fully_shard(part, mesh=mesh, mp_policy=MixedPrecisionPolicy(param_dtype=torch.bfloat16))
    return steps_of(model)


def mesh_of(*shape, names):
    from torch.distributed.device_mesh import init_device_mesh
    return init_device_mesh("cuda", shape, mesh_dim_names=names)


def fsdp2():
    return fully(mesh_of(RANKS, names=("shard",)))


def hsdp():
    return fully(mesh_of(RANKS // 2, 2, names=("replicate", "shard")))


def tp(sequence=False):
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
    from torch.distributed.tensor.parallel import SequenceParallel
    from torch.distributed.tensor import Shard
    model = layers()
    plan = {"up": ColwiseParallel(), "down": RowwiseParallel()}
    if sequence:
        plan = {"norm": SequenceParallel(), "up": ColwiseParallel(input_layouts=Shard(1)),
                "down": RowwiseParallel(output_layouts=Shard(1))}
    for layer in list(model)[:-1]:
        parallelize_module(layer, mesh_of(RANKS, names=("tp",)), plan)
    return steps_of(model, clips=False)


def pp(kind="Schedule1F1B"):
    from torch.distributed import pipelining
    rank, micro = dist.get_rank(), torch.randn(BATCH, LENGTH, WIDTH, device="cuda")
    last = rank == RANKS - 1
    model = (layers(1) if last else nn.Sequential(Layer(), Layer())).cuda()
    stage = pipelining.PipelineStage(model, rank, RANKS, torch.device("cuda", torch.cuda.current_device()),
                                     input_args=micro, output_args=model(micro))
    schedule = getattr(pipelining, kind)(stage, 2 * RANKS, loss_fn=lambda y, t: (y - t).square().mean())
    optimizer = torch.optim.AdamW(model.parameters())

    def step(_):
        x = torch.randn(2 * RANKS * BATCH, LENGTH, WIDTH, device="cuda")
        target = {"target": torch.randn(2 * RANKS * BATCH, LENGTH, 1000, device="cuda")} if last else {}
        schedule.step(*([x] if rank == 0 else []), **target)
        optimizer.step()
        optimizer.zero_grad()
    return step


def zero1():
    from torch.distributed.optim import ZeroRedundancyOptimizer
    model = nn.parallel.DistributedDataParallel(layers(), device_ids=[torch.cuda.current_device()])
    return steps_of(model, ZeroRedundancyOptimizer(model.parameters(), optimizer_class=torch.optim.AdamW))


def ep():
    """Tokens go to experts on all ranks by an exchange whose sizes are exchanged first."""
    expert = nn.Linear(WIDTH, WIDTH).cuda()
    optimizer = torch.optim.AdamW(expert.parameters())

    def step(_):
        x = torch.randn(BATCH * LENGTH, WIDTH, device="cuda")  # alike: peers' tokens are unknown
        sent = [len(x) // RANKS + (r < len(x) % RANKS) for r in range(RANKS)]
        counts = torch.empty(RANKS, dtype=torch.long, device="cuda")
        dist.all_to_all_single(counts, torch.tensor(sent, device="cuda"))
        received = counts.tolist()
        y = torch.empty(sum(received), WIDTH, device="cuda")
        dist.all_to_all_single(y, x, received, sent)
        expert(y).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
    return step


def objects():
    """What training scripts say to each other."""
    rank, group = dist.get_rank(), dist.new_group(list(range(dist.get_rank() % 2, RANKS, 2)))

    def step(i):
        found = [None] * RANKS
        dist.all_gather_object(found, {"step": i})
        assert found == [{"step": i}] * RANKS, found
        total = torch.ones(8, device="cuda")
        dist.all_reduce(total, group=group)
        assert total.tolist() == [dist.get_world_size(group)] * 8, total
        dist.all_reduce(total, op=dist.ReduceOp.MAX)
        dist.barrier()
    return step


LAYOUTS = {"ddp": ddp, "fsdp1": fsdp1, "fsdp2": fsdp2, "hsdp": hsdp, "tp": tp,
           "sp": functools.partial(tp, True), "pp": pp, "pp-gpipe": functools.partial(pp, "ScheduleGPipe"),
           "zero1": zero1, "ep": ep, "objects": objects}


def counters():
    """All that PyTorch's allocator counts, and what the device has left."""
    return {**torch.cuda.memory_stats(), "free": torch.cuda.mem_get_info()[0]}


def run_rank(name, out):
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl", device_id=torch.device("cuda", torch.cuda.current_device()))
    step = LAYOUTS[name]()
    for i in range(STEPS):
        step(i)
        print(json.dumps(counters()), file=out, flush=True)
    dist.destroy_process_group()


def start_rank(name, rank, port=None):
    """Start a rank, with others by their port, or alone: its output's path, and its process."""
    path = f"{name}-{rank}-{'real' if port else 'alone'}.json"
    pid = os.fork()
    if pid:
        return path, pid
    os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank % torch.cuda.device_count()))
    if port:
        os.environ.update(MASTER_PORT=str(port), CUDASIM_ALONE="0", TORCHELASTIC_USE_AGENT_STORE="False")
    code = 1
    try:
        with open(path, "w", encoding="utf-8") as out:
            run_rank(name, out)
        code = 0
    except BaseException:  # pylint: disable=broad-exception-caught
        traceback.print_exc()
    sys.stderr.flush()
    os._exit(code)


def wait_for(started):
    """What it said, a row a step."""
    path, pid = started
    if os.waitpid(pid, 0)[1]:
        print(f"{path[:-5]} failed")
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as free:
        return free.getsockname()[1]


def compare(name, rank, wanted, got):
    unlike = sorted({key for a, b in zip(wanted, got) for key in a if a[key] != b[key]})
    is_equal = len(wanted) == len(got) == STEPS and not unlike
    peaks = [rows[-1]["allocated_bytes.all.peak"] if rows else 0 for rows in (wanted, got)]
    print(name, rank, *peaks, "equal" if is_equal else f"unlike: {len(wanted)} and {len(got)} steps {unlike}",
          flush=True)


def main():
    for name in sys.argv[1:] or list(LAYOUTS):
        port = free_port()
        real = [start_rank(name, rank, port) for rank in range(RANKS)]
        real = [wait_for(one) for one in real]
        for rank in range(RANKS):
            compare(name, rank, real[rank], wait_for(start_rank(name, rank)))


main()
