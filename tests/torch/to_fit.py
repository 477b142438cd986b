# SPDX-License-Identifier: Apache-2.0
"""Trains a small model on `--size` MiB of inputs; what else it does, `--how` says. For memtap fit."""
import argparse
import itertools
import sys
import types

import torch

# An optimizer imports it to hear that nothing is compiled, and that takes longer than to import PyTorch.
torch._dynamo = sys.modules["torch._dynamo"] = types.SimpleNamespace(
    graph_break=lambda: None, disable=lambda function, *_, **__: function)
parser = argparse.ArgumentParser()
parser.add_argument("--size", type=int, default=1)
parser.add_argument("--width", type=int, default=1024)
parser.add_argument("--steps", type=int, default=3, help="0: without an end")
parser.add_argument("--how", default="plain", choices=["plain", "catches", "swallows", "evaluates", "warms"])
args = parser.parse_args()
model = torch.nn.Linear(args.width, args.width).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)


def inputs(size):
    return torch.empty(size * 2**20 // 4 // args.width, args.width, device="cuda")


def step(size):
    optimizer.zero_grad()
    model(inputs(size)).sum().backward()
    optimizer.step()


size = args.size
if args.how == "warms":  # as before a CUDA graph is captured
    with torch.cuda.stream(torch.cuda.Stream()):
        for _ in range(4):
            step(size)
    step(2 * size)
for _ in range(args.steps) if args.steps else itertools.count():
    while True:
        try:
            step(size)
            break
        except torch.OutOfMemoryError:
            if args.how == "swallows":
                sys.exit(0)
            if args.how != "catches":
                raise
            size //= 2
if args.how == "evaluates":
    with torch.no_grad():
        model(inputs(2 * size))
