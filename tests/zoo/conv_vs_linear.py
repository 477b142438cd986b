# SPDX-License-Identifier: Apache-2.0
"""What one convolution and one linear layer take: few parameters and big activations against the
opposite."""
import argparse

import torch
from torch import nn

LAYERS = {
    "conv": (lambda: nn.Conv2d(3, 64, kernel_size=3, stride=1, padding=1), (1, 3, 224, 224)),
    "linear": (lambda: nn.Linear(1024, 1024), (1, 1024)),
}


def log(phase):
    allocated, reserved = torch.cuda.memory_allocated(), torch.cuda.memory_reserved()
    print(f"{phase}: allocated={allocated} reserved={reserved}", flush=True)


def train_once(name):
    make_layer, shape = LAYERS[name]
    layer = make_layer().to("cuda")
    log(f"{name} parameters")
    inputs = torch.randn(shape, device="cuda")
    log(f"{name} input")
    outputs = layer(inputs)
    log(f"{name} output")
    loss = outputs.square().mean()
    log(f"{name} loss")
    loss.backward()
    log(f"{name} backward")
    parameters = sum(p.numel() for p in layer.parameters())
    print(f"{name}: {parameters:,} parameters, {inputs.numel():,} input and "
          f"{outputs.numel():,} output elements", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--layer", choices=LAYERS, help="only this one")
    args = parser.parse_args()
    for name in [args.layer] if args.layer else LAYERS:
        train_once(name)
    log("end")


if __name__ == "__main__":
    main()
