# SPDX-License-Identifier: Apache-2.0
"""counters.py LOG SCRIPT [ARGUMENT...]: runs SCRIPT as python would, and writes to LOG, each time
it asks PyTorch for a counter, one line of JSON: when (CLOCK_MONOTONIC), what PyTorch answered, and
which tensors of the script's models and optimizers there were, as [address, bytes]; masters are
what an optimizer works on that is no model's parameter. %r in LOG becomes the rank."""
import gc
import json
import os
import runpy
import sys
import time

import torch


def storages(tensors):
    """[address, bytes] of each storage on a device, once."""
    found = {}
    for tensor in tensors:
        if isinstance(tensor, torch.Tensor) and tensor.is_cuda:
            storage = tensor.untyped_storage()
            found[storage.data_ptr()] = storage.nbytes()
    return sorted(found.items())


def truth():
    """What the script's tensors are, found without memtap's means."""
    objects = gc.get_objects()
    modules = [o for o in objects if issubclass(type(o), torch.nn.Module)]
    optimizers = [o for o in objects if issubclass(type(o), torch.optim.Optimizer)]
    parameters = [p for m in modules for p in m.parameters(recurse=False)]
    own = {id(p) for p in parameters}
    stepped = [p for o in optimizers for group in o.param_groups for p in group["params"]]
    return {
        "masters": storages(p for p in stepped if id(p) not in own),
        "parameters": storages(parameters),
        "gradients": storages(p.grad for p in parameters),
        "optimizer_state": storages(
            value for o in optimizers for state in o.state.values() for value in state.values()),
    }


def counted(device):
    """PyTorch's counters at a time when nothing is on the move: autograd's thread may drop its last
    tensors when backward has returned already."""
    while True:
        before, now = torch.cuda.memory_stats(device), time.monotonic_ns()
        if torch.cuda.memory_stats(device) == before:
            return {"time_ns": now, "allocated": before.get("allocated_bytes.all.current", 0),
                    "reserved": before.get("reserved_bytes.all.current", 0)}


def main():
    name = sys.argv[1].replace("%r", os.environ.get("RANK", "0"))
    log = open(name, "w", encoding="utf-8")
    gc.freeze()  # what PyTorch itself has need not be looked at

    def logged_memory_allocated(device=None):
        line = {**counted(device), "device": torch.cuda.current_device(), "truth": truth()}
        print(json.dumps(line), file=log, flush=True)
        return line["allocated"]

    torch.cuda.memory_allocated = logged_memory_allocated
    sys.argv = sys.argv[2:]
    sys.path[0] = os.path.dirname(os.path.abspath(sys.argv[0]))
    runpy.run_path(sys.argv[0], run_name="__main__")


main()
