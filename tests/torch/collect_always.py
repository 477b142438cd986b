# SPDX-License-Identifier: Apache-2.0
"""collect_always.py: runs out of memory while another thread's garbage collection runs, with tensors in several hands."""
import contextlib
import gc
import threading

import torch


class Keeper:
    def __init__(self):
        self.kept = keep()


def keep():
    tensor = torch.empty(1000, device="cuda")
    print("kept", tensor.data_ptr())
    return tensor


# Works without Python's lock before it runs out: the other thread has the time to begin its collection.
code = torch.jit.CompilationUnit("""
def work(x: Tensor):
    for _ in range(10):
        x, _ = x.sort()
    return torch.empty(1 << 45, device="cuda")
""")


def collect():
    while not end.is_set():
        gc.collect()


def run_out():
    local = [Keeper()]
    for _ in range(2):
        with contextlib.suppress(RuntimeError):
            code.work(numbers)
    return local


gc.unfreeze()  # by forks.py
many = [[] for _ in range(200000)]
named, inside = keep(), {"key": (Keeper(),)}
numbers = torch.rand(200000)
end = threading.Event()
thread = threading.Thread(target=collect)
thread.start()
run_out()
end.set()
thread.join()
