# SPDX-License-Identifier: Apache-2.0
"""Fully sharded training: fsdp.py VERSION MICRO-BATCHES PRECISION RANKS [WAY...]. One process of as
many; with more than one, the others are not there, and communication does nothing."""
import contextlib
import os
import sys

import torch
import torch.distributed as dist
from torch import nn

VERSION, MICRO, PRECISION, RANKS = sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
WAYS = sys.argv[5:]
for name, value in (("MASTER_ADDR", "127.0.0.1"), ("MASTER_PORT", "0"), ("RANK", "0"),
                    ("WORLD_SIZE", "1")):
    os.environ.setdefault(name, value)
torch.cuda.set_device(0)
if RANKS > 1:
    from torch.testing._internal.distributed.fake_pg import FakeStore
    dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=RANKS)
else:
    dist.init_process_group("nccl")


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.qkv, self.out = nn.LayerNorm(width), nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        q, k, v = (t.unflatten(-1, (8, -1)).transpose(1, 2) for t in self.qkv(self.norm(x)).chunk(3, -1))
        x = x + self.out(nn.functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))
        return x + self.down(nn.functional.gelu(self.up(x)))


class Net(nn.Module):
    def __init__(self, width=512, depth=4):
        super().__init__()
        self.words = nn.Embedding(4000, width)
        self.blocks = nn.ModuleList(Block(width) for _ in range(depth))
        self.head = nn.Linear(width, 4000)

    def forward(self, tokens):
        x = self.words(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def shard1(model):
    from functools import partial

    from torch.distributed.fsdp import FullyShardedDataParallel, MixedPrecision
    from torch.distributed.fsdp.wrap import transformer_auto_wrap_policy
    mixed = MixedPrecision(torch.bfloat16, torch.bfloat16, torch.bfloat16) if PRECISION == "mixed" else None
    return FullyShardedDataParallel(
        model, auto_wrap_policy=partial(transformer_auto_wrap_policy, transformer_layer_cls={Block}),
        mixed_precision=mixed, use_orig_params="orig" in WAYS, device_id=0)


def shard2(model):
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
    mixed = {"mp_policy": MixedPrecisionPolicy(torch.bfloat16, torch.float32)} if PRECISION == "mixed" else {}
    keep = {"reshard_after_forward": False} if "keep" in WAYS else {}
    for block in model.blocks:
        fully_shard(block, **mixed, **keep)
    return fully_shard(model, **mixed, **keep)


def synchronized(model, last):
    if VERSION == "1":
        return contextlib.nullcontext() if last or "sync" in WAYS else model.no_sync()
    if "sync" not in WAYS:
        model.set_requires_gradient_sync(last)
    return contextlib.nullcontext()


model = shard1(Net().cuda()) if VERSION == "1" else shard2(Net().cuda())
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
for step in range(3):
    for micro in range(MICRO):
        tokens = torch.randint(4000, (4, 256), device="cuda")
        with synchronized(model, micro == MICRO - 1):
            if "unshard" in WAYS and VERSION == "2":
                model.unshard()
            loss = model(tokens).float().logsumexp(-1).mean()
            loss.backward()
    if "clip" in WAYS:
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
dist.destroy_process_group()
