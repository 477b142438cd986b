# SPDX-License-Identifier: Apache-2.0
"""holders_growth.py validation | attributes | closure | context | tasks | steady: turns of a loop that leave memory behind, a few of them: losses
that are added up, attributes that hooks leave, modules in reference cycles by a hook's closure, outputs as attributes of ctx, results of
tasks, which run in no loop of the program's; or leave nothing, after a constructor with a loop of its own."""
import asyncio
import gc
import sys

import torch
from torch import nn


def ones(columns=1024):
    return torch.ones(4096, columns, device="cuda")


def validate(model):
    total = 0
    for _ in range(8):
        loss = model(ones()).square().mean()
        total += loss
    return total


def note(module, inputs, output):
    module.seen, module.gave = inputs[0].detach(), output.detach()


def explain(net):
    net[0].register_forward_hook(note)
    with torch.no_grad():
        net(ones())


class Probe(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(2048, 2048, bias=False)

        def count(*_):
            self.calls = 1

        self.body.register_forward_hook(count)


class Layers(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(2048, 2048, bias=False, device="cuda") for _ in range(6)])


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        y = x * weight
        ctx.save_for_backward(x)
        ctx.y = y
        return y

    @staticmethod
    def backward(ctx, grad):
        return None, (grad * ctx.saved_tensors[0]).sum(0)


def scale():
    weight = torch.ones(1024, device="cuda", requires_grad=True)
    for _ in range(8):
        Scale.apply(ones(), weight).square().mean().backward()


async def infer(number):
    return ones() * number


async def serve(tasks):
    for i in range(8):
        tasks.append(asyncio.create_task(infer(i)))
        await tasks[-1]


def main(what):
    gc.disable()
    net = nn.Sequential(nn.Linear(1024, 1024), nn.Linear(1024, 1024)).to("cuda")
    if what == "validation":
        validate(net)
    elif what == "attributes":
        nets = [nn.Sequential(nn.Linear(1024, 1024)).cuda() for _ in range(5)]
        for one in nets:
            explain(one)
    elif what == "closure":
        for _ in range(6):
            Probe().cuda()
    elif what == "context":
        scale()
    elif what == "tasks":
        asyncio.run(serve([]))
    else:
        net[0].more = Layers()
        for _ in range(8):
            net(ones()).square().mean().backward()


main(sys.argv[1])
