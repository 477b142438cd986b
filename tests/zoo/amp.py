# SPDX-License-Identifier: Apache-2.0
"""Trains an image classifier with automatic mixed precision: weights in fp32, layers in fp16 where
autocast says so, and a gradient scaler."""
import argparse

import torch
import torch.nn.functional as F
from torch import nn


def make_model(classes=100):
    layers, before = [], 3
    for width in (64, 128, 256, 512):
        layers += [nn.Conv2d(before, width, 3, padding=1), nn.BatchNorm2d(width), nn.GELU(),
                   nn.MaxPool2d(2)]
        before = width
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(before * 14 * 14, 1024), nn.GELU(),
                         nn.LayerNorm(1024), nn.Linear(1024, classes))


def log(phase):
    allocated, reserved = torch.cuda.memory_allocated(), torch.cuda.memory_reserved()
    print(f"{phase}: allocated={allocated} reserved={reserved}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch", type=int, default=128, help="images a step")
    parser.add_argument("--steps", type=int, default=3)
    args = parser.parse_args()

    model = make_model().to("cuda")
    log("model")
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    scaler = torch.amp.GradScaler("cuda")
    for step in range(args.steps):
        images = torch.randn(args.batch, 3, 224, 224, device="cuda")
        labels = torch.randint(0, 100, (args.batch,), device="cuda")
        with torch.autocast("cuda", dtype=torch.float16):
            loss = F.cross_entropy(model(images), labels)
        log(f"step {step} forward")
        scaler.scale(loss).backward()
        log(f"step {step} backward")
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        log(f"step {step} optimizer")
        optimizer.zero_grad()
    log("end")


if __name__ == "__main__":
    main()
