# SPDX-License-Identifier: Apache-2.0
"""Trains a deep residual network as it is, and then with activation checkpointing: blocks keep what
goes into them, and compute the rest again in backward."""
import argparse

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.wide = nn.Linear(width, 4 * width)
        self.narrow = nn.Linear(4 * width, width)
        self.dropout = nn.Dropout(0.1)

    def forward(self, x):
        return x + self.dropout(self.narrow(torch.relu(self.wide(self.norm(x)))))


class Network(nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        self.blocks = nn.ModuleList(Block(width) for _ in range(depth))

    def forward(self, x, checkpointing):
        for block in self.blocks:
            if checkpointing:
                x = checkpoint(block, x, use_reentrant=False)
            else:
                x = block(x)
        return x


def log(phase):
    allocated, reserved = torch.cuda.memory_allocated(), torch.cuda.memory_reserved()
    print(f"{phase}: allocated={allocated} reserved={reserved}", flush=True)


def train(model, args, checkpointing):
    name = "checkpointed" if checkpointing else "plain"
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    torch.cuda.reset_peak_memory_stats()
    for step in range(args.steps):
        inputs = torch.randn(args.batch, args.width, device="cuda")
        loss = model(inputs, checkpointing).square().mean()
        log(f"{name} step {step} forward")
        loss.backward()
        log(f"{name} step {step} backward")
        optimizer.step()
        optimizer.zero_grad()
    print(f"{name} took {torch.cuda.max_memory_allocated() / 2**30:.2f} GiB", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch", type=int, default=8192)
    parser.add_argument("--width", type=int, default=1024)
    parser.add_argument("--depth", type=int, default=24, help="blocks")
    parser.add_argument("--steps", type=int, default=2)
    args = parser.parse_args()

    model = Network(args.width, args.depth).to("cuda")
    log("model")
    for checkpointing in (False, True):
        train(model, args, checkpointing)
    log("end")


if __name__ == "__main__":
    main()
