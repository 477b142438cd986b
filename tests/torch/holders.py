# SPDX-License-Identifier: Apache-2.0
"""holders.py: runs out of memory with tensors in many hands; prints of each its address, the number of the root (enum
mt_holder_root) and the path's steps."""
import contextlib
import functools
import gc
import json
import sys
import threading
import types
import weakref

import torch


def planted(tensor, root, *steps):
    print("holder", json.dumps([tensor.data_ptr(), root, steps]))
    return tensor


def keep(root, *steps):
    """A tensor that is to be found by these steps."""
    return planted(torch.empty(1000, device="cuda"), root, *steps)


LOCAL, GLOBAL, CLASS, CLOSURE, DEFAULT, LRU, GENERATOR, TRACEBACK, LAST, NOTEBOOK, THREAD = range(1, 12)
AUTOGRAD, HOOK, OPTIMIZER, GARBAGE = 20, 21, 22, 40
MAIN = "of module __main__"

in_dict = {"first": keep(GLOBAL, f"global `in_dict` {MAIN}", "['first']"), 7: keep(GLOBAL, f"global `in_dict` {MAIN}", "[7]")}
Out = {3: keep(NOTEBOOK, f"global `Out` {MAIN}", "[3]")}
in_space = types.SimpleNamespace(value=keep(GLOBAL, f"global `in_space` {MAIN}", ".value"))
nested = [[], ({"deep": keep(GLOBAL, f"global `nested` {MAIN}", "[1]", "[0]", "['deep']")},)]
partial = functools.partial(print, keep(GLOBAL, f"global `partial` {MAIN}", ".args", "[0]"))
sys.last_value = ValueError(keep(LAST, "sys.last_value", ".args", "[0]"))
of_thread = threading.local()
of_thread.mine = keep(THREAD, "thread local `mine`")


class Slots:
    __slots__ = ("slot",)


slots = Slots()
slots.slot = keep(GLOBAL, f"global `slots` {MAIN}", ".slot")


class Net(torch.nn.Module):
    shared = keep(CLASS, "attribute `shared` of class Net")

    def __init__(self):
        super().__init__()
        self.blocks = torch.nn.ModuleList([torch.nn.Identity()])
        self.blocks[0].last = keep(GLOBAL, f"global `net` {MAIN}", ".blocks", "[0]", ".last")
        self.register_buffer("kept", keep(GLOBAL, f"global `net` {MAIN}", ".kept"))
        self.bias = torch.nn.Parameter(keep(GLOBAL, f"global `net` {MAIN}", ".bias"))
        self.weight = torch.nn.Parameter(keep(GLOBAL, f"global `net` {MAIN}", ".weight"))
        self.weight.grad = keep(GLOBAL, f"global `net` {MAIN}", ".weight", ".grad")


net = Net()
optimizer = torch.optim.SGD([net.weight], lr=0.1, momentum=0.9)
optimizer.state[net.weight]["mine"] = keep(OPTIMIZER, f"global `optimizer` {MAIN}", ".state", "[<Parameter>]", "['mine']")


def outer():
    captured = keep(CLOSURE, f"global `inner` {MAIN}", "closure `captured`")
    return lambda: captured


inner = outer()


def hook():
    captured = keep(HOOK, f"global `net` {MAIN}", "._forward_hooks", "[0]", "closure `captured`")
    return lambda *_: captured and None


hooked = net.register_forward_hook(hook())


def defaults(first, one=keep(DEFAULT, f"global `defaults` {MAIN}", "default argument `one`"), *,
             two=keep(DEFAULT, f"global `defaults` {MAIN}", "default argument `two`")):
    return first, one, two


with contextlib.suppress(ModuleNotFoundError):  # PyTorch works without it
    import numpy
    array = numpy.empty(4, dtype=object)
    array[2] = keep(GLOBAL, f"global `array` {MAIN}", "[2]")
    view = numpy.empty((2, 3), dtype=object)[1:]
    view[0, 2] = keep(GLOBAL, f"global `view` {MAIN}", ".flat[5]")


@functools.lru_cache
def bounded(_):
    return keep(LRU, f"global `bounded` {MAIN}", "cached result of bounded()")


@functools.lru_cache(maxsize=None)  # noqa: UP033 (Python 3.8 has no cache)
def unbounded(_):
    return keep(LRU, f"global `unbounded` {MAIN}", "cached result of unbounded()")


bounded(1)
unbounded(1)


def generate():
    inside = keep(GENERATOR, f"global `generator` {MAIN}", "local variable `inside` of suspended generate() at holders.py:LINE")
    yield
    del inside


async def wait():
    inside = keep(GENERATOR, f"global `coroutine` {MAIN}", "local variable `inside` of suspended wait() at holders.py:LINE")
    await pause()
    del inside


@types.coroutine
def pause():
    yield


generator, coroutine = generate(), wait()
next(generator)
coroutine.send(None)


def fail(*steps):
    inside = keep(TRACEBACK, *steps, "local variable `inside` of fail() at holders.py:LINE")
    raise ValueError(inside.shape)


def kept_error():
    try:
        fail(f"global `error` {MAIN}", ".__traceback__")
    except ValueError as caught:
        return caught


error = kept_error()


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mine = keep(AUTOGRAD, f"global `scaled` {MAIN}", ".grad_fn", ".mine")
        ctx.save_for_backward(keep(AUTOGRAD, f"global `scaled` {MAIN}", ".grad_fn", ".saved_tensors"))
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        return gradient


def graph():
    """Only the graph keeps what it multiplies."""
    leaf = torch.ones(8, device="cuda", requires_grad=True)
    other = keep(AUTOGRAD, f"global `product` {MAIN}", ".grad_fn", "saved by MulBackward0")
    return Scale.apply(leaf), (leaf[0] * other).sum() + 1


scaled, product = graph()
views = keep(GLOBAL, f"global `views` {MAIN}", "[0]").view(-1)
views = [views[:100]]


class Node:
    pass


def cycles():
    alone = Node()
    alone.me, alone.data = alone, keep(GARBAGE, "reference cycle of Node.me", ".data")
    parent, child = Node(), Node()
    parent.child, child.parent = child, parent
    child.data = [keep(GARBAGE, "reference cycle of Node.*", ".data", "[0]")]
    return weakref.ref(alone)


def other_thread(is_ready):
    running = keep(LOCAL, "local variable `running` of other_thread() at holders.py:LINE")
    is_ready.set()
    end.wait()
    del running


def train(argument):
    outputs = [keep(LOCAL, "local variable `outputs` of train() at holders.py:LINE", "[0]")]
    wide = keep(LOCAL, "local variable `wide` of train() at holders.py:LINE")
    try:
        fail("ValueError that is being handled", ".__traceback__")
    except ValueError:
        return torch.empty(1 << 45, device="cuda"), outputs, wide, argument


gc.collect()
gc.disable()
gone = cycles()
end, is_ready = threading.Event(), threading.Event()
thread = threading.Thread(target=other_thread, args=[is_ready])
thread.start()
is_ready.wait()
weight = torch.nn.Parameter(torch.ones(64, 64, device="cuda"))
try:
    with torch.autocast("cuda", dtype=torch.float16):
        torch.nn.functional.linear(torch.ones(8, 64, device="cuda"), weight)
        train(keep(LOCAL, "local variable `argument` of train() at holders.py:LINE"))
except torch.cuda.OutOfMemoryError:
    print("out of memory")
print("garbage", gone() is not None)
end.set()
thread.join()
hooked.remove()
