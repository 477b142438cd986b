# SPDX-License-Identifier: Apache-2.0
"""A network that obeys a differential equation: its inputs are leaves that need gradients, which the
loss is made of; LBFGS calls forward and backward within its step."""
import torch
from torch import nn


def gradient(of, by):
    return torch.autograd.grad(of, by, torch.ones_like(of), create_graph=True)[0]


def main():
    model = nn.Sequential(nn.Linear(2, 256), nn.Tanh(), nn.Linear(256, 256), nn.Tanh(),
                          nn.Linear(256, 1)).cuda()
    points = torch.rand(20000, 2, device="cuda", requires_grad=True)
    border = torch.rand(2000, 2, device="cuda")
    optimizer = torch.optim.LBFGS(model.parameters(), max_iter=3, history_size=5)

    def closure():
        optimizer.zero_grad()
        first = gradient(model(points), points)
        second = gradient(first[:, 0], points)
        inside = (second[:, 0] + first[:, 1]).pow(2).mean()
        loss = inside + model(border).pow(2).mean()
        loss.backward()
        return loss

    for _ in range(3):
        optimizer.step(closure)


main()
