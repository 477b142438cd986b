# SPDX-License-Identifier: Apache-2.0
"""Flat buffers: flat.py WAY. "grad": each leaf's .grad is a view of one buffer; "main": bf16 weights, whose
fp32 gradients are views of one buffer by the name main_grad, as Megatron has them; "both": weights are
views of one buffer as well, and the optimizer works on that."""
import sys

import torch
from torch import nn

WAY = sys.argv[1]


class Net(nn.Module):
    def __init__(self, width=1024, depth=5):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(depth))
        self.norm = nn.LayerNorm(width)

    def forward(self, x):
        for layer in self.layers:
            x = x + nn.functional.gelu(layer(self.norm(x)))
        return x


def views_of(flat, weights):
    at = 0
    for weight in weights:
        yield flat[at:at + weight.numel()].view(weight.shape)
        at += weight.numel()


def train_grad(model):
    weights = list(model.parameters())
    flat = torch.zeros(sum(w.numel() for w in weights), device="cuda")
    for weight, view in zip(weights, views_of(flat, weights)):
        weight.grad = view
    optimizer = torch.optim.Adam(weights, lr=1e-4)
    for _ in range(4):
        flat.zero_()
        x = torch.randn(512, 1024, device="cuda")
        model(x).square().mean().backward()
        flat.mul_(0.5)
        optimizer.step()


def train_main(model):
    model.bfloat16()
    weights = list(model.parameters())
    flat = torch.zeros(sum(w.numel() for w in weights), device="cuda")
    masters = [nn.Parameter(w.detach().float()) for w in weights]
    for weight, view in zip(weights, views_of(flat, weights)):
        weight.main_grad = view

        def add(weight):
            weight.main_grad.add_(weight.grad)
            weight.grad = None
        weight.register_post_accumulate_grad_hook(add)
    optimizer = torch.optim.Adam(masters, lr=1e-4)
    for _ in range(4):
        flat.zero_()
        for _ in range(2):
            x = torch.randn(512, 1024, device="cuda", dtype=torch.bfloat16)
            model(x).float().square().mean().backward()
        for master, weight in zip(masters, weights):
            master.grad = weight.main_grad
        optimizer.step()
        for master, weight in zip(masters, weights):
            weight.data.copy_(master)
            master.grad = None


def train_both(model):
    weights = list(model.parameters())
    flat = nn.Parameter(torch.cat([w.detach().flatten() for w in weights]))
    flat.grad = torch.zeros_like(flat)
    for weight, data, grad in zip(weights, views_of(flat.data, weights), views_of(flat.grad, weights)):
        weight.data, weight.grad = data, grad
    optimizer = torch.optim.AdamW([flat], lr=1e-4)
    for _ in range(4):
        flat.grad.zero_()
        x = torch.randn(512, 1024, device="cuda")
        model(x).square().mean().backward()
        optimizer.step()


{"grad": train_grad, "main": train_main, "both": train_both}[WAY](Net().cuda())
