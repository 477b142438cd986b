# SPDX-License-Identifier: Apache-2.0
"""Trains a small model on `--size` MiB of inputs; what else it does, `--how` says. For memtap fit."""
import argparse
import itertools
import os
import sys
import time

import torch

parser = argparse.ArgumentParser()
parser.add_argument("--size", type=int, default=1)
parser.add_argument("--width", type=int, default=1024)
parser.add_argument("--steps", type=int, default=3, help="0: without an end")
parser.add_argument("--how", default="plain", choices=[
    "plain", "falls", "jumps", "even", "catches", "swallows", "hangs", "cpu", "dies", "spawns"])
args = parser.parse_args()

if args.how == "even" and args.size % 2:
    sys.exit(f"the size {args.size} is odd\nit has to be even")
if args.how == "cpu":
    sys.exit(0)
if args.how == "dies":
    os.kill(os.getpid(), 11)
if args.how == "spawns" and not os.fork():
    os.setsid()
    time.sleep(1000)
size = {"falls": 64 * 1024 // args.size, "jumps": 16 if args.size > 20_000 else args.size}.get(args.how, args.size)
model = torch.nn.Linear(args.width, args.width).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def step(size):
    inputs = torch.empty(size * 2**20 // 4 // args.width, args.width, device="cuda")
    optimizer.zero_grad()
    model(inputs).sum().backward()
    optimizer.step()


for i in range(args.steps) if args.steps else itertools.count():
    if args.how == "catches":
        while True:
            try:
                step(size)
                break
            except torch.OutOfMemoryError:
                size //= 2
                time.sleep(0.01)
    elif args.how == "swallows":
        try:
            step(size)
        except torch.OutOfMemoryError:
            sys.exit(0)
    else:
        step(size)
    if args.how == "hangs":
        time.sleep(1000)
