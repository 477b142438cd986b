# SPDX-License-Identifier: Apache-2.0
"""counted.py WAY: trains a model that lives in several copies and parts: masters (fp32 copies of bf16 weights) |
parameters (these are nn.Parameters) | average (a deep copy beside it) | shadows (a list of tensors) | fsdp1 | fsdp2 |
uneven (FSDP2, whose parts are padded) | zero1 (flat bf16 weights, a flat fp32 part of them is stepped) | zero3 (parts of bf16 weights, gathered for
forward and backward). Sharded ones are one process of four; the others are not there. Prints how many
parameters the model has."""
import copy
import sys

import torch
from torch import nn

WAY = sys.argv[1]
RANKS = 4


class Layer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.inner = nn.Linear(width, width)

    def forward(self, x):
        return x + self.inner(x).relu()


def data(dtype=torch.float32):
    return torch.randn(64, model[0].inner.in_features, device="cuda", dtype=dtype)


def train(model, optimizer, dtype=torch.float32, after=lambda: None):
    for _ in range(3):
        optimizer.zero_grad()
        model(data(dtype)).float().square().mean().backward()
        optimizer.step()
        after()


def train_masters():
    model.bfloat16()
    weights = list(model.parameters())
    masters = [w.detach().float() for w in weights]
    masters = [nn.Parameter(m) if WAY == "parameters" else m.requires_grad_() for m in masters]
    optimizer = torch.optim.AdamW(masters)
    for _ in range(3):
        model(data(torch.bfloat16)).float().square().mean().backward()
        for master, weight in zip(masters, weights):
            master.grad, weight.grad = weight.grad.float(), None
        optimizer.step()
        for master, weight in zip(masters, weights):
            weight.data.copy_(master)
            master.grad = None


def train_average():
    average = copy.deepcopy(model)
    train(model, torch.optim.AdamW(model.parameters()))
    del average


def train_shadows():
    shadows = [p.detach().clone() for p in model.parameters()]

    def average():
        with torch.no_grad():
            torch._foreach_lerp_(shadows, list(model.parameters()), .01)
    train(model, torch.optim.AdamW(model.parameters()), after=average)


def join():
    import torch.distributed as dist
    from torch.testing._internal.distributed.fake_pg import FakeStore
    dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=RANKS)


def train_fsdp1():
    join()
    from torch.distributed.fsdp import FullyShardedDataParallel, MixedPrecision
    from torch.distributed.fsdp.wrap import ModuleWrapPolicy
    sharded = FullyShardedDataParallel(model, auto_wrap_policy=ModuleWrapPolicy({Layer}), device_id=0,
                                       mixed_precision=MixedPrecision(torch.bfloat16, torch.bfloat16))
    train(sharded, torch.optim.AdamW(sharded.parameters()))


def train_fsdp2():
    join()
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
    for layer in model:
        fully_shard(layer, mp_policy=MixedPrecisionPolicy(torch.bfloat16, torch.float32))
    fully_shard(model)
    train(model, torch.optim.AdamW(model.parameters()))


def flatten(parameters):
    """Their data become views of one tensor, as ZeRO-1 has it."""
    flat = torch.cat([p.detach().flatten() for p in parameters])
    place = 0
    for p in parameters:
        p.data = flat[place:place + p.numel()].view_as(p)
        place += p.numel()
    return flat


def train_zero1():
    weights = list(model.bfloat16().parameters())
    flat = flatten(weights)
    master = flat[:len(flat) // RANKS].clone().float().requires_grad_()
    optimizer = torch.optim.AdamW([master])
    for _ in range(3):
        model(data(torch.bfloat16)).float().square().mean().backward()
        master.grad = torch.cat([w.grad.flatten() for w in weights])[:len(master)].float()
        for weight in weights:
            weight.grad = None
        optimizer.step()
        flat[:len(master)].copy_(master.detach())
        master.grad = None


def train_zero3():
    weights = list(model.bfloat16().parameters())
    sizes = [w.numel() // RANKS for w in weights]
    flat, place = torch.cat([w.detach().flatten()[:n] for w, n in zip(weights, sizes)]), 0
    for weight, n in zip(weights, sizes):
        weight.ds_tensor, weight.ds_numel, weight.whole = flat[place:place + n], weight.numel(), weight.shape
        weight.data = torch.empty(0, device="cuda", dtype=torch.bfloat16)
        place += n
    master = flat.clone().float().requires_grad_()
    optimizer = torch.optim.AdamW([master])

    def gather(module, *_):
        for p in module.parameters(recurse=False):
            p.data = torch.zeros(p.whole, device="cuda", dtype=torch.bfloat16)

    def release(module, *_):
        for p in module.parameters(recurse=False):
            p.data = torch.empty(0, device="cuda", dtype=torch.bfloat16)

    for layer in model:
        layer.inner.register_forward_pre_hook(gather)
        layer.inner.register_full_backward_hook(release)
    for _ in range(3):
        model(data(torch.bfloat16).requires_grad_()).float().square().mean().backward()
        master.grad = torch.zeros_like(master)
        for weight in weights:
            weight.grad = None
        optimizer.step()


model = nn.Sequential(*(Layer(511 if WAY == "uneven" else 512) for _ in range(6))).cuda()
print(sum(p.numel() for p in model.parameters()))
{"masters": train_masters, "parameters": train_masters, "average": train_average, "shadows": train_shadows,
 "fsdp1": train_fsdp1, "fsdp2": train_fsdp2, "uneven": train_fsdp2, "zero1": train_zero1, "zero3": train_zero3}[WAY]()
