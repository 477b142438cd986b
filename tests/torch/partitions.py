# SPDX-License-Identifier: Apache-2.0
"""partitions.py: a model whose optimizer works on one flat copy of all parameters, which is among its groups
during a step only, as ZeRO-3 does it; gradients and parts of parameters are kept as attributes, as by
DeepSpeed and Megatron. Prints: CLOCK_MONOTONIC in ns, and after it CATEGORY:ADDRESS of each."""
import time

import torch
from torch import nn


def at(category, tensor):
    return f"{category}:{tensor.untyped_storage().data_ptr()}"


class Partitioned:
    def __init__(self, parameters):
        self.parameters = parameters
        pieces = [p.detach().flatten() for p in parameters]
        self.master = torch.cat(pieces).float().requires_grad_(True)
        self.averaged_gradients = {0: [torch.zeros_like(piece) for piece in pieces]}
        self.optimizer = torch.optim.AdamW([self.master])
        self.optimizer.param_groups[0]["params"] = []

    def step(self):
        for p, kept in zip(self.parameters, self.averaged_gradients[0]):
            kept.copy_(p.grad.flatten())
            p.grad = None
        self.master.grad = torch.cat(self.averaged_gradients[0]).float()
        self.optimizer.param_groups[0]["params"] = [self.master]
        self.optimizer.step()
        self.optimizer.param_groups[0]["params"] = []
        self.master.grad = None
        torch.empty(512, device="cuda")


model = nn.Sequential(*(nn.Linear(256, 256) for _ in range(3))).cuda().bfloat16()
shards = torch.cat([p.detach().flatten() for p in model.parameters()])
mains = torch.zeros(len(shards), device="cuda")
place = 0
for p in model.parameters():
    p.ds_tensor = shards[place:place + p.numel()]
    p.main_grad = mains[place:place + p.numel()].view_as(p)
    place += p.numel()
optimizer = Partitioned(list(model.parameters()))
for _ in range(3):
    loss = model(torch.randn(32, 256, device="cuda", dtype=torch.bfloat16)).float().square().mean()
    print(time.monotonic_ns(), at("parameters", shards), at("flat", optimizer.master),
          at("gradients", mains), *(at("gradients", t) for t in optimizer.averaged_gradients[0]), flush=True)
    loss.backward()
    optimizer.step()
