# SPDX-License-Identifier: Apache-2.0
"""Tables that a model makes in its first forward and keeps: tables.py buffer (registered) | attribute | dict (by
length) | cached (functools.lru_cache) | grown (made anew for longer texts) | helper (an object that is no module) |
constructed (in the constructor) | given (by the program, one table for all layers) [infer]."""
import functools
import sys

import torch
from torch import nn

WAY, INFER = sys.argv[1], "infer" in sys.argv[2:]
WIDTH, HEADS = 512, 8


def make_rotary(length, width, device):
    angles = torch.arange(length, device=device)[:, None] * 10000 ** (
        -torch.arange(0, width, 2, device=device) / width)
    return torch.cat([angles, angles], -1).cos(), torch.cat([angles, angles], -1).sin()


def make_mask(length, device):
    return torch.full((length, length), float("-inf"), device=device).triu(1)


@functools.lru_cache
def cached_tables(length, width, device):
    return (*make_rotary(length, width, device), make_mask(length, device))


class Tables:
    def __init__(self):
        self.made = None

    def get(self, length, width, device):
        if self.made is None:
            self.made = (*make_rotary(length, width, device), make_mask(length, device))
        return self.made


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.tables, self.helper, self.length = {}, Tables(), 0
        self.cos = None
        if WAY == "constructed":
            self.find_tables(512, "cuda")

    def find_tables(self, length, device):
        width = WIDTH // HEADS
        if WAY == "cached":
            return cached_tables(length, width, device)
        if WAY == "helper":
            return self.helper.get(length, width, device)
        if WAY == "given":
            return self.given["tables"]
        if WAY == "dict":
            if length not in self.tables:
                self.tables[length] = (*make_rotary(length, width, device), make_mask(length, device))
            return self.tables[length]
        if length > self.length:
            self.length = length
            cos, sin, mask = (*make_rotary(length, width, device), make_mask(length, device))
            if WAY in ("attribute", "constructed"):
                self.cos, self.sin, self.mask = cos, sin, mask
            else:
                if "cos" in self.__dict__:
                    del self.cos
                for name, table in (("cos", cos), ("sin", sin), ("mask", mask)):
                    self.register_buffer(name, table, persistent=False)
        return self.cos[:length], self.sin[:length], self.mask[:length, :length]

    def forward(self, x):
        cos, sin, mask = self.find_tables(x.shape[1], x.device)
        q, k, v = (t.unflatten(-1, (HEADS, -1)).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
        q, k = (t * cos + torch.cat([-t[..., 32:], t[..., :32]], -1) * sin for t in (q, k))
        weights = (q @ k.transpose(-1, -2) / 8 + mask).softmax(-1)
        return x + self.out((weights @ v).transpose(1, 2).flatten(2))


def main():
    model = nn.Sequential(*(Attention() for _ in range(3))).cuda()
    if WAY == "given":
        given = {"tables": (*make_rotary(512, WIDTH // HEADS, "cuda"), make_mask(512, "cuda"))}
        for layer in model:
            layer.given = given
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    for length in (256, 384, 256, 384, 384, 256) if WAY in ("grown", "dict") else 4 * (512,):
        x = torch.randn(4, length, WIDTH, device="cuda")
        if INFER:
            with torch.no_grad():
                y = model(x)
            continue
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


main()
