# SPDX-License-Identifier: Apache-2.0
"""blamed.py WAY: memory that code between the user's line and PyTorch makes. "True", "False": of checkpointing, with
use_reentrant; "subclass", "dispatch": of a tensor subclass's own operators; "twice": the backward of a backward;
"func": torch.func's gradients, whose tensors wrap others."""
import sys

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

WAY, SIZE = sys.argv[1], 1024


def call(function, *arguments):
    return function(*arguments)


class Counted(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        return call(super().__torch_function__, function, types, args, kwargs or {})


class Wrapped(torch.Tensor):
    @staticmethod
    def __new__(cls, inner):
        return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype, device=inner.device)

    def __init__(self, inner):
        self.inner = inner

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        inner = [a.inner if isinstance(a, Wrapped) else a for a in args]
        return Wrapped(call(function, *inner))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.wide = nn.Linear(SIZE, SIZE), nn.Linear(SIZE, SIZE)

    def block(self, x):
        wide = self.wide(x)
        once = nn.functional.gelu(wide)
        twice = nn.functional.gelu(once)
        return nn.functional.gelu(twice)

    def forward(self, x):
        x = self.first(x)
        return checkpoint(self.block, x, use_reentrant=WAY == "True") if WAY in ("True", "False") else x


def compute(x):
    doubled = x * 2
    return doubled, doubled + 1


def penalized(net, x):
    bent = nn.functional.gelu(net(x))
    slope = torch.autograd.grad(bent.sum(), x, create_graph=True)[0]
    return slope.square().sum()


def stretch(x):
    return (x * 2).exp().sum()


def main():
    net = Net().cuda()
    x = torch.randn(4096, SIZE, device="cuda", requires_grad=WAY in ("True", "twice"))
    if WAY == "subclass":
        kept = compute(x.as_subclass(Counted))
    elif WAY == "dispatch":
        kept = compute(Wrapped(x))
    elif WAY == "func":
        kept = torch.func.grad(stretch)(x)
    else:
        kept = None
    for _ in range(2):
        (penalized(net, x) if WAY == "twice" else net(x)[0, 0]).backward()
    del kept


main()
