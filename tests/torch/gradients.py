# SPDX-License-Identifier: Apache-2.0
"""gradients.py KIND: trains a small model whose gradients are kept in one of the ways that programs have,
and prints at some moments where they are: CLOCK_MONOTONIC in ns, then their storages' addresses."""
import os
import sys
import time

import torch
import torch.distributed as dist
from torch import nn

KIND = sys.argv[1]
os.environ.update({"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "0", "RANK": "0", "WORLD_SIZE": "1"})


def tell(*tensors):
    storages = [getattr(t, "_local_tensor", t).untyped_storage().data_ptr() for t in tensors if t is not None]
    print(time.monotonic_ns(), *sorted(set(storages)), flush=True)


def net():
    return nn.Sequential(*(nn.Linear(128, 128) for _ in range(4))).cuda()


def train(model, leaves, each=lambda: None, micro=1):
    optimizer = torch.optim.AdamW(leaves)
    for _ in range(3):
        for _ in range(micro):
            model(torch.randn(32, 128, device="cuda")).square().mean().backward()
        each()
        tell(*(p.grad for p in leaves))
        optimizer.step()
        tell(*(p.grad for p in leaves))
        optimizer.zero_grad(set_to_none=KIND != "flat")


def flat():
    """One buffer for all, which the leaves of an optimizer reach by views."""
    def add():
        for leaf, p in zip(leaves, model.parameters()):
            leaf.grad.add_(p.grad)
            p.grad = None
    model = net()
    leaves = [p.detach().clone() for p in model.parameters()]
    buffer = torch.zeros(sum(p.numel() for p in leaves), device="cuda")
    for leaf, piece in zip(leaves, buffer.split([p.numel() for p in leaves])):
        leaf.grad = piece.view_as(leaf)
    tell(buffer)
    train(model, leaves, add)


def sparse():
    """A gradient without a storage: its values and indices have."""
    model = nn.Embedding(1000, 64, sparse=True).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        model(torch.randint(1000, (512,), device="cuda")).sum().backward()
        grad = model.weight.grad
        tell(grad._values(), grad._indices())
        optimizer.step()
        tell(grad._values(), grad._indices())
        del grad
        optimizer.zero_grad()


def data():
    """Each gradient's data is replaced by a piece of a bucket, as ZeRO does."""
    def replace():
        at = 0
        for p in model.parameters():
            piece = bucket[at:at + p.numel()].view_as(p)
            piece.copy_(p.grad)
            p.grad.data = piece
            at += p.numel()
    model = net()
    bucket = torch.empty(sum(p.numel() for p in model.parameters()), device="cuda")
    train(model, list(model.parameters()), replace)


def buckets():
    model = nn.parallel.DistributedDataParallel(net(), gradient_as_bucket_view=True)
    train(model, list(model.parameters()))


def sharded():
    """Each rank's part outlives several backwards."""
    from torch.distributed.fsdp import fully_shard
    model = net()
    for layer in model:
        fully_shard(layer)
    fully_shard(model)
    train(model, list(model.parameters()), micro=4)


def hook():
    """An optimizer steps as soon as a gradient is there, and the program ends while it does."""
    def step(leaf):
        optimizers[leaf].step()
        tell(leaf.grad)
        if len(done) == 5:
            os._exit(0)
        done.append(leaf)
        leaf.grad = None
    model, done = net(), []
    optimizers = {p: torch.optim.SGD([p], lr=0.1) for p in model.parameters()}
    for leaf in model.parameters():
        leaf.register_post_accumulate_grad_hook(step)
    model(torch.randn(32, 128, device="cuda")).square().mean().backward()


if KIND in ("buckets", "sharded"):
    dist.init_process_group("nccl", store=dist.HashStore(), rank=0, world_size=1)
globals()[KIND]()
if dist.is_initialized():
    dist.destroy_process_group()
