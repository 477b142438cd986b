# SPDX-License-Identifier: Apache-2.0
"""Autograd functions of the program's own: one saves by save_for_backward, one on ctx."""
import torch
from torch import nn


class Swish(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        gate = torch.sigmoid(x)
        ctx.save_for_backward(x, gate)
        return x * gate

    @staticmethod
    def backward(ctx, gradient):
        x, gate = ctx.saved_tensors
        return gradient * (gate + x * gate * (1 - gate))


class Quantize(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.outside = (x.abs() > 1).to(torch.uint8)
        return x.clamp(-1, 1).mul(127).round().div(127)

    @staticmethod
    def backward(ctx, gradient):
        return gradient * (1 - ctx.outside)


class Layer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(width, width) / width)

    def forward(self, x):
        return Quantize.apply(Swish.apply(x @ self.weight))


model = nn.Sequential(*(Layer(512) for _ in range(6))).cuda()
optimizer = torch.optim.NAdam(model.parameters())
for step in range(4):
    x = torch.randn(1024, 512, device="cuda")
    loss = (model(x) - x).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
