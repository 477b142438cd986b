# SPDX-License-Identifier: Apache-2.0
"""growth.py CASE N: three steps with N parameters, or optimizers, or N parts of a module, of which memtap looks something up."""
import sys

import torch
from torch import nn

DEVICE = "cuda"
case, n = sys.argv[1], int(sys.argv[2])


def parameters(count):
    return [nn.Parameter(torch.empty(4, device=DEVICE)) for _ in range(count)]


def backward(weights):
    """Each gets a gradient of its own memory by autograd."""
    torch.stack([2 * weight for weight in weights]).sum().backward()


def gradients():
    """`.grad` of leaves, which is set again in each step."""
    weights = parameters(n)
    for _ in range(3):
        backward(weights)
        for weight in weights:
            weight.grad = None


def main_grad():
    """As Megatron keeps gradients: views of one buffer, as attributes of modules' parameters."""
    net = nn.Sequential(*(nn.Linear(4, 1, bias=False, device=DEVICE) for _ in range(n)))
    buffer = torch.zeros(4 * n, device=DEVICE)
    for i, weight in enumerate(net.parameters()):
        weight.main_grad = buffer[4 * i:4 * i + 4]
    net.forward = lambda: torch.empty(4, device=DEVICE)
    for _ in range(3):
        net()


def state_keys():
    """An optimizer's parameters, and what it keeps for each."""
    weights = parameters(n)
    optimizer = torch.optim.AdamW(weights, foreach=True)
    for _ in range(3):
        backward(weights)
        optimizer.step()
        optimizer.zero_grad()


def optimizers():
    weights = parameters(n)
    each = [torch.optim.AdamW([weight], foreach=False) for weight in weights]
    for _ in range(3):
        backward(weights)
        for optimizer in each:
            optimizer.step()
            optimizer.zero_grad()


def parts():
    """A container that gets another part before each call."""
    net = nn.Sequential()
    net.forward = lambda: torch.empty(4, device=DEVICE)
    for _ in range(n):
        net.append(nn.ReLU())
        net()


torch.empty(4, device=DEVICE)
{"gradients": gradients, "main_grad": main_grad, "state_keys": state_keys, "optimizers": optimizers, "parts": parts}[case]()
torch.empty(4, device=DEVICE)
