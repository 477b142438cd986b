# SPDX-License-Identifier: Apache-2.0
"""Allocates in MemPools of a torch.cuda made here, as far as memtap looks at it: the size of an
allocation is the number of its line of output, which has the name that it should have."""
import ctypes
import functools
import json
import operator
import os

allocator = ctypes.PyDLL(os.path.join(os.environ["MEMTAP_TEST_BUILD"], "libc10_cuda.so"))


class Id(ctypes.Structure):
    _fields_ = [("first", ctypes.c_ulonglong), ("second", ctypes.c_ulonglong)]


allocator.make_query.restype = Id
allocator.make_query.argtypes = [ctypes.POINTER(Id)]
allocator.allocate.argtypes = [ctypes.c_size_t]

# What torch.cuda does with pools, under its file's name.
TORCH = '''
from contextlib import contextmanager

class MemPool:
    def __init__(self, number):
        self.ask = partial(ask, Id(0, number))

    @property
    def id(self):
        return self.ask()

class OldMemPool(MemPool):
    id = property(methodcaller("ask"))

@contextmanager
def use_mem_pool(pool):
    pool.id
    try:
        yield
    finally:
        pool.id
        pool.id
'''
space = {"ask": allocator.make_query, "Id": Id, "partial": functools.partial,
         "methodcaller": operator.methodcaller}
exec(compile(TORCH, "/venv/lib/torch/cuda/memory.py", "exec"), space)
use_mem_pool = space["use_mem_pool"]
expected = []


def allocate(name):
    expected.append(name)
    allocator.allocate(len(expected) - 1)


def use(pools):
    allocate(None)
    with use_mem_pool(pools[0]):
        allocate("MemPool (0, 1)")
        try:
            with use_mem_pool(pools[1]):
                allocate("MemPool (0, 2)")
                raise RuntimeError
        except RuntimeError:
            pass
        allocate("MemPool (0, 1)")
    allocate(None)


for kind in space["MemPool"], space["OldMemPool"]:
    pools = [kind(1), kind(2)]
    for _ in range(100):
        use(pools)
for line in expected:
    print(json.dumps(line))
