# SPDX-License-Identifier: Apache-2.0
"""A program that does with PyTorch what might upset a profiler, and prints what it saw. Run by
test_many_kinds.py with and without memtap."""
import threading
import time

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, TensorDataset

device = "cuda"


class Failing(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        raise ValueError("backward fails")


def first_of_all_an_empty_view():
    torch.ones(4, device=device)[:0].requires_grad_()


def exception_in_backward():
    x = torch.ones(10, device=device, requires_grad=True)
    for _ in range(3):
        try:
            Failing.apply(x * 3).sum().backward()
        except ValueError as error:
            print("caught", error)
    x.sum().backward()


def out_of_memory_that_is_caught():
    try:
        torch.empty(2**42, device=device)
    except torch.cuda.OutOfMemoryError:
        print("out of memory")


def workers():
    data = TensorDataset(torch.arange(64.).reshape(16, 4))
    for (batch,) in DataLoader(data, batch_size=4, num_workers=2, multiprocessing_context="fork"):
        batch.to(device)
    print("workers done")


def amp_and_checkpoint():
    layer = nn.Sequential(nn.Linear(32, 64), nn.GELU(), nn.LayerNorm(64), nn.Dropout(), nn.Linear(64, 8))
    layer.cuda()
    x = torch.randn(16, 32, device=device, requires_grad=True)
    with torch.autocast(device):
        y = checkpoint(layer, x, use_reentrant=False) + checkpoint(layer, x, use_reentrant=True)
    y.float().sum().backward()


def second_derivative():
    x = torch.randn(8, device=device, requires_grad=True)
    (g,) = torch.autograd.grad((x ** 3).sum(), x, create_graph=True)
    g.sum().backward()


def hooks_and_accumulation():
    layer = nn.Linear(16, 16).cuda()
    layer.weight.register_hook(lambda gradient: gradient * 2)
    layer.weight.register_post_accumulate_grad_hook(lambda p: setattr(p, "grad", None))
    for _ in range(3):
        layer(torch.randn(4, 16, device=device)).sum().backward()
    print("gradient", layer.weight.grad, layer.bias.grad is not None)


def sparse_gradients():
    table = nn.Embedding(100, 8, sparse=True).cuda()
    table(torch.arange(10, device=device)).sum().backward()
    print("sparse", table.weight.grad.is_sparse)


class Wrapper(torch.Tensor):
    @staticmethod
    def __new__(cls, inner):
        return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype,
                                                   device=inner.device, requires_grad=True)

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        return NotImplemented


def tensors_without_storage():
    from torch._subclasses.fake_tensor import FakeTensorMode
    with FakeTensorMode():
        fake = nn.Linear(10, 10, device=device)
        fake(torch.randn(4, 10, device=device)).sum().backward()
    Wrapper(torch.ones(3, device=device))
    nn.Linear(10, 10, device="meta")(torch.randn(4, 10, device="meta")).sum().backward()


def lazy_clone():
    if not hasattr(torch, "_lazy_clone"):  # torch 2.1
        return
    x = torch.ones(1000, device=device, requires_grad=True)
    y = torch._lazy_clone(x.detach())
    (x * y).sum().backward()
    print("lazily cloned", torch._C._is_cow_tensor(y))


def transforms():
    f = torch.func.vmap(torch.func.grad(lambda v: (v ** 2).sum()))
    f(torch.randn(5, 3, device=device))


def threads():
    def train():
        layer = nn.Linear(16, 16).cuda()
        for _ in range(5):
            layer(torch.randn(4, 16, device=device)).sum().backward()

    all_threads = [threading.Thread(target=train) for _ in range(4)]
    for thread in all_threads:
        thread.start()
    for thread in all_threads:
        thread.join()


def deep():
    def recurse(n):
        return recurse(n - 1) if n else torch.ones(10, device=device)

    recurse(800)


def at_rest():
    """What is allocated: no part keeps anything, but autograd's thread may drop its last tensors when
    backward has returned already."""
    for _ in range(3000):
        torch.cuda.empty_cache()
        if not torch.cuda.memory_allocated():
            break
        time.sleep(0.01)
    return torch.cuda.memory_allocated()


for part in (first_of_all_an_empty_view, exception_in_backward, out_of_memory_that_is_caught, workers, amp_and_checkpoint,
             second_derivative, hooks_and_accumulation, sparse_gradients, tensors_without_storage,
             lazy_clone, transforms, deep):
    part()
    torch.cuda.synchronize()
    print(part.__name__, at_rest(), flush=True)
threads()  # how many workspaces they take is a matter of luck
