# SPDX-License-Identifier: Apache-2.0
"""functional.py WAY LOG: trains a network as a function of its parameters, and logs for some moments what is where:
the time, and a list of [address, category]. A step makes new parameters, but in the last two ways."""
import json
import sys
import time

import torch
from torch import nn
from torch.func import functional_call, grad, stack_module_state, vmap

LOOK_AT = (1, 2, 6, 10)  # iterations: memtap looks at the first calls of a module itself


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(256, 512)
        self.out = nn.Linear(512, 16)

    def forward(self, x):
        return self.out(torch.relu(self.hidden(x)))


x = torch.randn(64, 256, device="cuda")
y = torch.zeros(64, dtype=torch.long, device="cuda")
model = Net().cuda()


def loss_of(parameters, x=x, y=y, net=model):
    return nn.functional.cross_entropy(functional_call(net, parameters, (x,)), y)


def note(**tensors):
    """Of tensors or dicts of them, by category."""
    torch.zeros(1, device="cuda")
    found = [[t.untyped_storage().data_ptr(), category] for category, kept in tensors.items() for some in kept
             for t in (some.values() if isinstance(some, dict) else some)]
    with open(sys.argv[2], "a", encoding="utf-8") as log:
        print(json.dumps([time.monotonic_ns(), found]), file=log)


def own():
    return {name: p.detach() for name, p in model.named_parameters()}


def zeros(parameters):
    return {name: torch.zeros_like(p) for name, p in parameters.items()}


def descend(parameters, state, gradients):
    state = {name: 0.9 * state[name] + gradients[name] for name in state}
    return {name: p - 0.1 * state[name] for name, p in parameters.items()}, state


def train(gradients_of, parameters):
    state = zeros(parameters)
    for i in range(12):
        gradients = gradients_of(parameters)
        if i in LOOK_AT:
            note(parameters=[parameters, model.parameters()], optimizer_state=[state])
        parameters, state = descend(parameters, state, gradients)
        del gradients


def transformed():
    train(grad(loss_of), own())


def adam():
    parameters = own()
    first, second = zeros(parameters), zeros(parameters)
    for i in range(12):
        gradients = grad(loss_of)(parameters)
        first = {name: 0.9 * first[name] + 0.1 * g for name, g in gradients.items()}
        second = {name: 0.99 * second[name] + 0.01 * g * g for name, g in gradients.items()}
        if i in LOOK_AT:
            note(parameters=[parameters], optimizer_state=[first, second])
        parameters = {name: p - 0.1 * first[name] / (second[name].sqrt() + 1e-8) for name, p in parameters.items()}


def by_autograd(parameters):
    for p in parameters.values():
        p.requires_grad_()
    found = torch.autograd.grad(loss_of(parameters), list(parameters.values()))
    return dict(zip(parameters, found))


def differentiated():
    with torch.no_grad():
        parameters, state = own(), zeros(own())
    for i in range(12):
        gradients = by_autograd(parameters)
        if i in LOOK_AT[1:]:
            note(parameters=[parameters], optimizer_state=[state], gradients=[gradients])
        with torch.no_grad():
            parameters, state = descend(parameters, state, gradients)


def ensemble():
    stacked, _ = stack_module_state([Net().cuda() for _ in range(3)])
    stacked = {name: p.detach() for name, p in stacked.items()}
    skeleton = Net().to("meta")
    gradients_of = vmap(grad(lambda p: loss_of(p, net=skeleton)))
    state = zeros(stacked)
    for i in range(12):
        gradients = gradients_of(stacked)
        if i in LOOK_AT[2:]:
            note(parameters=[stacked])
        stacked, state = descend(stacked, state, gradients)


def adapted():
    """Weights for a task are no parameters: what adapts them is differentiated."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for i in range(12):
        def of_task(parameters, looks=i in LOOK_AT):
            gradients = grad(loss_of)(parameters)
            weights = {name: p - 0.1 * gradients[name] for name, p in parameters.items()}
            if looks:
                inside = [torch._C._functorch.get_unwrapped(t) for t in weights.values()]
                note(parameters=[model.parameters()], activations=[inside])
            return loss_of(weights)
        for p, g in zip(model.parameters(), grad(of_task)(own()).values()):
            p.grad = g
        optimizer.step()
        optimizer.zero_grad()


def per_example():
    """Gradients of each example, averaged for an optimizer of PyTorch's."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    each = vmap(grad(lambda p, x, y: loss_of(p, x[None], y[None])), (None, 0, 0))
    for i in range(12):
        for p, of_each in zip(model.parameters(), each(own(), x, y).values()):
            p.grad = of_each.mean(0)
        optimizer.step()
        if i in LOOK_AT:
            note(parameters=[model.parameters()], gradients=[[p.grad for p in model.parameters()]],
                 optimizer_state=[[optimizer.state[p]["momentum_buffer"] for p in model.parameters()]])


globals()[sys.argv[1]]()
