# SPDX-License-Identifier: Apache-2.0
"""State of hand-written optimizers that is made before the first backward, in other sizes than the parameters', and data
that is kept likewise: own_stepper.py WAY. Classes: "flat" (padded buffers), "factors" (Adafactor's), "matrices" (Shampoo's), "bytes" (8
bits with scales), "derived" (a method of a derived class makes it); "groups": closures, one a group; "loader": a class keeps the
whole data; "checks": a class keeps data to check with after each backward."""
import sys

import torch
from torch import nn

WAY = sys.argv[1]
model = nn.Sequential(nn.Linear(768, 1024), nn.GELU(), nn.Linear(1024, 512), nn.GELU(), nn.Linear(512, 768)).cuda()
weights = list(model.parameters())
truth = {"optimizer_state": [], "persistent": []}


def state(tensor):
    truth["optimizer_state"].append(tensor)
    return tensor


def data(tensor):
    truth["persistent"].append(tensor)
    return tensor


class Flat:
    def __init__(self, weights, multiple=1 << 22):
        self.weights, self.n = weights, sum(w.numel() for w in weights)
        padded = (self.n + multiple - 1) // multiple * multiple
        self.first, self.second = (state(torch.zeros(padded, device="cuda")) for _ in range(2))

    def step(self):
        grad = torch.cat([w.grad.flatten() for w in self.weights])
        first, second = self.first[:self.n], self.second[:self.n]
        first.lerp_(grad, 0.1)
        second.lerp_(grad.square(), 0.01)
        update = first / (second.sqrt() + 1e-8)
        for w, part in zip(self.weights, update.split([w.numel() for w in self.weights])):
            w.sub_(part.view(w.shape), alpha=1e-3)


class Factors:
    def __init__(self, weights):
        self.weights = weights
        self.rows = [state(torch.zeros(w.shape[0], device="cuda")) for w in weights]
        self.columns = [state(torch.zeros(w.shape[-1], device="cuda")) for w in weights]
        self.moments = [state(torch.zeros(w.shape, dtype=torch.float16, device="cuda")) for w in weights]

    def step(self):
        for w, rows, columns, moment in zip(self.weights, self.rows, self.columns, self.moments):
            square = w.grad.square()
            rows.lerp_(square.reshape(len(rows), -1).mean(1), 0.01)
            columns.lerp_(square.reshape(-1, len(columns)).mean(0), 0.01)
            moment.lerp_(w.grad.half(), 0.1)
            w.sub_(moment.float() / (rows.mean().sqrt() + 1e-6), alpha=1e-3)


class Matrices:
    def __init__(self, weights):
        self.weights = [w for w in weights if w.ndim == 2]
        self.sides = [[state(torch.eye(size, device="cuda")) for size in w.shape] for w in self.weights]

    def step(self):
        for w, (left, right) in zip(self.weights, self.sides):
            left.add_(w.grad @ w.grad.T)
            right.add_(w.grad.T @ w.grad)
            w.sub_(torch.linalg.inv(left) @ w.grad @ torch.linalg.inv(right), alpha=1e-3)


class Bytes:
    def __init__(self, weights):
        self.weights = weights
        self.levels = {w: state(torch.zeros(w.shape, dtype=torch.uint8, device="cuda")) for w in weights}
        self.scales = {w: state(torch.ones((w.numel() + 255) // 256, device="cuda")) for w in weights}

    def step(self):
        for w in self.weights:
            blocks = self.levels[w].float().flatten()
            scale = self.scales[w].repeat_interleave(256)[:w.numel()]
            moment = (blocks * scale).mul_(0.9).add_(w.grad.flatten())
            self.levels[w].copy_((moment / scale).view(w.shape))
            self.scales[w].add_(moment.abs().max())
            w.sub_(moment.view(w.shape), alpha=1e-3)


class Base:
    def __init__(self, weights):
        self.weights = weights
        self.make_state()

    def __call__(self):
        self.update()


class Derived(Base):
    def make_state(self):
        self.norms = [state(torch.zeros(w.shape[0], 64, device="cuda")) for w in self.weights]

    def update(self):
        for w, norms in zip(self.weights, self.norms):
            norms.copy_(w.grad.reshape(len(norms), -1).norm(dim=1)[:, None].expand(-1, 64))
            w.sub_(w.grad / norms.mean(), alpha=1e-3)


def make_group(weights, rate):
    history = [state(torch.zeros(3, *w.shape, device="cuda")) for w in weights]

    def update():
        for w, past in zip(weights, history):
            past.copy_(torch.cat([w.grad[None], past[:-1]]))
            w.sub_(past.mean(0), alpha=rate)
    return update


class Loader:
    def __init__(self):
        self.all = data(torch.randn(4096, 768, device="cuda"))

    def batch(self):
        return self.all[torch.randint(4096, (64,), device="cuda")]


class Checks:
    def __init__(self):
        self.all = data(torch.randn(2048, 768, device="cuda"))

    def batches(self):
        for part in torch.randperm(2048, device="cuda").split(512)[:2]:
            yield self.all[part]


def sgd():
    for w in weights:
        w.sub_(w.grad, alpha=1e-3)


def make_step():
    if WAY == "groups":
        updates = [make_group(weights[:2], 1e-3), make_group(weights[2:], 1e-4)]
        return lambda: [update() for update in updates]
    classes = {"flat": Flat, "factors": Factors, "matrices": Matrices, "bytes": Bytes}
    return Derived(weights) if WAY == "derived" else classes[WAY](weights).step if WAY in classes else sgd


loader, checks = Loader() if WAY == "loader" else None, Checks() if WAY == "checks" else None
step = make_step()
for _ in range(4):
    x = loader.batch() if loader else torch.randn(64, 768, device="cuda")
    nn.functional.mse_loss(model(x), x).backward()
    with torch.no_grad():
        step()
        for w in weights:
            w.grad = None
        if checks:
            for batch in checks.batches():
                nn.functional.mse_loss(model(batch), batch)
