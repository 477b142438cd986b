# SPDX-License-Identifier: Apache-2.0
"""Images by two networks against each other: adversaries.py plain | spectral (normalized weights) | average (an
average of the generator makes samples) | accumulated (gradients of several batches)."""
import copy
import sys

import torch
from torch import nn
from torch.nn import functional as F

WAY = sys.argv[1]
WRAP = torch.nn.utils.spectral_norm if WAY == "spectral" else lambda layer: layer


class Generator(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.net = nn.Sequential(
            nn.ConvTranspose2d(100, 8 * width, 4, 1, 0, bias=False), nn.BatchNorm2d(8 * width), nn.ReLU(True),
            nn.ConvTranspose2d(8 * width, 4 * width, 4, 2, 1, bias=False), nn.BatchNorm2d(4 * width), nn.ReLU(True),
            nn.ConvTranspose2d(4 * width, 2 * width, 4, 2, 1, bias=False), nn.BatchNorm2d(2 * width), nn.ReLU(True),
            nn.ConvTranspose2d(2 * width, 3, 4, 2, 1, bias=False), nn.Tanh())

    def forward(self, z):
        return self.net(z)


def make_critic(width=64):
    return nn.Sequential(
        WRAP(nn.Conv2d(3, 2 * width, 4, 2, 1)), nn.LeakyReLU(.2, True),
        WRAP(nn.Conv2d(2 * width, 4 * width, 4, 2, 1)), nn.LeakyReLU(.2, True),
        WRAP(nn.Conv2d(4 * width, 8 * width, 4, 2, 1)), nn.LeakyReLU(.2, True),
        nn.Flatten(), WRAP(nn.Linear(8 * width * 16, 1)))


def main():
    generator, critic = Generator().cuda(), make_critic().cuda()
    average = copy.deepcopy(generator).eval() if WAY == "average" else None
    slow = torch.optim.Adam(generator.parameters(), 2e-4, (.5, .999))
    fast = torch.optim.Adam(critic.parameters(), 2e-4, (.5, .999))
    for step in range(4):
        fast.zero_grad()
        for _ in range(3 if WAY == "accumulated" else 1):
            real = torch.rand(64, 3, 32, 32, device="cuda")
            fake = generator(torch.randn(64, 100, 1, 1, device="cuda"))
            F.softplus(-critic(real)).mean().backward()
            F.softplus(critic(fake.detach())).mean().backward()
        fast.step()
        slow.zero_grad()
        F.softplus(-critic(fake)).mean().backward()
        slow.step()
        if average is not None:
            with torch.no_grad():
                for old, new in zip(average.parameters(), generator.parameters()):
                    old.lerp_(new, .01)
                for old, new in zip(average.buffers(), generator.buffers()):
                    old.copy_(new)
                if step % 2:
                    average(torch.randn(16, 100, 1, 1, device="cuda"))


main()
