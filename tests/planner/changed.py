# SPDX-License-Identifier: Apache-2.0
"""changed.py MODEL [OPTION]...: trains a model of models.py for some steps, with a change made to the program
where an option says so, and prints the most bytes that PyTorch had allocated and reserved."""
import argparse
import fnmatch
import functools
import gc
from fractions import Fraction

import models
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks.debugging_hooks import noop_hook
from torch.distributed.fsdp import CPUOffloadPolicy, fully_shard
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel
from torch.testing._internal.distributed.fake_pg import FakeStore
from torch.utils.checkpoint import checkpoint


class EightBits(torch.optim.Optimizer):
    """Adam's moments as bitsandbytes keeps them: a byte an element, and a scale for each 256; parameters of
    fewer than 4096 elements have 32 bits. Its kernels work in place; here nothing is computed."""

    def __init__(self, parameters, lr=1e-3):
        super().__init__(parameters, {"lr": lr})

    @torch.no_grad()
    def step(self):
        for parameter in (p for group in self.param_groups for p in group["params"] if p.grad is not None):
            state = self.state[parameter]
            if state:
                continue
            small = parameter.numel() < 4096
            for name in "state1", "state2":
                state[name] = torch.zeros_like(parameter, dtype=torch.float32 if small else torch.uint8)
                if not small:
                    state[name + "_scales"] = torch.zeros(-(-parameter.numel() // 256), device="cuda")


class OnCpu:
    """Steps on the host: the card has no state."""

    def __init__(self, parameters):
        self.pairs = [(parameter, nn.Parameter(torch.empty_like(parameter, device="cpu")))
                      for parameter in parameters]
        self.optimizer = torch.optim.SGD([copy for _, copy in self.pairs], lr=1e-3)  # its memory is not asked for

    def step(self):
        for parameter, copy in self.pairs:
            copy.grad = parameter.grad.to("cpu")
        self.optimizer.step()
        with torch.no_grad():
            for parameter, copy in self.pairs:
                parameter.copy_(copy)

    def zero_grad(self):
        for parameter, _ in self.pairs:
            parameter.grad = None


class Adapted(nn.Module):
    def __init__(self, linear, rank):
        super().__init__()
        self.linear = linear
        self.down = nn.Linear(linear.in_features, rank, bias=False, device="cuda")
        self.up = nn.Linear(rank, linear.out_features, bias=False, device="cuda")

    def forward(self, x):
        return self.linear(x) + self.up(self.down(x)) * 2.0


def bitsandbytes(parameters):
    """The library's own."""
    import bitsandbytes as library  # pylint: disable=import-outside-toplevel
    return library.optim.AdamW8bit(parameters)


OPTIMIZERS = {
    "adamw": torch.optim.AdamW,
    "adamw-fused": functools.partial(torch.optim.AdamW, fused=True),
    "adamw-for-loop": functools.partial(torch.optim.AdamW, foreach=False),
    "adam8bit": EightBits,
    "bitsandbytes": bitsandbytes,
    "adafactor": torch.optim.Adafactor,
    "sgd": functools.partial(torch.optim.SGD, lr=1e-3),
    "sgd-momentum": functools.partial(torch.optim.SGD, lr=1e-3, momentum=0.9),
    "cpu": OnCpu,
}


def adapt(model, rank):
    model.requires_grad_(False)
    for path, module in list(model.named_modules()):
        if isinstance(module, nn.Linear) and any(part.isdigit() for part in path.split(".")):
            parent, _, name = path.rpartition(".")
            setattr(model.get_submodule(parent), name, Adapted(module, rank))


def adapt_by_peft(model, rank):
    """The library's own adapters, next to the same layers."""
    import peft  # pylint: disable=import-outside-toplevel
    layers = [path for path, module in model.named_modules()
              if isinstance(module, nn.Linear) and any(part.isdigit() for part in path.split("."))]
    peft.inject_adapter_in_model(peft.LoraConfig(r=rank, target_modules=layers), model)


def checkpoint_modules(model, pattern):
    """'*' is one part of a path."""
    depth = pattern.count(".")
    for path, module in model.named_modules():
        if path.count(".") == depth and fnmatch.fnmatch(path, pattern):
            module.forward = functools.partial(checkpoint, module.forward, use_reentrant=False)


def shard(model, after_forward, offload):
    """Each layer that is numbered, in the outermost list, and the rest."""
    options = {"reshard_after_forward": after_forward}
    if offload:
        options["offload_policy"] = CPUOffloadPolicy(pin_memory=False)
    for path, module in model.named_modules():
        parts = path.split(".")
        if parts[-1].isdigit() and not any(part.isdigit() for part in parts[:-1]):
            fully_shard(module, **options)
    fully_shard(model, **({**options, "reshard_after_forward": None} if after_forward else options))
    model.to_empty(device="cpu" if offload else "cuda")


def ranks_of(args):
    return args.zero1 or args.zero2 or args.zero3 or args.ddp or args.offload_parameters


def build(args, length):
    if ranks_of(args):
        dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=ranks_of(args))
    is_sharded = args.zero2 or args.zero3 or args.offload_parameters
    model = models.make(args.model, "meta" if is_sharded else "cuda", length)
    if args.lora:
        adapt(model, args.lora)
    if args.peft:
        adapt_by_peft(model, args.peft)
    if args.bf16:
        model = model.bfloat16()
    if args.checkpoint:
        checkpoint_modules(model, args.checkpoint)
    if is_sharded:
        shard(model, not args.zero2, args.offload_parameters)
    elif ranks_of(args):
        model = DistributedDataParallel(model, gradient_as_bucket_view=args.bucket_views)
        model.register_comm_hook(None, noop_hook)  # the fake group has no sums
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    if args.zero1:
        return model, ZeroRedundancyOptimizer(parameters, torch.optim.AdamW, lr=1e-3)
    return model, OPTIMIZERS[args.optimizer](parameters)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", choices=models.MODELS)
    parser.add_argument("--optimizer", choices=OPTIMIZERS, default="adamw")
    parser.add_argument("--checkpoint")
    parser.add_argument("--loss-chunks", type=int, default=1, help="of head and loss")
    parser.add_argument("--accumulate", type=int, default=1)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--batch", type=int)
    parser.add_argument("--length", type=int)
    parser.add_argument("--longest", type=int, help="positions that the model has")
    parser.add_argument("--batch-part", type=Fraction, default=1, help="of its own batch, such as 1/2")
    parser.add_argument("--sequence-part", type=Fraction, default=1, help="of its own length; positions stay")
    parser.add_argument("--lengths", type=lambda text: [Fraction(part) for part in text.split(",")], default=[Fraction(1)],
                        help="parts of it, one after the other")
    for number in "lora", "peft", "zero1", "zero2", "zero3", "ddp", "offload-parameters":
        parser.add_argument("--" + number, type=int)
    for flag in "autocast", "bf16", "save-on-cpu", "bucket-views":
        parser.add_argument("--" + flag, action="store_true")
    args = parser.parse_args()
    _, size, length, _ = models.MODELS[args.model]
    size, length = args.batch or size, args.length or length
    model, optimizer = build(args, args.longest or length)
    size, length = max(1, int(size * args.batch_part)), int(length * args.sequence_part)
    head = None
    if args.loss_chunks > 1:
        head, model.head = model.head, nn.Identity()
    saved = torch.autograd.graph.save_on_cpu() if args.save_on_cpu else torch.enable_grad()
    for step in range(args.steps):
        for _ in range(args.accumulate):
            data = models.batch(args.model, size, int(length * args.lengths[step % len(args.lengths)]))
            if args.bf16 and data.is_floating_point():
                data = data.bfloat16()
            with torch.autocast("cuda", torch.bfloat16, enabled=args.autocast), saved:
                loss = models.loss(args.model, model, data, head, args.loss_chunks)
            loss.backward()
            del loss
        optimizer.step()
        optimizer.zero_grad()
    gc.collect()
    print("peak", torch.cuda.max_memory_allocated())
    print("reserved", torch.cuda.max_memory_reserved(), flush=True)


if __name__ == "__main__":
    main()
