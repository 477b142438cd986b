# SPDX-License-Identifier: Apache-2.0
"""savers.py WAY: trains six layers. WAY says what saves the result of a line for backward that nothing saved before; or whether there
is a line more among equal ones."""
import sys

import torch
from torch import nn
from torch.nn import functional

WAY = sys.argv[1]
WIDTH = 512


class Gain(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, gain):
        ctx.save_for_backward(x, gain)
        return x * gain

    @staticmethod
    def backward(ctx, gradient):
        x, gain = ctx.saved_tensors
        return gradient * gain, (gradient * x).sum(0)


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(WIDTH, WIDTH)
        self.gain = nn.Parameter(torch.ones(WIDTH))

    def forward(self, x):
        y = self.inner(x)  # allocates
        if WAY == "gain":
            y = y * self.gain  # gain
        elif WAY == "norm":
            y = functional.layer_norm(y, [WIDTH])  # norm
        elif WAY == "own":
            y = Gain.apply(y, self.gain)  # own
        return y.relu()


class Equal(nn.Module):
    """Lines that allocate as much as each other; of the way `scaled`, one more, and all are further down."""
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(WIDTH, WIDTH)
        self.gain = nn.Parameter(torch.ones(WIDTH))

    if WAY == "equal":
        def forward(self, x):
            y = self.inner(x)
            y = y.relu()
            return y.sigmoid()
    else:
        def forward(self, x):
            y = self.inner(x)
            y = y.relu()
            y = y.sigmoid()
            return y * self.gain  # scaled


def main():
    kind = Equal if WAY in ("equal", "scaled") else Layer
    model = nn.Sequential(*[kind() for _ in range(6)]).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        loss = model(torch.randn(4096, WIDTH, device="cuda")).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


main()
