# SPDX-License-Identifier: Apache-2.0
"""Every parameter has an optimizer of its own, which steps as soon as the gradient is there, and drops it."""
import torch
from torch import nn

model = nn.Sequential(*(nn.TransformerEncoderLayer(256, 4, 1024, batch_first=True) for _ in range(4)),
                      nn.Linear(256, 256)).cuda()
optimizers = {p: torch.optim.Adam([p], foreach=False) for p in model.parameters()}


def step(parameter):
    optimizers[parameter].step()
    optimizers[parameter].zero_grad()


for p in model.parameters():
    p.register_post_accumulate_grad_hook(step)
for _ in range(4):
    x = torch.randn(16, 64, 256, device="cuda")
    model(x).pow(2).mean().backward()
