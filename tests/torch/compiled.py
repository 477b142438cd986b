# SPDX-License-Identifier: Apache-2.0
"""compiled.py BACKEND: a network and a function that torch.compile has made faster, with a graph break in between."""
import sys

import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.wide = nn.Linear(width, 4 * width)
        self.narrow = nn.Linear(4 * width, width)

    def forward(self, x):
        y = self.wide(x)
        torch._dynamo.graph_break()
        y = F.gelu(y)
        return x + self.narrow(y)


@torch.compile(backend=sys.argv[1])
def penalty(y):
    z = torch.sigmoid(y)
    return z.square().mean()


def main():
    model = Net(256).cuda()
    compiled = torch.compile(model, backend=sys.argv[1])
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(3):
        x = torch.randn(1024, 256, device="cuda")
        penalty(compiled(x)).backward()
        optimizer.step()
        optimizer.zero_grad()


main()
