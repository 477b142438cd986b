# SPDX-License-Identifier: Apache-2.0
"""Averages of a model next to it: averaged.py copy (a deep copy, never called) | swa (torch.optim.swa_utils) |
buffers (averages of buffers too) | hand (a dict of shadows) | foreach (a list of them) | kept (states put aside) |
object (the trainer has the copy) | target (a network that is called without gradients)."""
import copy
import sys

import torch
from torch import nn
from torch.optim import swa_utils

WAY = sys.argv[1]


class Net(nn.Module):
    def __init__(self, width=256, classes=100):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU())
        self.block = nn.Sequential(nn.Conv2d(width, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU())
        self.head = nn.Linear(width, classes)
        self.register_buffer("prototypes", torch.randn(2048, width))

    def forward(self, x):
        x = self.block(self.stem(x)).mean((2, 3))
        return self.head(x + (x @ self.prototypes.T).softmax(-1) @ self.prototypes)


class Average:
    def __init__(self, model):
        self.model = copy.deepcopy(model).eval().requires_grad_(False)

    @torch.no_grad()
    def update(self, model):
        for old, new in zip(self.model.parameters(), model.parameters()):
            old.lerp_(new, .01)
        for old, new in zip(self.model.buffers(), model.buffers()):
            old.copy_(new)


class Shadows:
    def __init__(self, model):
        self.shadow = {name: p.detach().clone() for name, p in model.named_parameters()}

    @torch.no_grad()
    def update(self, model):
        for name, p in model.named_parameters():
            self.shadow[name].lerp_(p, .01)


class Foreach:
    def __init__(self, model):
        self.shadow = [p.detach().clone() for p in model.parameters()]

    @torch.no_grad()
    def update(self, model):
        torch._foreach_lerp_(self.shadow, list(model.parameters()), .01)


class Kept:
    def __init__(self, _):
        self.best = None

    def update(self, model):
        self.best = copy.deepcopy(model.state_dict())


class Trainer:
    def __init__(self):
        self.model = Net().cuda()
        self.average = {"copy": Average, "object": Average, "target": Average, "hand": Shadows, "foreach": Foreach,
                        "kept": Kept, "swa": None, "buffers": None}[WAY]
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4)
        self.step = 0

    def begin(self):
        if WAY == "swa":
            return swa_utils.AveragedModel(self.model)
        if WAY == "buffers":
            return swa_utils.AveragedModel(self.model, multi_avg_fn=swa_utils.get_ema_multi_avg_fn(.99), use_buffers=True)
        return self.average(self.model)

    def train(self):
        average = self.average = self.begin()
        for _ in range(4):
            images = torch.rand(16, 3, 32, 32, device="cuda")
            labels = torch.randint(100, (16,), device="cuda")
            loss = nn.functional.cross_entropy(self.model(images), labels)
            if WAY == "target":
                with torch.no_grad():
                    wanted = average.model(images)
                loss = loss + (self.model(images) - wanted).square().mean()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            (average.update_parameters if WAY in ("swa", "buffers") else average.update)(self.model)


if WAY == "copy":
    model = Net().cuda()
    average = copy.deepcopy(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    for _ in range(4):
        images = torch.rand(16, 3, 32, 32, device="cuda")
        labels = torch.randint(100, (16,), device="cuda")
        nn.functional.cross_entropy(model(images), labels).backward()
        optimizer.step()
        optimizer.zero_grad()
        with torch.no_grad():
            for old, new in zip(average.state_dict().values(), model.state_dict().values()):
                old.copy_(new)
else:
    trainer = Trainer()
    trainer.train()
