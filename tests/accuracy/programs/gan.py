# SPDX-License-Identifier: Apache-2.0
"""Two models against each other, two optimizers, and a penalty on a gradient (double backward)."""
import torch
from torch import nn

generator = nn.Sequential(nn.Linear(128, 1024), nn.LeakyReLU(0.2), nn.Linear(1024, 3072), nn.Tanh())
critic = nn.Sequential(nn.Linear(3072, 1024), nn.LeakyReLU(0.2), nn.Linear(1024, 1))
generator, critic = generator.cuda(), critic.cuda()
slow = torch.optim.Adam(generator.parameters(), betas=(0.0, 0.9))
fast = torch.optim.Adam(critic.parameters(), betas=(0.0, 0.9))
for step in range(3):
    real = torch.randn(256, 3072, device="cuda")
    fake = generator(torch.randn(256, 128, device="cuda"))
    mixed = (real + fake.detach()).div(2).requires_grad_()
    slope, = torch.autograd.grad(critic(mixed).sum(), mixed, create_graph=True)
    loss = critic(fake.detach()).mean() - critic(real).mean() + (slope.norm(dim=1) - 1).square().mean()
    fast.zero_grad()
    loss.backward()
    fast.step()
    loss = -critic(fake).mean()
    slow.zero_grad()
    loss.backward()
    slow.step()
