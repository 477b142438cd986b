# SPDX-License-Identifier: Apache-2.0
"""Inference with weights of eight bits, which are buffers made on the device, by no module's own code."""
import torch
from torch import nn


class Quantized(nn.Module):
    def __init__(self, layer):
        super().__init__()
        scale = layer.weight.abs().amax(1, keepdim=True) / 127
        self.register_buffer("weight", (layer.weight / scale).round().to(torch.int8))
        self.register_buffer("scale", scale.half())
        self.bias = nn.Parameter(layer.bias.detach().half(), requires_grad=False)

    def forward(self, x):
        return nn.functional.linear(x, self.weight.half() * self.scale, self.bias)


def main():
    with torch.no_grad():
        layers = [Quantized(nn.Linear(1024, 1024).cuda()) for _ in range(6)]
    model = nn.Sequential(*layers)
    with torch.inference_mode():
        for _ in range(3):
            x = torch.randn(128, 1024, device="cuda", dtype=torch.half)
            model(x).float().cpu()


main()
