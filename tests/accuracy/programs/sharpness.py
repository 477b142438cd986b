# SPDX-License-Identifier: Apache-2.0
"""Sharpness-aware minimization, an optimizer of one's own around another one: two backwards a step, with the
weights moved in between, and what they were kept in its state."""
import torch
from torch import nn


class SAM(torch.optim.Optimizer):
    def __init__(self, parameters, base, rho=.05, **keywords):
        super().__init__(parameters, {"rho": rho, **keywords})
        self.base = base(self.param_groups, **keywords)
        self.param_groups = self.base.param_groups

    @torch.no_grad()
    def move(self):
        for group in self.param_groups:
            for p in group["params"]:
                self.state[p]["before"] = p.clone()
                p.add_(p.grad, alpha=group["rho"])

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                p.copy_(self.state[p]["before"])
        self.base.step()


def main():
    model = nn.Sequential(*(layer for _ in range(5) for layer in (nn.Linear(1024, 1024), nn.ReLU())),
                          nn.Linear(1024, 100)).cuda()
    optimizer = SAM(model.parameters(), torch.optim.SGD, lr=.1, momentum=.9)
    for _ in range(4):
        x, y = torch.randn(512, 1024, device="cuda"), torch.randint(100, (512,), device="cuda")
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.move()
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
        optimizer.zero_grad()


main()
