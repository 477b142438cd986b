# SPDX-License-Identifier: Apache-2.0
"""growth_program.py CASE N: a program with N new objects of a kind, all of which memtap looks up; prints
the processor's seconds of its threads in a first pass, and the median of later ones."""
import os
import statistics
import sys
import time
from itertools import count

import torch
from torch import nn

DEVICE = "cuda"
LATER = 3


class Small(nn.Module):
    """Allocates when it is called, and is quick to make."""

    def forward(self, x):
        return torch.empty(64, device=DEVICE)


class Chain(nn.Module):
    """Calls the modules that it has, in turn."""

    def __init__(self, modules):
        super().__init__()
        self.parts = nn.ModuleList(modules)

    def forward(self, x):
        for part in self.parts:
            part(x)
        return torch.empty(64, device=DEVICE)


class Nest(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        x = torch.empty(64, device=DEVICE)
        return self.inner(x) if self.inner else x


def call_each(modules):
    x = None
    for module in modules:
        x = module(x)


def alone(n):
    modules = [Small() for _ in range(n)]
    return lambda: call_each(modules)


def lora(n):
    """As diffusers calls them: linear layers that no called module has."""
    modules = [nn.Linear(4, 4, bias=False, device=DEVICE) for _ in range(n)]
    x = torch.empty(1, 4, device=DEVICE)

    def one_pass():
        for module in modules:
            module(x)
    return one_pass


def flat(n):
    chain = Chain(Small() for _ in range(n))
    return lambda: chain(None)


def shuffled(n):
    """Not in the order of the container."""
    chain = Chain(Small() for _ in range(n))
    parts = list(chain.parts)
    chain.order = [parts[i * 7919 % n] for i in range(n)] if n % 7919 else parts
    chain.forward = lambda x: call_each(chain.order)
    return lambda: chain(None)


def tree(n):
    """Containers of ten parts each, as deep as it takes."""
    level = [Small() for _ in range(n * 9 // 10 or 1)]
    while len(level) > 1:
        level = [Chain(level[i:i + 10]) for i in range(0, len(level), 10)]
    return lambda: level[0](None)


def nested(n):
    sys.setrecursionlimit(20 * n + 1000)
    net = None
    for _ in range(n):
        net = Nest(net)
    return lambda: net(None)


def shared(n):
    inner = Small()
    outer = [Nest(inner) for _ in range(n)]
    return lambda: call_each(outer)


def containers(n):
    nets = [nn.Sequential(Small()) for _ in range(n)]
    return lambda: call_each(nets)


def anew(n):
    """Modules that are made in each pass."""
    def one_pass():
        for _ in range(n):
            Nest(Small())(None)
    return one_pass


def models(n):
    """Models of three layers that are made in each pass, moved and called."""
    x = torch.empty(1, 4, device=DEVICE)

    def one_pass():
        for _ in range(n):
            nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4)).to(DEVICE)(x)
    return one_pass


def growing(n):
    """A container that gets another part before each call."""
    net = nn.Sequential()

    def one_pass():
        for _ in range(n):
            net.append(Small())
            net[-1](None)
            net.forward = lambda x: net[-1](x)
            net(None)
    return one_pass


def optimizers(n):
    layers = [nn.Linear(4, 4, bias=False, device=DEVICE) for _ in range(n)]
    each = [torch.optim.AdamW(layer.parameters(), foreach=False) for layer in layers]
    for layer in layers:
        layer.weight.grad = torch.zeros_like(layer.weight)

    def one_pass():
        for optimizer in each:
            optimizer.step()
    return one_pass


def parameters(n):
    weights = [nn.Parameter(torch.empty(4, device=DEVICE)) for _ in range(n)]
    optimizer = torch.optim.AdamW(weights, foreach=True)
    for weight in weights:
        weight.grad = torch.zeros_like(weight)
    return optimizer.step


def buffers(n):
    net = Chain(nn.BatchNorm1d(4, device=DEVICE) for _ in range(n))
    net.forward = lambda x: torch.empty(64, device=DEVICE)
    return lambda: net(None)


def stacks(n):
    """Distinct stacks of few lines."""
    def one(bits, left):
        if not left:
            return torch.empty(64, device=DEVICE)
        if bits & 1:
            return one(bits >> 1, left - 1)
        return one(bits >> 1, left - 1)
    depth = max(n.bit_length() - 1, 1)

    def one_pass():
        for i in range(1 << depth):
            one(i, depth)
    return one_pass


def code(n):
    functions = []
    for i in range(n):
        space = {"torch": torch}
        exec(compile(f"def f():\n return torch.empty(64, device='{DEVICE}')\n", f"made{i}.py", "exec"), space)
        functions.append(space["f"])

    def one_pass():
        for function in functions:
            function()
    return one_pass


def code_anew(n):
    ever = count()

    def one_pass():
        for _ in range(n):
            space = {"torch": torch}
            exec(compile(f"def f():\n return torch.empty(64, device='{DEVICE}')\n", f"made{next(ever)}.py",
                         "exec"), space)
            space["f"]()
    return one_pass


def blocks(n):
    held = []

    def one_pass():
        held.clear()
        for _ in range(n):
            held.append(torch.empty(64, device=DEVICE))
    return one_pass


def streams(n):
    def one_pass():
        for _ in range(n):
            with torch.cuda.stream(torch.cuda.Stream()):
                torch.empty(64, device=DEVICE)
    return one_pass


def threads(n, operators=1):
    """Their own processor's time is what counts."""
    from threading import Thread
    extra = []

    def work():
        begin = time.thread_time()
        for _ in range(operators):
            torch.empty(64, device=DEVICE)
        extra.append(time.thread_time() - begin)

    def one_pass():
        extra.clear()
        for _ in range(n):
            thread = Thread(target=work)
            thread.start()
            thread.join()
        return sum(extra)
    return one_pass


def busy_threads(n):
    return threads(n, 20)


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 2


def contexts(n):
    """Calls of an autograd function, each with a context of its own, and their backwards."""
    x = torch.empty(4, device=DEVICE, requires_grad=True)

    def one_pass():
        for _ in range(n):
            Double.apply(x).backward(x)
    return one_pass


def functions(n):
    """Classes of autograd's functions."""
    classes = [type(f"Function{i}", (Double,), {}) for i in range(n)]
    x = torch.empty(4, device=DEVICE, requires_grad=True)

    def one_pass():
        for each in classes:
            each.apply(x)
    return one_pass


def processes(n):
    """Each is another program, which takes memory of CUDA's once; all of their processor's time counts."""
    program = """import ctypes
cuda, at = ctypes.CDLL("libcudart.so.13"), ctypes.c_void_p()
assert not cuda.cudaMalloc(ctypes.byref(at), ctypes.c_size_t(1 << 20))
"""

    environment = {**os.environ, "MEMTAP_OUTPUT": os.environ.get("MEMTAP_OUTPUT", "") + ".%p.mtap"}

    def one_pass():
        used = 0.0
        for _ in range(n):
            child = os.posix_spawn(sys.executable, [sys.executable, "-S", "-c", program], environment)
            _, status, usage = os.wait4(child, 0)
            assert not status
            used += usage.ru_utime + usage.ru_stime
        return used
    return one_pass


CASES = {f.__name__: f for f in (alone, lora, flat, shuffled, tree, nested, shared, containers, anew, models, growing,
                                 optimizers, parameters, buffers, stacks, code, code_anew, blocks,
                                 streams, threads, busy_threads, contexts, functions, processes)}


def seconds(one_pass):
    begin = time.thread_time()
    more = one_pass()
    return time.thread_time() - begin + (more if isinstance(more, float) else 0)


def main():
    torch.empty(64, device=DEVICE)
    nn.Linear(4, 4, device=DEVICE)(torch.empty(1, 4, device=DEVICE))
    warm = nn.Parameter(torch.empty(4, device=DEVICE))
    warm.grad = torch.zeros_like(warm)
    torch.optim.AdamW([warm], foreach=sys.argv[1] == "parameters").step()
    one_pass = CASES[sys.argv[1]](int(sys.argv[2]))
    print(seconds(one_pass), statistics.median(seconds(one_pass) for _ in range(LATER)))


if __name__ == "__main__":
    main()
