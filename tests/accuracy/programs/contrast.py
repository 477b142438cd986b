# SPDX-License-Identifier: Apache-2.0
"""Contrastive learning: an encoder, its average, which is called without gradients, and a queue of what that
gave, as buffers."""
import copy

import torch
from torch import nn
from torch.nn import functional as F


class Contrast(nn.Module):
    def __init__(self, width=128, queue=16384):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(3, 64, 3, 2, 1), nn.BatchNorm2d(64), nn.ReLU(), nn.Conv2d(64, 256, 3, 2, 1), nn.BatchNorm2d(256),
            nn.ReLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(4096, 512), nn.ReLU(), nn.Linear(512, width))
        self.average = copy.deepcopy(self.encoder).requires_grad_(False)
        self.register_buffer("queue", F.normalize(torch.randn(width, queue), dim=0))
        self.register_buffer("at", torch.zeros(1, dtype=torch.long))

    def forward(self, a, b):
        q = F.normalize(self.encoder(a), dim=1)
        with torch.no_grad():
            for old, new in zip(self.average.parameters(), self.encoder.parameters()):
                old.mul_(.999).add_(new, alpha=.001)
            k = F.normalize(self.average(b), dim=1)
        scores = torch.cat([(q * k).sum(1, keepdim=True), q @ self.queue.clone()], 1) / .07
        with torch.no_grad():
            self.queue[:, :len(k)] = k.T
        return F.cross_entropy(scores, torch.zeros(len(q), dtype=torch.long, device=q.device))


model = Contrast().cuda()
optimizer = torch.optim.SGD(model.encoder.parameters(), lr=.03, momentum=.9, weight_decay=1e-4)
for step in range(4):
    a, b = (torch.rand(64, 3, 64, 64, device="cuda") for _ in range(2))
    loss = model(a, b)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
