# SPDX-License-Identifier: Apache-2.0
"""A residual network in channels_last and bf16 autocast."""
import torch
from torch import nn
import torch.nn.functional as F


class Residual(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.first = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.second = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norms = nn.ModuleList([nn.BatchNorm2d(channels), nn.BatchNorm2d(channels)])

    def forward(self, x):
        y = F.relu(self.norms[0](self.first(x)), inplace=True)
        return F.relu(x + self.norms[1](self.second(y)))


model = nn.Sequential(nn.Conv2d(3, 64, 7, 2, 3), *(Residual(64) for _ in range(3)),
                      nn.Conv2d(64, 256, 3, 2, 1), *(Residual(256) for _ in range(3)),
                      nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(256, 100))
model = model.to("cuda", memory_format=torch.channels_last)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)
for step in range(4):
    images = torch.randn(16, 3, 96, 96).to("cuda").to(memory_format=torch.channels_last)
    labels = torch.randint(100, (16,)).cuda()
    with torch.autocast("cuda", dtype=torch.bfloat16):
        loss = F.cross_entropy(model(images), labels)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
