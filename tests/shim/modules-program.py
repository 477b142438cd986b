# SPDX-License-Identifier: Apache-2.0
"""Calls modules of a torch.nn made here, as far as memtap looks at it, which allocate: the size of an
allocation is the number of its line of output, which has the names that the modules should have."""
import ctypes
import gc
import json
import os
import random
import sys
import threading
from collections import OrderedDict

ctypes.CDLL(os.path.join(os.environ["MEMTAP_TEST_BUILD"], "libcudart.so.13"))
cuda_malloc = ctypes.CDLL(None).cudaMalloc  # the hook: it stands in the global scope
cuda_malloc.argtypes = [ctypes.POINTER(ctypes.c_void_p), ctypes.c_size_t]
expected = []

# What torch.nn.Module does with attributes and calls, under its file's name.
TORCH = '''
from collections import OrderedDict

class Module:
    def __init__(self):
        super().__setattr__("training", True)
        super().__setattr__("_parameters", {})
        super().__setattr__("_buffers", {})
        super().__setattr__("_forward_hooks", OrderedDict())
        super().__setattr__("_modules", CHILDREN())

    def __setattr__(self, name, value):
        modules = self.__dict__.get("_modules")
        if isinstance(value, Module):
            modules[name] = value
        elif modules is not None and name in modules:
            modules[name] = value
        else:
            super().__setattr__(name, value)

    def __getattr__(self, name):
        modules = self.__dict__.get("_modules", {})
        if name in modules:
            return modules[name]
        raise AttributeError(name)

    def __delattr__(self, name):
        del self._modules[name]

    def _wrapped_call_impl(self, *args):
        return self._call_impl(*args)

    def _call_impl(self, *args):
        result = None
        def inner():
            return self.forward(*args)
        result = inner() if self._forward_hooks else self.forward(*args)
        return result

    def _apply(self, function):
        for module in self._modules.values():
            if module is not None:
                module._apply(function)
        function()
        return self

    __call__ = _wrapped_call_impl
'''
space = {"CHILDREN": [OrderedDict, dict][int(sys.argv[1]) % 2]}
exec(compile(TORCH, "/venv/lib/torch/nn/modules/module.py", "exec"), space)
Module = space["Module"]


twin = None  # which of two models of one class is called


def allocate(root, path):
    expected.append([root, path, twin])
    cuda_malloc(ctypes.byref(ctypes.c_void_p()), len(expected) - 1)


class Leaf(Module):
    """Allocates, and says by which name it should be known: its owner sets it."""

    def __init__(self, busy=False):
        super().__init__()
        self.name, self.busy, self.calls = None, busy, 0

    def forward(self):
        if self.busy:
            self.calls += 1
        allocate(*self.name)


class Bare(Module):
    """Has no attribute of its own: its dict may never have been made."""

    def forward(self, root, path):
        allocate(root, path)


class List(Module):
    def __init__(self, modules):
        super().__init__()
        for i, module in enumerate(modules):
            self._modules[str(i)] = module

    def __iter__(self):
        return iter(self._modules.values())


class Block(Module):
    early = 0

    def __init__(self, n):
        if n % 3 == 0:
            self.early = [n] * n  # before torch.nn.Module has made its own
        super().__init__()
        self.parts = List(Leaf(busy=i % 2) for i in range(n))
        self.größe = Leaf()
        self.nothing = None

    def forward(self):
        for part in self.parts:
            part()
        self.größe.forward()
        Leaf.forward(self.größe)
        temporary = Leaf()
        temporary.name = self.größe.name[0], self.größe.name[1].rpartition(".")[0]
        temporary()


class Other(Module):
    """Is called without torch.nn's own way."""

    def __call__(self, root, path):
        allocate(root, path)


class Net(Module):
    def __init__(self, sizes):
        super().__init__()
        self.blocks = List(Block(n) for n in sizes)
        self.bare = Bare()
        self.other = Other()

    def forward(self, prefix=""):
        for block in self.blocks:
            block()
        self.bare("Net", prefix + "bare")
        self.other("Net", prefix + "other")
        allocate("Net", prefix.rstrip("."))


class DistributedDataParallel(Module):
    def __init__(self, module):
        super().__init__()
        self.module = module

    def forward(self):
        self.module()


class OptimizedModule(Module):
    def __init__(self, module):
        super().__init__()
        self._orig_mod = module

    def forward(self):
        self._orig_mod()


class Lit(Module):
    """Is not called itself: its methods are."""

    def __init__(self, net):
        super().__init__()
        self.net = net

    def step(self):
        self.net("net.")


def name(module, root=None, path=""):
    """Tells all leaves their names."""
    root = root or type(module).__name__
    if isinstance(module, Leaf):
        module.name = root, path
    for key, child in module._modules.items():
        if child is not None:
            name(child, root, f"{path}.{key}" if path else key)
    return module


def reused_addresses():
    """Models come and go, and their objects' addresses with them."""
    for _ in range(60):
        nets = [name(Net(random.choices(range(1, 5), k=random.randint(1, 4)))) for _ in range(2)]
        for net in nets:
            net()
        blocks = list(nets[0].blocks)
        random.shuffle(blocks)
        del nets
        again = Net([])
        again.blocks = List(blocks)  # the same parts in another model
        name(again)()
        del again, blocks, net
        if random.random() < 0.5:
            gc.collect()


def replaced_parts():
    net = name(Net([2, 3]))
    net()
    for i in range(30):
        del net.blocks._modules[str(i)]
        net.blocks._modules[str(i + 2)] = Block(i % 4)
        name(net)()


def renamed_parts():
    """The same parts, in the same order, under names at the addresses of the old ones; and in another
    order, under the old names."""
    for sizes in [2], [1, 2]:
        net = name(Net(sizes))
        net()
        parts = net.blocks._modules
        for i in range(30):
            children = list(parts.values())
            parts.clear()
            for n, child in enumerate(children):
                parts[f"block {i} {n}"] = child
            name(net)()
            for key, child in zip(parts, reversed(children)):
                parts[key] = child
            del children, child, key
            name(net)()


def alone_at_used_addresses():
    """What was a part has gone, and what is called by itself has its address, and that of its hooks."""
    net = Net([])
    for _ in range(30):
        net.bare = Bare()
        net()
        module, hooks = id(net.bare), id(net.bare._forward_hooks)
        del net.bare
        others = made_at(hooks, OrderedDict)
        modules = made_at(module, Bare)
        object.__setattr__(modules[-1], "_forward_hooks", others[-1])
        modules[-1]("Bare", "")


def made_at(address, make):
    """Some, of which the last is there, if that can be had."""
    made = [make()]
    while id(made[-1]) != address and len(made) < 1000:
        made.append(make())
    return made


def moved(module):
    root = type(module).__name__
    for_all = []

    def collect(at, path):
        for key, child in at._modules.items():
            if child is not None:
                collect(child, f"{path}.{key}" if path else key)
        for_all.append(path)
    collect(module, "")
    paths = iter(for_all)
    module._apply(lambda: allocate(root, next(paths)))


def two_of_one_class():
    """They live at the same time; then another one takes the place of the second."""
    global twin
    nets = {"first": name(Net([1])), "second": name(Net([1]))}
    for _ in range(3):
        for twin, net in nets.items():
            net()
    del net, nets["second"]
    nets["third"] = name(Net([2]))
    for twin, net in nets.items():
        net()
    twin = None


def in_another_thread(net):
    """As autograd's thread does for checkpoints: a block is called alone."""
    thread = threading.Thread(target=lambda: [block() for block in net.blocks])
    thread.start()
    thread.join()


class OrderedModuleDict:
    """torch.jit.script's instead of a dict."""


class Scripted(Module):
    def __init__(self):
        super().__init__()
        object.__setattr__(self, "_modules", OrderedModuleDict())

    def forward(self):
        allocate("", "")


def main():
    Scripted()()  # shows nothing of how this Python keeps modules
    leaf = Leaf()
    leaf.name = "Leaf", ""
    leaf()
    moved(Net([1, 2, 1]))
    net = name(Net([1, 2, 3]))
    for _ in range(3):
        net()
    DistributedDataParallel(net)()
    OptimizedModule(DistributedDataParallel(name(Net([3]))))()
    Lit(name(Net([2]), "Lit", "net"))  # is gone
    lit = name(Lit(Net([2])))
    lit.net.forward = lambda *_: [block() for block in lit.net.blocks]
    lit.step()
    in_another_thread(net)
    two_of_one_class()
    reused_addresses()
    replaced_parts()
    renamed_parts()
    alone_at_used_addresses()
    name(net)()


if __name__ == "__main__":
    random.seed(int(sys.argv[1]))
    main()
    for line in expected:
        print(json.dumps(line))
