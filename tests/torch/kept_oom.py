# SPDX-License-Identifier: Apache-2.0
"""kept_oom.py train|evaluate: keeps the output of each iteration, or of each batch that it evaluates, until memory runs out: in
pieces, so that fragmentation looks like the cause."""
import sys
import types

import torch
from torch import nn

# An optimizer imports it to hear that nothing is compiled, and that takes longer than to import PyTorch.
torch._dynamo = sys.modules["torch._dynamo"] = types.SimpleNamespace(
    graph_break=lambda: None, disable=lambda function, *_, **__: function)
net = nn.Sequential(nn.Linear(1000, 4000), nn.GELU(), nn.Linear(4000, 9000)).to("cuda")
optimizer = torch.optim.SGD(net.parameters(), 0.1)
history = []


def train():
    out = net(torch.ones(9000, 1000, device="cuda"))  # the line that is kept in train
    nn.functional.softmax(out, -1).mean().backward()
    optimizer.step()
    optimizer.zero_grad()
    return out


def evaluate():
    return net(torch.ones(9000, 1000, device="cuda"))  # the line that is kept in evaluate


for _ in range(4):
    train()
while True:
    history.append(train() if sys.argv[1] == "train" else evaluate())
