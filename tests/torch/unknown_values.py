# SPDX-License-Identifier: Apache-2.0
"""Selects by a mask of many values, which the simulated card does not compute, or of few, which it
does."""
import io
import sys

import torch

SIZE = 1000 if sys.argv[1] == "small" else 1000000
# What a program only logs, and checks for infinities, are no sizes.


def selected(values):
    mask = values > 0.5
    return values[mask]


def loss_of(values):
    loss = (values * 2).mean()
    if torch.isnan(loss) or torch.isinf(loss):
        raise ValueError("not finite")
    return loss.item()


def wait():
    turns = 0
    while loss_of(values) < 1:
        turns += 1
        if turns % 10 == 0:
            print((values * 2).mean())


values = torch.rand(SIZE, device="cuda")
loss_of(values)
if sys.argv[1] == "waits":
    wait()
if sys.argv[1] == "saves":
    numbers = (values * 100).long()
    torch.save({"numbers": numbers}, io.BytesIO())
    print(numbers, values > 0.5)
    sys.exit()
if sys.argv[1] == "divides":
    print(100 // int((values * 100).long().sum()))
for _ in range(17):
    part = selected(values)
print(len(part), loss_of(values))
print((values > 0.5).long().view(-1, 2)[:, 0].cpu().sum())  # a copy in another order, by a copy
torch.distributions.Normal(values.mean(), values.std() + 1)  # which checks that it is above 0
assert abs(values.mean().log().item()) < float("inf"), "what is not known is finite"
weights = torch.empty(SIZE, device="cuda")
torch.nn.init.trunc_normal_(weights, std=0.02)  # draws again while a value is below -2 or above 2: 100 deviations
assert not (torch.isnan(weights) | (weights < -1)).any()
if sys.argv[1] == "prints":
    print(sum(loss_of(values) for _ in range(1500)))
    for _ in range(1500):
        print(loss_of(values))
