# SPDX-License-Identifier: Apache-2.0
"""growth-program.py CASE N: calls N modules of modules-program.py's torch.nn, which allocate; more than
once. The case says how they hang together."""
import ctypes
import os
import sys
from pathlib import Path

source = Path(__file__).resolve().with_name("modules-program.py").read_text()
case, n = sys.argv[1], int(sys.argv[2])
sys.argv[1] = "1"
exec(compile(source.partition("twin = None")[0], "modules-program.py", "exec"))


def allocate():
    cuda_malloc(ctypes.byref(ctypes.c_void_p()), 1)


class Small(Module):
    def forward(self):
        allocate()


class Chain(Module):
    def __init__(self, modules):
        super().__init__()
        for i, module in enumerate(modules):
            self._modules[str(i)] = module

    def forward(self):
        for module in list(self._modules.values()):
            module()


class Nest(Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self):
        allocate()
        if self.inner:
            self.inner()


def nested(depth):
    sys.setrecursionlimit(100 * depth + 1000)
    net = None
    for _ in range(depth):
        net = Nest(net)
    return [net]


def tree():
    level = [Small() for _ in range(n)]
    while len(level) > 1:
        level = [Chain(level[i:i + 10]) for i in range(0, len(level), 10)]
    return level


def backwards():
    chain = Chain(Small() for _ in range(n))
    chain.forward = lambda: [part() for part in reversed(chain._modules.values())]
    return [chain]


def growing():
    chain = Chain([])
    chain.forward = lambda: list(chain._modules.values())[-1]()
    for i in range(n):
        chain._modules[str(i)] = Small()
        yield chain


def anew():
    for _ in range(n):
        yield Nest(Small())


inner = Small()
cases = {
    "alone": lambda: [Small() for _ in range(n)],
    "flat": lambda: [Chain(Small() for _ in range(n))],
    "backwards": backwards,
    "tree": tree,
    "nested": lambda: nested(n),
    "shared": lambda: [Nest(inner) for _ in range(n)],
    "containers": lambda: [Chain([Small()]) for _ in range(n)],
    "anew": anew,
    "growing": growing,
}
modules = cases[case]()
if case not in ("anew", "growing"):
    modules = list(modules) * 3
for module in modules:
    module()
