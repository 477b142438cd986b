# SPDX-License-Identifier: Apache-2.0
"""CUDA graphs: cuda_graphs.py whole (a whole iteration in a graph) | callables (layers in graphs of their own)."""
import sys

import torch
from torch import nn

WAY = sys.argv[1]
model = nn.Sequential(*(layer for _ in range(5) for layer in (nn.Linear(1024, 1024), nn.GELU())),
                      nn.Linear(1024, 10)).cuda()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, capturable=True)


def iterate(x, y):
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    return loss


def whole():
    x = torch.randn(512, 1024, device="cuda")
    y = torch.randint(10, (512,), device="cuda")
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            optimizer.zero_grad(set_to_none=True)
            iterate(x, y)
            optimizer.step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    optimizer.zero_grad(set_to_none=True)
    with torch.cuda.graph(graph):
        loss = iterate(x, y)
        optimizer.step()
    for _ in range(3):
        x.copy_(torch.randn(512, 1024, device="cuda"))
        graph.replay()
    return loss


def callables():
    global model
    sample = torch.randn(512, 1024, device="cuda")
    model = torch.cuda.make_graphed_callables(model, (sample,))
    for _ in range(4):
        x = torch.randn(512, 1024, device="cuda")
        y = torch.randint(10, (512,), device="cuda")
        iterate(x, y)
        optimizer.step()
        optimizer.zero_grad()


{"whole": whole, "callables": callables}[WAY]()
