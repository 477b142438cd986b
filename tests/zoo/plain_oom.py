# SPDX-License-Identifier: Apache-2.0
"""Trains an image classifier with a batch that is doubled each step, to find out how far it goes:
until a card runs out of memory."""
import argparse

import torch
import torch.nn.functional as F
from torch import nn


class Block(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(channels)

    def forward(self, x):
        h = F.relu(self.norm1(self.conv1(x)))
        return F.relu(self.norm2(self.conv2(h)) + x)


def make_model(classes=1000):
    layers, before = [], 3
    for width in (64, 128, 256, 512):
        layers += [nn.Conv2d(before, width, 3, stride=2, padding=1), Block(width), Block(width)]
        before = width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(before, classes))


def log(phase):
    allocated, reserved = torch.cuda.memory_allocated(), torch.cuda.memory_reserved()
    print(f"{phase}: allocated={allocated} reserved={reserved}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch", type=int, default=64, help="images in the first step")
    parser.add_argument("--steps", type=int, default=12)
    args = parser.parse_args()

    model = make_model().to("cuda")
    log("model")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for step in range(args.steps):
        batch = args.batch * 2 ** step
        images = torch.randn(batch, 3, 224, 224, device="cuda")
        labels = torch.randint(0, 1000, (batch,), device="cuda")
        log(f"batch {batch} input")
        loss = F.cross_entropy(model(images), labels)
        log(f"batch {batch} forward")
        loss.backward()
        log(f"batch {batch} backward")
        optimizer.step()
        optimizer.zero_grad()
        log(f"batch {batch} optimizer")
    log("end")


if __name__ == "__main__":
    main()
