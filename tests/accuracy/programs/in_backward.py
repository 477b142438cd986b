# SPDX-License-Identifier: Apache-2.0
"""Optimizers that step in backward: in_backward.py each (one for each parameter) | layer (one for each layer,
when its last gradient is there) | applied (torch.distributed's) | own (no optimizer: the hook does it) |
lomo (no optimizer: a hook of each gradient updates those that came before)."""
import sys

import torch
from torch import nn

WAY = sys.argv[1]
model = nn.Sequential(*(layer for _ in range(6) for layer in (nn.Linear(1024, 1024), nn.LayerNorm(1024), nn.GELU())),
                      nn.Linear(1024, 1000)).cuda()


def each():
    optimizers = {p: torch.optim.AdamW([p], lr=1e-4, foreach=False) for p in model.parameters()}

    def step(parameter):
        optimizers[parameter].step()
        optimizers[parameter].zero_grad()
    for parameter in model.parameters():
        parameter.register_post_accumulate_grad_hook(step)
    return optimizers


def layer():
    optimizers = []
    for part in model:
        mine = list(part.parameters())
        if not mine:
            continue
        optimizer = torch.optim.Adam(mine, lr=1e-4)
        optimizers.append(optimizer)

        def step(_, mine=mine, optimizer=optimizer):
            if all(p.grad is not None for p in mine):
                optimizer.step()
                optimizer.zero_grad()
        for parameter in mine:
            parameter.register_post_accumulate_grad_hook(step)
    return optimizers


def applied():
    from torch.distributed.optim import _apply_optimizer_in_backward
    _apply_optimizer_in_backward(torch.optim.SGD, model.parameters(), {"lr": 1e-3, "momentum": 0.9})


def own():
    def step(parameter):
        with torch.no_grad():
            parameter.sub_(parameter.grad, alpha=1e-3)
        parameter.grad = None
    for parameter in model.parameters():
        parameter.register_post_accumulate_grad_hook(step)


def lomo():
    def step(gradient):
        with torch.no_grad():
            for parameter in model.parameters():
                if parameter.grad is not None:
                    parameter.sub_(parameter.grad.clamp(-1, 1).to(torch.float32), alpha=1e-3)
                    parameter.grad = None
        return gradient
    for parameter in model.parameters():
        parameter.register_hook(step)


kept = {"lomo": lomo, "each": each, "layer": layer, "applied": applied, "own": own}[WAY]()
for iteration in range(4):
    images = torch.randn(512, 1024, device="cuda")
    labels = torch.randint(1000, (512,), device="cuda")
    loss = nn.functional.cross_entropy(model(images), labels)
    loss.backward()
