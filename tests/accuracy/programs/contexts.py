# SPDX-License-Identifier: Apache-2.0
"""Functions of one's own with big contexts: contexts.py saved|attribute|module|forward|inference SIZE. SIZE bytes
are what a function saves for backward, keeps at its context, or a module keeps for as long as it lives."""
import sys

import torch
from torch import nn

WAY, SIZE = sys.argv[1], int(sys.argv[2])


class Big(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        scratch = torch.empty(SIZE, dtype=torch.uint8, device=x.device)
        if WAY == "attribute":
            ctx.scratch = scratch
            ctx.save_for_backward(x, weight)
        else:
            ctx.save_for_backward(x, weight, scratch)
        return x @ weight

    @staticmethod
    def backward(ctx, grad):
        x, weight = ctx.saved_tensors[:2]
        return grad @ weight.T, x.T @ grad


class Layer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(width, width) * .02)
        self.scratch = None

    def forward(self, x):
        if WAY in ("saved", "attribute"):
            return Big.apply(x, self.weight)
        if self.scratch is None or WAY == "forward":
            self.scratch = torch.empty(SIZE // 4, device=x.device).view(-1, 64)
        return x @ self.weight * self.scratch[0, 0].exp()


def main():
    model = nn.Sequential(*(layer for _ in range(3) for layer in (Layer(512), nn.GELU()))).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    for _ in range(4):
        x = torch.randn(512, 512, device="cuda")
        if WAY == "inference":
            with torch.no_grad():
                model(x)
            continue
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


main()
