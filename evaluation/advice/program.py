# SPDX-License-Identifier: Apache-2.0
"""Trains a small model in many ways, so that memory runs out in many ways, and says how far it got: its last line is
JSON, {"ended": "whole" or "oom", "at": [step, phase, blocks done], "allocations": N, "peak": bytes}. What advice would have
a user change is an option: --batch-scale, --length-scale, --checkpoint, --checkpoint-modules, --optimizer, --set-to-none, --forget,
--autocast, --dtype, --offload, --loss-chunks."""
import argparse
import contextlib
import fnmatch
import functools
import json
import sys
from pathlib import Path

import torch
import torch.distributed as dist
import torch.nn.functional as F
from cases import PHASES, is_out_of_memory
from torch import nn
from torch.testing._internal.distributed.fake_pg import FakeStore
from torch.utils.checkpoint import checkpoint

sys.path.append(str(Path(__file__).resolve().parents[2] / "tests" / "planner"))
import changed
import models

progress = [0, 0, 0]


def reach(step, phase):
    progress[:] = [step, PHASES.index(phase), 0]


def passed(tensor):
    """One block further, in forward now and in backward when its gradient comes."""
    progress[2] += 1
    if tensor.requires_grad:
        tensor.register_hook(lambda gradient: progress.__setitem__(2, progress[2] + 1))
    return tensor


class Attention(nn.Module):
    def __init__(self, width, heads=8):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        n, length, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(n, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        weights = (q @ k.transpose(-1, -2) / 8).softmax(-1)
        x = x + self.out((weights @ v).transpose(1, 2).reshape(n, length, width))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Dense(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        return x + self.down(F.relu(self.up(x)))


class Mixed(nn.Module):
    """Rows and columns, as an MLP-Mixer."""

    def __init__(self, width, length):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.rows = nn.Sequential(nn.Linear(length, 2 * length), nn.GELU(), nn.Linear(2 * length, length))
        self.columns = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        x = x + self.rows(self.norm1(x).transpose(1, 2)).transpose(1, 2)
        return x + self.columns(self.norm2(x))


class Convolution(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.conv1 = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.norm1, self.norm2 = nn.BatchNorm2d(width), nn.BatchNorm2d(width)

    def forward(self, x):
        return F.relu(x + self.norm2(self.conv2(F.relu(self.norm1(self.conv1(x))))))


class Recurrent(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.cell = nn.GRUCell(width, width)

    def forward(self, x):
        state, states = torch.zeros_like(x[:, 0]), []
        for i in range(x.shape[1]):
            state = self.cell(x[:, i], state)
            states.append(state)
        return torch.stack(states, 1)


class Stack(nn.Module):
    def __init__(self, args):
        super().__init__()
        kind = {"attention": Attention, "language": Attention, "dense": Dense, "convolution": Convolution, "recurrent": Recurrent,
                "mixer": functools.partial(Mixed, length=args.length)}[args.model]
        self.tokens = nn.Embedding(args.classes, args.width) if args.model == "language" else None
        self.blocks = nn.ModuleList(kind(args.width) for _ in range(args.layers))
        self.head = nn.Linear(args.width, args.classes)
        self.checkpoint, self.pictures = args.checkpoint, args.model == "convolution"

    def forward(self, x):
        if self.tokens is not None:
            x = self.tokens(x)
        for block in self.blocks:
            x = passed(checkpoint(block, x, use_reentrant=False) if self.checkpoint and self.training else block(x))
        if self.tokens is not None:
            return self.head(x)
        return self.head(x.mean((2, 3)) if self.pictures else x)


class Adam8(torch.optim.Optimizer):
    """Adam whose two moments have a byte an element, and a scale for each 256."""

    def __init__(self, parameters, lr=1e-3):
        super().__init__(parameters, {"lr": lr})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if not state:
                    for name in ("m", "v"):
                        state[name] = torch.zeros(p.numel(), dtype=torch.uint8, device=p.device)
                        state[name + "_scale"] = torch.zeros(p.numel() // 256 + 1, device=p.device)
                p.add_(p.grad, alpha=-group["lr"])


def make_optimizer(args, model):
    parameters = list(model.parameters())
    if args.masters:
        parameters = [p.detach().float().requires_grad_() for p in parameters]
    if "optimizer" in args.offload:
        return parameters, changed.OnCpu(parameters)
    return parameters, {
        "adamw": lambda: torch.optim.AdamW(parameters, lr=1e-3, foreach=not args.one_by_one),
        "adamw-fused": lambda: torch.optim.AdamW(parameters, lr=1e-3, fused=True),
        "adafactor": lambda: torch.optim.Adafactor(parameters),
        "sgd-plain": lambda: torch.optim.SGD(parameters, lr=1e-3),
        "adam8": lambda: Adam8(parameters),
        "sgd": lambda: torch.optim.SGD(parameters, lr=1e-3, momentum=0.9, foreach=not args.one_by_one),
    }[args.optimizer]()


def checkpoint_modules(model, pattern):
    """As a user does: their forward runs again in backward, while the model trains."""
    for name, module in model.named_modules():
        if fnmatch.fnmatch(name, pattern) and name.count(".") == pattern.count("."):
            plain = module.forward
            module.forward = lambda *inputs, plain=plain: (checkpoint(plain, *inputs, use_reentrant=False) if model.training
                                                           else plain(*inputs))


def make_data(args, batch, length):
    if args.model == "language":
        return torch.randint(0, args.classes, (batch, length), device="cuda")
    if args.model == "convolution":
        return torch.randn(batch, args.width, length, length, device="cuda", dtype=args.dtype)
    return torch.randn(batch, length, args.width, device="cuda", dtype=args.dtype)


def length_of(args, step):
    length = args.lengths[step % len(args.lengths)] if args.lengths else args.length + step * args.longer
    return max(1, int(length * args.length_scale))


def make_model(args):
    if "parameters" not in args.offload:
        return Stack(args).to("cuda", args.dtype)
    dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=1)
    with torch.device("meta"):
        model = Stack(args).to(args.dtype)
    changed.shard(model, True, True)
    return model


def train(args):
    model = make_model(args)
    if args.checkpoint_modules:
        checkpoint_modules(model, args.checkpoint_modules)
    worked_on, optimizer = make_optimizer(args, model)
    head = None
    if args.loss_chunks > 1:
        head, model.head = model.head, nn.Identity()
    batch = max(1, int(args.batch * args.batch_scale))
    side = torch.cuda.Stream() if args.streams else None
    kept = []
    for step in range(args.steps):
        reach(step, "load")
        if side:
            with torch.cuda.stream(side):
                x = make_data(args, batch, length_of(args, step))
            torch.cuda.current_stream().wait_stream(side)
            x.record_stream(torch.cuda.current_stream())
        else:
            x = make_data(args, batch, length_of(args, step))
        if args.set_to_none:
            if "optimizer" not in args.offload:
                optimizer.zero_grad(set_to_none=True)
            model.zero_grad(set_to_none=True)
        for _ in range(args.accumulate):
            reach(step, "forward")
            with torch.autocast("cuda", torch.bfloat16, enabled=args.autocast):
                out = model(x)
                reach(step, "loss")
                if head:
                    loss = models.chunked_loss(head, out, x, args.loss_chunks)
                else:
                    loss = F.cross_entropy(out.flatten(0, 1), x.flatten()) if args.model == "language" else out.float().square().mean()
                del out
            reach(step, "backward")
            loss.backward()
        reach(step, "optimizer")
        if args.masters:
            for master, p in zip(worked_on, model.parameters()):
                master.grad = p.grad.float()
        optimizer.step()
        if not args.set_to_none and "optimizer" not in args.offload:
            optimizer.zero_grad(set_to_none=False)
            model.zero_grad(set_to_none=False)
        if args.leak and not args.forget:
            kept.append(model(x).mean() if args.leak == "graph" else x.clone())
        if args.evaluate:
            reach(step, "evaluation")
            model.eval()
            with torch.set_grad_enabled(not args.no_grad):
                model(make_data(args, int(batch * args.evaluate), length_of(args, step)))
            model.train()
        if args.store and not args.forget:
            kept.append([torch.empty(args.store * 2**18, device="cuda") for _ in range(8)])
            if step % 2:
                del kept[-1][::2]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="attention")
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--classes", type=int, default=1000)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--batch-scale", type=float, default=1)
    parser.add_argument("--length", type=int, default=128)
    parser.add_argument("--longer", type=int, default=0, help="how much longer each step's sequence is")
    parser.add_argument("--lengths", type=int, nargs="*")
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--accumulate", type=int, default=1)
    parser.add_argument("--optimizer", default="adamw")
    parser.add_argument("--one-by-one", action="store_true", help="no foreach")
    parser.add_argument("--masters", action="store_true", help="fp32 copies of the weights")
    parser.add_argument("--dtype", type=lambda name: getattr(torch, name), default=torch.float32)
    parser.add_argument("--length-scale", type=float, default=1)
    parser.add_argument("--offload", choices=["activations", "optimizer", "parameters"], action="append", default=[], help="to the host")
    parser.add_argument("--autocast", action="store_true")
    parser.add_argument("--checkpoint", action="store_true")
    parser.add_argument("--loss-chunks", type=int, default=1, help="of a language model's head and loss")
    parser.add_argument("--checkpoint-modules", help="those of these names, such as blocks.*.rows")
    parser.add_argument("--streams", action="store_true", help="data comes on another stream")
    parser.add_argument("--set-to-none", type=int, default=1)
    parser.add_argument("--leak", choices=["graph", "data"])
    parser.add_argument("--forget", action="store_true", help="do not leak, nor store, after all")
    parser.add_argument("--evaluate", type=float, default=0, help="with gradients, a batch so many times as large")
    parser.add_argument("--no-grad", action="store_true", help="evaluate without")
    parser.add_argument("--store", type=int, default=0, help="MiB that each step stores, in pieces")
    args = parser.parse_args()
    ended = "whole"
    saved = torch.autograd.graph.save_on_cpu(pin_memory=True) if "activations" in args.offload else contextlib.nullcontext()
    try:
        with saved:
            train(args)
    except RuntimeError as error:
        if not is_out_of_memory(error):
            raise
        ended = "oom"
    stats = torch.cuda.memory_stats()
    print(json.dumps({"ended": ended, "at": progress, "allocations": stats["allocation.all.allocated"],
                      "peak": stats["allocated_bytes.all.peak"], "reserved": stats["reserved_bytes.all.peak"]}))


if __name__ == "__main__":
    main()
