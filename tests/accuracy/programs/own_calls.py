# SPDX-License-Identifier: Apache-2.0
"""Modules that are called otherwise: one whose class has a __call__ of its own, one whose forward the program calls, and
one without a graph, which makes the inputs of the others (an augmentation, a frozen encoder)."""
import torch
from torch import nn

WIDTH = 512


class Augmentation(nn.Module):
    def forward(self, images):
        return images + 0.1 * torch.randn_like(images)


class Covariance(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(WIDTH, WIDTH)

    def __call__(self, x):
        places = torch.arange(x.shape[0], device=x.device, dtype=x.dtype)
        distances = torch.exp(-(places[:, None] - places).square() / WIDTH)
        return distances @ self.linear(x)


class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(WIDTH))

    def forward(self, x):
        return x * self.scale * torch.bernoulli(torch.full(x.shape, 0.9, device=x.device))


change, covariance, scale = (module().cuda() for module in (Augmentation, Covariance, Scale))
parameters = [*covariance.parameters(), *scale.parameters()]
optimizer = torch.optim.SGD(parameters, 1e-3, momentum=0.9)
for _ in range(4):
    with torch.no_grad():
        x = change(torch.randn(4 * WIDTH, WIDTH, device="cuda"))
    optimizer.zero_grad()
    loss = scale.forward(covariance(x)).square().mean()
    loss.backward()
    optimizer.step()
