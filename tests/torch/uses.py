# SPDX-License-Identifier: Apache-2.0
"""Blocks whose first and last uses are known. Prints "use LINES name address": the lines of the first and the last use, those around
the longest pause ("-" where there is none), and what is particular."""
import json
import sys

import torch

MIB = 1 << 20


def here():
    return sys._getframe(1).f_lineno


KEPT = []  # so that no other block has its address


def say(tensor, name, first, last, which=0, keep=True):
    if keep:
        KEPT.append(tensor)
    print("use " + json.dumps([name, tensor.data_ptr(), first, last, which]), flush=True)


def unused():
    late = torch.empty(MIB, device="cuda")
    say(late, "unused", None, None, 128)


def dead_write():
    written = torch.empty(MIB, device="cuda")
    written.copy_(torch.ones(MIB)); line = here()  # noqa: E702
    say(written, "dead write", line, line, 16)


def early_and_late():
    early = torch.empty(2 * MIB, device="cuda")
    other = torch.empty(2 * MIB, device="cuda")
    other.fill_(1); first = here()  # noqa: E702
    (other * 2).sum(); last = here()  # noqa: E702
    early.fill_(3); line = here()  # noqa: E702
    (early[MIB:] + 1).sum(); end = here()  # noqa: E702
    say(early, "early", line, end)
    say(other, "late", first, last)


def products():
    a = torch.empty(512, 512, device="cuda")
    b = torch.empty(512, 512, device="cuda")
    bias = torch.empty(512, device="cuda")
    a.fill_(1); first = here()  # noqa: E702
    b.fill_(1); begin = here()  # noqa: E702
    bias.fill_(1); start = here()  # noqa: E702
    c = a @ b; line = here()  # noqa: E702
    torch.nn.functional.linear(c, b, bias); last = here()  # noqa: E702
    say(a, "product", first, line)
    say(b, "factor", begin, last)
    say(bias, "bias", start, last)
    say(c, "result", line, last)


def idle():
    kept = torch.empty(MIB, device="cuda")
    kept.fill_(1); first = here()  # noqa: E702
    work = torch.empty(MIB, device="cuda")
    for _ in range(2000):
        work.add_(1)
    kept.add_(1); last = here()  # noqa: E702
    say(kept, "idle", first, last, 4 + 8, keep=False)


def many():
    """Kernels with lists of tensors in their parameters."""
    tensors = [torch.empty(MIB // 8, device="cuda") for _ in range(20)]
    for tensor in tensors:
        tensor.fill_(1); first = here()  # noqa: E702
    torch._foreach_add_(tensors, 1); last = here()  # noqa: E702
    for i, tensor in enumerate(tensors[10:]):
        say(tensor, f"list {i}", first, last)
    joined = torch.cat(tensors[:10]); line = here()  # noqa: E702
    for i, tensor in enumerate(tensors[:10]):
        say(tensor, f"joined {i}", first, line)
    say(joined, "joined", line, line)


def stale():
    """PyTorch fills in the first places of such lists only; the others have what an earlier launch left on the stack."""
    for name, operator, more in (("scaled", torch._foreach_mul_, lambda n: [2]), ("divided", torch._foreach_div_, lambda n: [[2.0] * n]),
                                 ("rooted", torch._foreach_sqrt, lambda n: []), ("joined", torch.cat, lambda n: []),
                                 ("norms", torch._foreach_norm, lambda n: [])):
        tensors = [torch.empty(MIB // 8, device="cuda") for _ in range(9)]
        for tensor in tensors:
            tensor.fill_(1); first = here()  # noqa: E702
        operator(tensors, *more(9)); last = here()  # noqa: E702
        for n in (1, 3):
            operator([torch.ones(MIB // 8, device="cuda") for _ in range(n)], *more(n))
        for i, tensor in enumerate(tensors):
            say(tensor, f"{name} {i}", first, last)
    steps = [torch.zeros((), device="cuda") for _ in range(6)]
    parts = [[torch.empty(MIB // 8, device="cuda") for _ in range(6)] for _ in range(4)]
    for tensor in (tensor for part in parts for tensor in part):
        tensor.fill_(1); first = here()  # noqa: E702
    adam = dict(lr=0.1, beta1=0.9, beta2=0.9, weight_decay=0, eps=1e-8, amsgrad=False, maximize=False)
    torch._fused_adam_(*parts, [], steps, **adam); last = here()  # noqa: E702
    torch._fused_adam_(*[[torch.ones(MIB // 8, device="cuda") for _ in range(2)] for _ in range(4)], [],
                       [torch.zeros((), device="cuda") for _ in range(2)], **adam)
    for i, part in enumerate(parts):
        for j, tensor in enumerate(part):
            say(tensor, f"adam {i} {j}", first, last)


def captured():
    """Each launch of a graph may use what it was captured with."""
    static = torch.empty(MIB, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        static.add_(1); first = here()  # noqa: E702
    graph.replay(); last = here()  # noqa: E702
    say(static, "captured", first, last, 32)


for case in (unused, dead_write, early_and_late, products, many, stale, captured, idle):
    case()
