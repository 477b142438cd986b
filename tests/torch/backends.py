# SPDX-License-Identifier: Apache-2.0
"""backends.py LOG: trains without a library that takes memory of its own, by the allocator that
allocator_choice.py chooses, and writes to LOG at some moments a line of JSON: when (CLOCK_MONOTONIC),
what there is by PyTorch's counters, by the plugged allocator's, and by adding up the tensors."""
import ctypes
import gc
import json
import os
import sys
import time

import allocator_choice
import torch
from torch import nn

WIDTH, BATCH = 300_001, 7


class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(WIDTH))
        self.bias = nn.Parameter(torch.zeros(WIDTH))

    def forward(self, x):
        return x * self.weight + self.bias


def storages(model):
    """Gradients are not Python's before it asks for them."""
    found = {}
    gradients = [parameter.grad for parameter in model.parameters()]
    for tensor in [o for o in gc.get_objects() if issubclass(type(o), torch.Tensor)] + gradients:
        if tensor is not None and tensor.is_cuda:
            found[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
    return sum(found.values())


def counters(model):
    choice = os.environ.get("MEMTAP_TEST_ALLOCATOR", "")
    line = {"storages": storages(model)}
    if choice != "plugged":
        line.update(allocated=torch.cuda.memory_allocated(), reserved=torch.cuda.memory_reserved())
    if choice.startswith("plugged"):
        live = ctypes.CDLL(os.environ["MEMTAP_TEST_PLUGGABLE"]).pluggable_live
        live.restype = ctypes.c_ssize_t
        line["plugged"] = live()
    return line


def moment(model):
    """When nothing is on the move: autograd's thread may drop its last tensors when backward has
    returned already."""
    while True:
        before, now = counters(model), time.monotonic_ns()
        if counters(model) == before:
            return {"time_ns": now, **before}


def main():
    kept = allocator_choice.choose()
    gc.freeze()  # what PyTorch itself has need not be looked at
    out = open(sys.argv[1], "w", encoding="utf-8")

    def log():
        print(json.dumps(moment(model)), file=out, flush=True)

    model = nn.Sequential(Scale(), Scale()).cuda()
    optimizer = torch.optim.Adam(model.parameters(), foreach=False)
    log()
    for _ in range(3):
        batch = torch.randn(BATCH, WIDTH, device="cuda")
        model(batch).square().mean().backward()
        log()
        optimizer.step()
        log()
        optimizer.zero_grad(set_to_none=True)
        del batch
        log()
    del kept


main()
