# SPDX-License-Identifier: Apache-2.0
"""Inference with weights of eight bits, which are buffers made on the device, by no module's own code; quantized.py state: their
constants are attributes of an object that a parameter of its own class has."""
import sys

import torch
from torch import nn

WAY = sys.argv[1] if len(sys.argv) > 1 else "buffers"


class State:
    def __init__(self, scale, code):
        self.scale, self.code, self.shape = scale, code, scale.shape


class Weight(nn.Parameter):
    def __new__(cls, data, state):
        weight = super().__new__(cls, data, requires_grad=False)
        weight.state = state
        return weight


class Looked(nn.Module):
    def __init__(self, layer):
        super().__init__()
        scale = layer.weight.abs().amax(1, keepdim=True) / 127
        self.weight = Weight((layer.weight / scale).round().to(torch.int8),
                             State(scale.half().expand_as(layer.weight).contiguous(), torch.linspace(-1, 1, 65536, device="cuda")))

    def forward(self, x):
        return nn.functional.linear(x, self.weight.half() * self.weight.state.scale)


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
        layers = [(Looked if WAY == "state" else Quantized)(nn.Linear(1024, 1024).cuda()) for _ in range(6)]
    model = nn.Sequential(*layers)
    with torch.inference_mode():
        for _ in range(3):
            x = torch.randn(128, 1024, device="cuda", dtype=torch.half)
            model(x).float().cpu()


main()
