# SPDX-License-Identifier: Apache-2.0
"""Keeps a data set of video clips on the device: fills it with small clips, drops every second one,
and puts clips of twice the size in their place. Each segment of PyTorch's keeps a small clip, and
the holes are too small for a big one: out of memory, with half of what is reserved free."""
import argparse

import torch
from torch import nn

FRAMES = 16


class Features(nn.Module):
    """What is stored of a clip: pixels, smoothed over time."""

    def __init__(self):
        super().__init__()
        self.smooth = nn.Conv3d(3, 3, (3, 1, 1), padding=(1, 0, 0), groups=3)

    def forward(self, size):
        pixels = torch.rand(1, 3, FRAMES, size, size, device="cuda", dtype=torch.float16)
        return self.smooth(pixels)[0]


def log(phase):
    allocated, reserved = torch.cuda.memory_allocated(), torch.cuda.memory_reserved()
    print(f"{phase}: allocated={allocated} reserved={reserved}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=288, help="pixels a side of a small clip")
    parser.add_argument("--fill", type=float, default=0.9, help="part of the card for small clips")
    args = parser.parse_args()

    features = Features().to("cuda", torch.float16)
    log("model")
    capacity = torch.cuda.mem_get_info()[1]
    with torch.no_grad():
        clips = []
        while torch.cuda.memory_reserved() < args.fill * capacity:
            clips.append(features(args.size))
        log("small clips")
        dropped = clips[1::2]
        clips = clips[::2]
        count = len(dropped)
        del dropped
        log("every second one")
        for i in range(count):
            clips.append(features(2 * args.size))
            if i % 10 == 0:
                log(f"{i + 1} big clips")
    log("end")


if __name__ == "__main__":
    main()
