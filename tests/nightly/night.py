# SPDX-License-Identifier: Apache-2.0
"""The training job of tests/nightly/test_ten_nights.py."""
import argparse

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, inputs):
        return inputs + self.down(torch.relu(self.up(inputs)))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--width", type=int, default=512)
    parser.add_argument("--keep", action="store_true", help="the mistake of one night")
    args = parser.parse_args()
    model = nn.Sequential(*(Block(args.width) for _ in range(4))).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    kept = []
    for _ in range(6):
        outputs = model(torch.randn(2048, args.width, device="cuda"))
        if args.keep:
            kept.append(outputs.detach().clone())
        outputs.square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()


main()
