# SPDX-License-Identifier: Apache-2.0
"""Trains a diffusion model: a UNet of 76 million parameters learns to predict the noise in 64x64
images, in fp32, with Adam. The images are random."""
import argparse
import math

import torch
import torch.nn.functional as F
from torch import nn


class ResidualBlock(nn.Module):
    """Two convolutions; the time step scales and shifts what goes into the second."""

    def __init__(self, in_channels, out_channels, time_channels):
        super().__init__()
        self.norm1 = nn.GroupNorm(32, in_channels)
        self.conv1 = nn.Conv2d(in_channels, out_channels, 3, padding=1)
        self.time = nn.Linear(time_channels, 2 * out_channels)
        self.norm2 = nn.GroupNorm(32, out_channels)
        self.dropout = nn.Dropout(0.1)
        self.conv2 = nn.Conv2d(out_channels, out_channels, 3, padding=1)
        self.skip = nn.Identity()
        if in_channels != out_channels:
            self.skip = nn.Conv2d(in_channels, out_channels, 1)

    def forward(self, x, time):
        scale, shift = self.time(F.silu(time))[:, :, None, None].chunk(2, dim=1)
        h = self.conv1(F.silu(self.norm1(x)))
        h = self.norm2(h) * (1 + scale) + shift
        return self.conv2(self.dropout(F.silu(h))) + self.skip(x)


class Attention(nn.Module):
    def __init__(self, channels, heads=16):
        super().__init__()
        self.heads = heads
        self.norm = nn.GroupNorm(32, channels)
        self.qkv = nn.Linear(channels, 3 * channels)
        self.out = nn.Linear(channels, channels)

    def forward(self, x):
        tokens = self.norm(x).flatten(2).transpose(1, 2)
        q, k, v = self.qkv(tokens).unflatten(2, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        tokens = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)
        return x + self.out(tokens).transpose(1, 2).reshape(x.shape)


class UNet(nn.Module):
    def __init__(self, channels=(128, 256, 512, 1024), time_channels=768):
        super().__init__()
        first = channels[0]
        self.time = nn.Sequential(
            nn.Linear(first, time_channels), nn.SiLU(), nn.Linear(time_channels, time_channels))
        self.stem = nn.Conv2d(3, first, 3, padding=1)
        self.down, self.downsample = nn.ModuleList(), nn.ModuleList()
        before = first
        for width in channels:
            self.down.append(self.blocks(before, width, time_channels))
            self.downsample.append(nn.Conv2d(width, width, 2, stride=2))
            before = width
        del self.downsample[-1]
        self.attention = Attention(before)
        self.up, self.upsample = nn.ModuleList(), nn.ModuleList()
        for width in reversed(channels[:-1]):
            self.upsample.append(nn.Conv2d(before, width, 1))
            self.up.append(self.blocks(2 * width, width, time_channels))
            before = width
        self.norm = nn.GroupNorm(32, first)
        self.head = nn.Conv2d(first, 3, 3, padding=1)

    @staticmethod
    def blocks(in_channels, out_channels, time_channels):
        return nn.ModuleList([ResidualBlock(in_channels, out_channels, time_channels),
                              ResidualBlock(out_channels, out_channels, time_channels)])

    def embed(self, times):
        half = self.time[0].in_features // 2
        rates = torch.exp(-math.log(10_000) / half * torch.arange(half, device=times.device))
        angles = times[:, None] * rates
        return self.time(torch.cat([angles.sin(), angles.cos()], dim=1))

    def forward(self, x, times):
        time = self.embed(times)
        x = self.stem(x)
        skips = []
        for level, blocks in enumerate(self.down):
            for block in blocks:
                x = block(x, time)
            if level < len(self.downsample):
                skips.append(x)
                x = self.downsample[level](x)
        x = self.attention(x)
        for upsample, blocks in zip(self.upsample, self.up):
            x = upsample(F.interpolate(x, scale_factor=2.0))
            x = torch.cat([x, skips.pop()], dim=1)
            for block in blocks:
                x = block(x, time)
        return self.head(F.silu(self.norm(x)))


def log(phase):
    allocated, reserved = torch.cuda.memory_allocated(), torch.cuda.memory_reserved()
    print(f"{phase}: allocated={allocated} reserved={reserved}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch", type=int, default=128, help="images a step")
    parser.add_argument("--steps", type=int, default=3)
    args = parser.parse_args()

    model = UNet().to("cuda")
    log("model")
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
    signal = torch.cos(torch.linspace(0, math.pi / 2, 1000, device="cuda")) ** 2

    for step in range(args.steps):
        images = torch.rand(args.batch, 3, 64, 64, device="cuda") * 2 - 1
        noise = torch.randn_like(images)
        times = torch.randint(0, 1000, (args.batch,), device="cuda")
        kept = signal[times][:, None, None, None]
        noisy = kept.sqrt() * images + (1 - kept).sqrt() * noise

        loss = F.mse_loss(model(noisy, times), noise)
        log(f"step {step} forward")
        loss.backward()
        log(f"step {step} backward")
        optimizer.step()
        log(f"step {step} optimizer")
        optimizer.zero_grad()
    log("end")


if __name__ == "__main__":
    main()
