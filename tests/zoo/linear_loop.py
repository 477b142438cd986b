# SPDX-License-Identifier: Apache-2.0
"""Three forward passes of one big linear layer, and the memory that each line takes: 2 GB for the
layer, 0.2 GB for an input, 1 GB for an output. The second input is created while the first is live."""
import argparse

import torch
from torch import nn


def log(phase):
    allocated, reserved = torch.cuda.memory_allocated(), torch.cuda.memory_reserved()
    print(f"{phase}: allocated={allocated} reserved={reserved}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch", type=int, default=5_000)
    parser.add_argument("--steps", type=int, default=3)
    args = parser.parse_args()

    model = nn.Linear(10_000, 50_000, device="cuda")
    log("model")
    for step in range(args.steps):
        inputs = torch.randn(args.batch, 10_000, device="cuda")
        log(f"step {step} input")
        outputs = model(inputs)
        log(f"step {step} output")
    print("shape of the last output:", tuple(outputs.shape))
    log("end")


if __name__ == "__main__":
    main()
