# SPDX-License-Identifier: Apache-2.0
"""ranks_alone.py LAYOUT...: trains in each layout, as WORLD_SIZE real ranks and as each rank alone, and
prints what differs in the allocator's counters after each step. NAME=COMMAND is a layout that a program trains: a
script or -m MODULE with its arguments; there a step is one of torch's optimizers. Started by memtap simulate --world-size."""
import functools
import gc
import json
import os
import runpy
import shlex
import socket
import sys
import traceback

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed import pipelining
from torch.distributed.pipelining import _backward
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FullyShardedDataParallel, MixedPrecisionPolicy, fully_shard
from torch.distributed.fsdp.wrap import ModuleWrapPolicy
from torch.distributed.nn.functional import all_to_all_single
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.distributed.tensor import Shard
from torch.distributed.tensor.experimental import context_parallel
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, SequenceParallel, parallelize_module
from torch.optim.optimizer import register_optimizer_step_post_hook

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
    return steps_of(FullyShardedDataParallel(layers(), auto_wrap_policy=ModuleWrapPolicy({Layer}),
                                             use_orig_params=True))


def fully(mesh):
    model = layers()
    for part in [*model, model]:
        fully_shard(part, mesh=mesh, mp_policy=MixedPrecisionPolicy(param_dtype=torch.bfloat16))
    return steps_of(model)


def mesh_of(*shape, names):
    return init_device_mesh("cuda", shape, mesh_dim_names=names)


def fsdp2():
    return fully(mesh_of(RANKS, names=("shard",)))


def hsdp():
    return fully(mesh_of(RANKS // 2, 2, names=("replicate", "shard")))


def tp(sequence=False):
    model = layers()
    plan = {"up": ColwiseParallel(), "down": RowwiseParallel()}
    if sequence:
        plan = {"norm": SequenceParallel(), "up": ColwiseParallel(input_layouts=Shard(1)),
                "down": RowwiseParallel(output_layouts=Shard(1))}
    for layer in list(model)[:-1]:
        parallelize_module(layer, mesh_of(RANKS, names=("tp",)), plan)
    return steps_of(model, clips=False)


def pp(kind="Schedule1F1B", stages=None):
    """stages: those of this rank, of how many; else one each. All know the shapes between them, since a rank that is
    alone cannot ask for them."""
    device, rank = torch.device("cuda", torch.cuda.current_device()), dist.get_rank()
    mine, count = stages(rank) if stages else ([rank], RANKS)
    parts = [layers(1) if i == count - 1 else nn.Sequential(Layer(), Layer()).cuda() for i in mine]
    made = []
    for i, part in zip(mine, parts):
        between = torch.randn(BATCH, LENGTH, WIDTH, device="cuda", requires_grad=i > 0)
        made.append(pipelining.PipelineStage(part, i, count, device, input_args=between, output_args=part(between)))
    loss = lambda y, target: (y - target).square().mean()
    schedule = getattr(pipelining, kind)(made if stages else made[0], 2 * RANKS, loss_fn=loss)
    optimizer = torch.optim.AdamW([p for part in parts for p in part.parameters()])
    x = [torch.randn(2 * RANKS * BATCH, LENGTH, WIDTH, device="cuda")] if 0 in mine else []
    target = {}
    if count - 1 in mine:
        target["target"] = torch.randn(2 * RANKS * BATCH, LENGTH, 1000, device="cuda")

    def step(_):
        schedule.step(*x, **target)
        optimizer.step()
        optimizer.zero_grad()
    return step


def in_order(kind, stages):
    """A zero-bubble schedule whose frees have one order. It keeps nodes in sets, which are ordered by address, and autograd's thread and
    the caller both hold a gradient at the end of a call: who drops it last differs from run to run."""
    found = _backward.get_param_groups

    def ordered(inputs, params, edges):
        place = {node: i for i, node in enumerate(params)}
        groups = found(inputs, params, edges)
        for group in groups:
            group["params"] = sorted(group["params"], key=place.get)
            group["intermediates"] = sorted(group["intermediates"], key=lambda node: node._sequence_nr())
        return sorted(groups, key=lambda group: place[group["params"][0]])

    _backward.get_param_groups = ordered
    torch.autograd.set_multithreading_enabled(False)
    return pp(kind, stages)


def looped(rank):
    return [rank, rank + RANKS], 2 * RANKS


def folded(rank):
    return [rank, 2 * RANKS - 1 - rank], 2 * RANKS


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        q, k, v = self.qkv(x).unflatten(-1, (3, 4, WIDTH // 4)).transpose(1, 3).unbind(2)
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).flatten(2))


def cp():
    """Each rank has a part of each sequence; keys and values go round."""
    mesh = mesh_of(RANKS, names=("cp",))
    model = nn.Sequential(Attention(), Layer(), Attention()).cuda().bfloat16()
    optimizer = torch.optim.AdamW(model.parameters())

    def step(_):
        x = torch.randn(BATCH, 64 * RANKS, WIDTH, device="cuda", dtype=torch.bfloat16)
        with context_parallel(mesh, buffers=[x], buffer_seq_dims=[1]):
            model(x).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
    return step


def zero1():
    model = nn.parallel.DistributedDataParallel(layers(), device_ids=[torch.cuda.current_device()])
    return steps_of(model, ZeroRedundancyOptimizer(model.parameters(), optimizer_class=torch.optim.AdamW))


def ep():
    """Tokens go to experts on all ranks by an exchange whose sizes are exchanged first. Rank r's experts get r + 1
    parts. All ranks route alike: what another rank's router does, a rank that is alone cannot know."""
    expert = nn.Linear(WIDTH, WIDTH).cuda()
    router = nn.Linear(WIDTH, WIDTH).cuda()
    optimizer = torch.optim.AdamW([*expert.parameters(), *router.parameters()])
    sent = [8 * (r + 1) for r in range(RANKS)]

    def step(_):
        x = router(torch.randn(sum(sent), WIDTH, device="cuda"))
        counts = torch.empty(RANKS, dtype=torch.long, device="cuda")
        dist.all_to_all_single(counts, torch.tensor(sent, device="cuda"))
        received = counts.tolist()
        y = all_to_all_single(torch.empty(sum(received), WIDTH, device="cuda"), x, received, sent)
        y = all_to_all_single(torch.empty(sum(sent), WIDTH, device="cuda"), expert(y), sent, received)
        y.square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
    return step


def objects(backend=None):
    """What training scripts say to each other, by NCCL or gloo."""
    rank, device = dist.get_rank(), "cpu" if backend else "cuda"
    group = [dist.new_group(list(range(half, RANKS, 2)), backend=backend) for half in range(2)][rank % 2]
    whole = dist.new_group(backend=backend)

    def step(i):
        found = [None] * RANKS
        dist.all_gather_object(found, {"step": i}, group=whole)
        assert found == [{"step": i}] * RANKS, found
        dist.all_gather_object(found, bytes([1 + i]) * (3 << 20), group=whole)  # more than other contents may be
        assert found == [bytes([1 + i]) * (3 << 20)] * RANKS
        total = torch.ones(8, device=device)
        dist.all_reduce(total, group=group)
        assert total.tolist() == [dist.get_world_size(group)] * 8, total
        dist.all_reduce(total, op=dist.ReduceOp.MAX)
        dist.barrier(whole)
        if backend:
            dist.monitored_barrier(whole)
            assert dist.get_backend(whole) == backend and dist.get_rank(whole) == rank, dist.get_backend(whole)
    return step


LAYOUTS = {"ddp": ddp, "fsdp1": fsdp1, "fsdp2": fsdp2, "hsdp": hsdp, "tp": tp,
           "sp": functools.partial(tp, True), "cp": cp, "pp": pp, "pp-gpipe": functools.partial(pp, "ScheduleGPipe"),
           "pp-interleaved": functools.partial(pp, "ScheduleInterleaved1F1B", looped),
           "pp-zero-bubble": functools.partial(in_order, "ScheduleInterleavedZeroBubble", looped),
           "pp-v": functools.partial(in_order, "ScheduleZBVZeroBubble", folded),
           "pp-dual-v": functools.partial(in_order, "ScheduleDualPipeV", folded),
           "zero1": zero1, "ep": ep, "objects": objects, "gloo": functools.partial(objects, "gloo")}


def counters():
    """All that PyTorch's allocator counts, and what the device has left."""
    return {**torch.cuda.memory_stats(), "free": torch.cuda.mem_get_info()[0]}


def run_program(command, out):
    def note(*_):
        gc.collect()
        print(json.dumps(counters()), file=out, flush=True)

    register_optimizer_step_post_hook(note)
    gc.disable()
    sys.argv = shlex.split(command)
    if sys.argv[0] == "-m":
        runpy.run_module(sys.argv.pop(1), run_name="__main__", alter_sys=True)
    else:
        sys.path.insert(0, os.path.dirname(sys.argv[0]))
        runpy.run_path(sys.argv[0], run_name="__main__")


def run_rank(name, out):
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("cpu:gloo,cuda:nccl" if name == "gloo" else "nccl", device_id=torch.device("cuda", torch.cuda.current_device()))
    step = LAYOUTS[name]()
    gc.disable()  # a cycle that is collected at another moment is freed at another moment
    for i in range(STEPS):
        step(i)
        gc.collect()
        print(json.dumps(counters()), file=out, flush=True)
    dist.destroy_process_group()


def start_rank(name, rank, port=None):
    """Start a rank, with others by their port, or alone: its output's path, and its process."""
    name, _, command = name.partition("=")
    path = f"{name}-{rank}-{'real' if port else 'alone'}.json"
    pid = os.fork()
    if pid:
        return path, pid
    for variable in [each for each in os.environ if each.startswith(("OMPI_", "PMI_", "SLURM_"))]:
        del os.environ[variable]  # they are the first rank's
    os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank % torch.cuda.device_count()))
    if port:
        os.environ.update(MASTER_PORT=str(port), CUDASIM_ALONE="0", TORCHELASTIC_USE_AGENT_STORE="False")
    else:  # as --rank 0,1,... does: what rank 0 broadcasts, the others get
        os.makedirs(f"sent-{name}", exist_ok=True)
        os.environ["CUDASIM_SENT"] = os.path.abspath(f"sent-{name}")
    code = 1
    try:
        with open(path, "w", encoding="utf-8") as out:
            if command:
                run_program(command, out)
            else:
                run_rank(name, out)
        code = 0
    except SystemExit as end:
        code = end.code or 0
    except BaseException:  # pylint: disable=broad-exception-caught
        traceback.print_exc()
    sys.stdout.flush()
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


def unlike(wanted, got):
    return sorted({key for a, b in zip(wanted, got) for key in a if a[key] != b[key]})


def compare(name, rank, wanted, got, again):
    """again: a second real run, asked for where the first differs from the rank alone: what differs between two real
    runs does not count (zero-bubble schedules free in an order that follows addresses)."""
    wrong, moves = unlike(wanted, got), 0
    has_all = len(wanted) == len(got) >= STEPS
    if wrong and has_all:
        moving = unlike(wanted, again()[rank])
        wrong, moves = [key for key in wrong if key not in moving], len(moving)
    is_equal = has_all and not wrong
    peaks = [rows[-1]["allocated_bytes.all.peak"] if rows else 0 for rows in (wanted, got)]
    print(name, rank, *peaks, f"unlike: {len(wanted)} and {len(got)} steps {wrong}" if not is_equal else
          f"equal but for {moves} counters in which two real runs differ" if moves else "equal", flush=True)


def run_real(name):
    port = free_port()
    started = [start_rank(name, rank, port) for rank in range(RANKS)]
    return [wait_for(one) for one in started]


def main():
    for name in sys.argv[1:] or list(LAYOUTS):
        real, again = run_real(name), functools.cache(functools.partial(run_real, name))
        for rank in range(RANKS):
            compare(name.partition("=")[0], rank, real[rank], wait_for(start_rank(name, rank)), again)


main()
