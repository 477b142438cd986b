# SPDX-License-Identifier: Apache-2.0
"""Optimizers that a script writes by hand, without a class of PyTorch's: by_hand.py WAY. "dict": Adam with a dict for each
parameter; "lazy": the same in a class, its state made in the first step; "flat": parameters, gradients and moments in one buffer each;
"hooks": gradients are added to one buffer in hooks; "lamb"; "factors": Adafactor's rows and columns; "matrices": Shampoo's;
"muon"; "bytes": moments of 8 bits with scales; "lists": foreach on lists."""
import sys

import torch
from torch import nn

WAY = sys.argv[1]
model = nn.Sequential(nn.Embedding(2000, 256), *(nn.TransformerEncoderLayer(256, 4, 1024, batch_first=True) for _ in range(2)),
                      nn.Linear(256, 2000)).cuda()
weights = list(model.parameters())
# What they are, for the observer: it has no class to ask.
truth = {"optimizer_state": [], "gradients": [], "parameters": []}


def known(category, tensor):
    truth[category].append(tensor)
    return tensor


def adam(weight, gradient, first, second):
    first.mul_(0.9).add_(gradient, alpha=0.1)
    second.mul_(0.99).addcmul_(gradient, gradient, value=0.01)
    weight.addcdiv_(first, second.sqrt().add_(1e-8), value=-1e-3)


def use_dict():
    state = {weight: {"first": known("optimizer_state", torch.zeros_like(weight)), "second": known(
        "optimizer_state", torch.zeros_like(weight))} for weight in weights}

    def step():
        for weight, of in state.items():
            adam(weight, weight.grad, of["first"], of["second"])
            weight.grad = None
    return step


class Lazy:
    def __init__(self):
        self.of = {}

    def __call__(self):
        for at, weight in enumerate(weights):
            if at not in self.of:
                self.of[at] = [known("optimizer_state", torch.zeros_like(weight)) for _ in range(2)]
            adam(weight, weight.grad, *self.of[at])
            weight.grad = None


def views_of(flat):
    at = 0
    for weight in weights:
        yield flat[at:at + weight.numel()].view(weight.shape)
        at += weight.numel()


def use_flat():
    flat = known("parameters", torch.cat([weight.detach().flatten() for weight in weights]))
    gradient = known("gradients", torch.zeros_like(flat))
    first, second = known("optimizer_state", torch.zeros_like(flat)), known("optimizer_state", torch.zeros_like(flat))
    for weight, data, grad in zip(weights, views_of(flat), views_of(gradient)):
        weight.data, weight.grad = data, grad

    def step():
        adam(flat, gradient, first, second)
        gradient.zero_()
    return step


def use_hooks():
    gradient = known("gradients", torch.zeros(sum(weight.numel() for weight in weights), device="cuda"))
    first, second = known("optimizer_state", torch.zeros_like(gradient)), known("optimizer_state", torch.zeros_like(gradient))
    for weight, view in zip(weights, views_of(gradient)):
        def add(weight, view=view):
            view.add_(weight.grad)
            weight.grad = None
        weight.register_post_accumulate_grad_hook(add)

    def step():
        for of in zip(weights, *map(views_of, (gradient, first, second))):
            adam(*of)
        gradient.zero_()
    return step


def use_lamb():
    state = {}

    def step():
        for weight in weights:
            if weight not in state:
                state[weight] = known("optimizer_state", weight.grad.clone()), known("optimizer_state", weight.grad.square())
            first, second = state[weight]
            first.mul_(0.9).add_(weight.grad, alpha=0.1)
            second.mul_(0.99).addcmul_(weight.grad, weight.grad, value=0.01)
            update = first / (second.sqrt() + 1e-6) + 0.01 * weight
            weight.sub_(update * (weight.norm() / (update.norm() + 1e-6)) * 1e-3)
            weight.grad = None
    return step


def use_factors():
    state = {}

    def step():
        for weight in weights:
            square = weight.grad.square()
            if weight not in state:
                made = (square.mean(-1), square.mean(-2)) if weight.ndim == 2 else (square.clone(),)
                state[weight] = [known("optimizer_state", part) for part in made]
            if weight.ndim == 2:
                rows, columns = state[weight]
                rows.lerp_(square.mean(-1), 0.01)
                columns.lerp_(square.mean(-2), 0.01)
                square = torch.outer(rows, columns) / rows.mean()
            weight.addcdiv_(weight.grad, square.sqrt() + 1e-6, value=-1e-3)
            weight.grad = None
    return step


def use_matrices():
    state = {}

    def step():
        for weight in weights:
            update = weight.grad
            if weight.ndim == 2 and max(weight.shape) <= 1024:
                if weight not in state:
                    state[weight] = [known("optimizer_state", torch.eye(size, device="cuda")) for size in weight.shape]
                left, right = state[weight]
                left.add_(update @ update.T)
                right.add_(update.T @ update)
                update = torch.linalg.inv(left) @ update @ torch.linalg.inv(right)
            weight.sub_(update, alpha=1e-3)
            weight.grad = None
    return step


def use_muon():
    moments = {}

    def step():
        for name, weight in model.named_parameters():
            if name not in moments:
                moments[name] = known("optimizer_state", torch.zeros_like(weight.grad))
            update = moments[name].mul_(0.95).add_(weight.grad)
            if weight.ndim == 2:
                x = update.bfloat16() / (update.norm() + 1e-7)
                for _ in range(2):
                    x = 3.4 * x - 4.8 * (x @ x.T) @ x
                update = x.float()
            weight.sub_(update, alpha=0.02)
            weight.grad = None
    return step


def use_bytes():
    state = {}

    def step():
        for weight in weights:
            if weight not in state:
                state[weight] = [known("optimizer_state", torch.zeros(weight.shape, dtype=torch.uint8, device="cuda")), known(
                    "optimizer_state", torch.ones(weight.shape[0], device="cuda"))]
            levels, scale = state[weight]
            shape = (-1,) + (1,) * (weight.ndim - 1)
            moment = levels.float().mul_(scale.view(shape)).mul_(0.9).add_(weight.grad)
            scale.copy_(moment.abs().reshape(len(scale), -1).amax(1) / 255 + 1e-8)
            levels.copy_(moment / scale.view(shape))
            weight.sub_(moment, alpha=1e-3)
            weight.grad = None
    return step


def use_lists():
    first = [known("optimizer_state", torch.zeros_like(weight)) for weight in weights]
    second = [known("optimizer_state", torch.zeros_like(weight)) for weight in weights]

    def step():
        gradients = [weight.grad for weight in weights]
        torch._foreach_lerp_(first, gradients, 0.1)
        torch._foreach_mul_(second, 0.99)
        torch._foreach_addcmul_(second, gradients, gradients, 0.01)
        roots = torch._foreach_sqrt(second)
        torch._foreach_add_(roots, 1e-8)
        torch._foreach_addcdiv_(weights, first, roots, -1e-3)
        for weight in weights:
            weight.grad = None
    return step


step = Lazy() if WAY == "lazy" else globals()["use_" + WAY]()
for _ in range(4):
    tokens = torch.randint(2000, (4, 128), device="cuda")
    nn.functional.cross_entropy(model(tokens).transpose(1, 2), tokens).backward()
    with torch.no_grad():
        step()
