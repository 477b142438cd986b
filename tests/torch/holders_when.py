# SPDX-License-Identifier: Apache-2.0
"""holders_when.py growth | requested | save TRACE MEMTAP: keeps each iteration's loss with its graph, and has what keeps memory alive found
at the moment named: after some iterations, when the program itself requests it, when another process does."""
import ctypes
import subprocess
import sys

import torch

losses = []
model = torch.nn.Linear(64, 64).cuda()


def train(iterations):
    for _ in range(iterations):
        loss = model(torch.randn(64, 64, device="cuda")).square().mean()
        loss.backward()
        losses.append(loss.detach() + model.weight.sum())  # keeps a graph


def inquire():
    inside = torch.ones(4000, device="cuda")
    ctypes.CDLL(None).memtap_holders()
    return inside.data_ptr()


if sys.argv[1] == "growth":
    for _ in range(6):
        losses.append(torch.ones(4096, 1024, device="cuda"))
    subprocess.run([sys.argv[3], "save", "-o", sys.argv[2] + ".saved.mtap", sys.argv[2]], check=True)  # until memtap has read it all
elif sys.argv[1] == "requested":
    print("inside", inquire())
else:
    train(3)
    print("inside", losses[0].data_ptr())
    subprocess.run([sys.argv[3], "save", "--holders", "-o", sys.argv[2] + ".saved.mtap", sys.argv[2]], check=True)
