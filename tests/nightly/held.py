# SPDX-License-Identifier: Apache-2.0
"""held.py WAY: runs six iterations. "kept" keeps what three lines allocate: in a list, in an attribute, in a reference cycle."""
import ctypes
import gc
import sys

import torch

KEEPS = sys.argv[1] == "kept"


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(256, 256)
        self.seen = []

    def forward(self, x):
        y = self.fc(x)
        if KEEPS:
            self.seen.append(x.abs())  # attribute
        return y


class Cycle:
    pass


def main():
    gc.disable()
    net, losses = Net().cuda(), []
    for _ in range(6):
        x = torch.randn(4096, 256, device="cuda")
        net(x).sum().backward()
        if KEEPS:
            losses.append(x + 1)  # list
            cycle = Cycle()
            cycle.own, cycle.x = cycle, x * 2  # garbage
            del cycle
    ctypes.CDLL(None).memtap_holders()


main()
