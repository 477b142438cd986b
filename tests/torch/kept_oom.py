# SPDX-License-Identifier: Apache-2.0
"""Keeps the output of each iteration until memory runs out: in pieces, so that fragmentation looks like the cause."""
import torch
from torch import nn

net = nn.Sequential(nn.Linear(1000, 4000), nn.GELU(), nn.Linear(4000, 9000)).to("cuda")
optimizer = torch.optim.SGD(net.parameters(), 0.1)
history = []
while True:
    out = net(torch.ones(9000, 1000, device="cuda"))  # the line that is kept
    nn.functional.softmax(out, -1).mean().backward()
    optimizer.step()
    optimizer.zero_grad()
    history.append(out)
