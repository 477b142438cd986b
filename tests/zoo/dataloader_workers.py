# SPDX-License-Identifier: Apache-2.0
"""Trains a small image classifier on batches that forked worker processes make, and that come to
the device from pinned memory while the step before runs."""
import argparse

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset


class RandomImages(Dataset):
    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        generator = torch.Generator().manual_seed(index)
        image = torch.randint(0, 256, (3, 64, 64), dtype=torch.uint8, generator=generator)
        return image, index % 10


def make_model():
    return nn.Sequential(
        nn.Conv2d(3, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU(), nn.AdaptiveAvgPool2d(4),
        nn.Flatten(), nn.Linear(64 * 4 * 4, 10))


def log(phase):
    allocated, reserved = torch.cuda.memory_allocated(), torch.cuda.memory_reserved()
    print(f"{phase}: allocated={allocated} reserved={reserved}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch", type=int, default=256, help="images a step")
    parser.add_argument("--images", type=int, default=1024, help="images in an epoch")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--workers", type=int, default=2)
    args = parser.parse_args()

    model = make_model().to("cuda")
    log("model")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    # Linux: the workers are forked, after this process has begun to use the device.
    loader = DataLoader(RandomImages(args.images), args.batch, shuffle=True, pin_memory=True,
                        num_workers=args.workers, multiprocessing_context="fork")
    for epoch in range(args.epochs):
        for step, (images, labels) in enumerate(loader):
            images = images.to("cuda", non_blocking=True).float() / 255
            labels = labels.to("cuda", non_blocking=True)
            loss = F.cross_entropy(model(images), labels)
            loss.backward()
            log(f"epoch {epoch} step {step} backward")
            optimizer.step()
            optimizer.zero_grad()
    log("end")


if __name__ == "__main__":
    main()
