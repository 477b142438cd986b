# SPDX-License-Identifier: Apache-2.0
"""Trains a small vision transformer that torch.compile has made faster: Triton compiles fused kernels
for the card, and loads them."""
import argparse

import torch
import torch.nn.functional as F
from torch import nn


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.heads = width // 64
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.projections = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.wide = nn.Linear(width, 4 * width)
        self.narrow = nn.Linear(4 * width, width)

    def attend(self, x):
        batch, length, width = x.shape
        heads = self.projections(x).view(batch, length, 3, self.heads, 64).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(*heads)
        return self.out(mixed.transpose(1, 2).reshape(batch, length, width))

    def forward(self, x):
        x = x + self.attend(self.norms[0](x))
        return x + self.narrow(F.gelu(self.wide(self.norms[1](x))))


class Network(nn.Module):
    def __init__(self, width, depth, classes=100):
        super().__init__()
        self.patches = nn.Linear(3 * 16 * 16, width)
        self.blocks = nn.Sequential(*[Block(width) for _ in range(depth)])
        self.head = nn.Linear(width, classes)

    def forward(self, images):
        return self.head(self.blocks(self.patches(images)).mean(1))


def log(phase):
    allocated, reserved = torch.cuda.memory_allocated(), torch.cuda.memory_reserved()
    print(f"{phase}: allocated={allocated} reserved={reserved}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch", type=int, default=64, help="images a step")
    parser.add_argument("--width", type=int, default=768)
    parser.add_argument("--depth", type=int, default=4, help="blocks")
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--mode", default="default", help="of torch.compile")
    args = parser.parse_args()

    model = Network(args.width, args.depth).to("cuda")
    log("model")
    compiled = torch.compile(model, mode=args.mode)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    for step in range(args.steps):
        images = torch.randn(args.batch, 196, 3 * 16 * 16, device="cuda")
        labels = torch.randint(0, 100, (args.batch,), device="cuda")
        loss = F.cross_entropy(compiled(images), labels)
        log(f"step {step} forward")
        loss.backward()
        log(f"step {step} backward")
        optimizer.step()
        log(f"step {step} optimizer")
        optimizer.zero_grad()
    log("end")


if __name__ == "__main__":
    main()
