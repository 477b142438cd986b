# SPDX-License-Identifier: Apache-2.0
"""Q-learning: a buffer of experience on the device, a second copy of the network, and forwards that no
backward follows between those that are trained."""
import copy

import torch
from torch import nn


truth = {"persistent": []}


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.eyes = nn.Sequential(nn.Conv2d(4, 32, 8, 4), nn.ReLU(), nn.Conv2d(32, 64, 4, 2), nn.ReLU(),
                                  nn.Flatten())
        self.value = nn.Linear(64 * 9 * 9, 512)
        self.out = nn.Linear(512, 6)

    def forward(self, frames):
        return self.out(torch.relu(self.value(self.eyes(frames / 255))))


class Buffer:
    def __init__(self, size):
        self.frames = torch.zeros(size, 4, 84, 84, dtype=torch.uint8, device="cuda")
        self.actions = torch.zeros(size, dtype=torch.long, device="cuda")
        truth["persistent"] += [self.frames, self.actions]
        self.used = 0

    def add(self, frame, action):
        self.frames[self.used] = frame
        self.actions[self.used] = action
        self.used += 1

    def sample(self, n):
        at = torch.randint(0, len(self.frames) - 1, (n,), device="cuda")
        return self.frames[at], self.actions[at], self.frames[at + 1]


def train():
    network = Network().cuda()
    target = copy.deepcopy(network).requires_grad_(False)
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-4)
    buffer = Buffer(1000)
    for step in range(12):
        with torch.no_grad():
            frame = torch.randint(0, 255, (1, 4, 84, 84), dtype=torch.uint8, device="cuda")
            buffer.add(frame[0], network(frame.float()).argmax())
        if step % 3 == 0:
            frames, actions, following = buffer.sample(64)
            with torch.no_grad():
                wanted = 0.99 * target(following.float()).amax(1)
            values = network(frames.float()).gather(1, actions[:, None]).squeeze(1)
            loss = nn.functional.smooth_l1_loss(values, wanted)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(network.parameters(), 10.0)
            optimizer.step()


train()
