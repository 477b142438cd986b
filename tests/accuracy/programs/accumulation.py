# SPDX-License-Identifier: Apache-2.0
"""Gradients add up over micro-batches: accumulation.py none|zero, what zero_grad leaves."""
import sys

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.one, self.two = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.norm = nn.LayerNorm(width)

    def forward(self, x):
        return x + self.two(nn.functional.gelu(self.one(self.norm(x))))


def main():
    model = nn.Sequential(*(Block(384) for _ in range(6)), nn.Linear(384, 100))
    model = model.cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True)
    for step in range(12):
        batch = torch.randn(64, 32, 384).to("cuda", non_blocking=True)
        target = torch.randint(100, (64, 32)).to("cuda")
        output = model(batch)
        loss = nn.functional.cross_entropy(output.flatten(0, 1), target.flatten()) / 4
        loss.backward()
        if step % 4 == 3:
            optimizer.step()
            optimizer.zero_grad(set_to_none=sys.argv[1] == "none")


main()
