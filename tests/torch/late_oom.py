# SPDX-License-Identifier: Apache-2.0
"""Memory runs out, and a list keeps what was last used long before. "turns": in a loop, three turns before; "once": without a loop;
"model": nothing but a model and what its backward needs. The program prints the addresses of what is kept."""
import sys

import torch

MIB = 1 << 18  # of float32
how = sys.argv[1]


def make(size):
    return torch.ones(size * MIB, device="cuda")


def run_out():
    torch.empty(torch.cuda.mem_get_info()[0] + (64 << 20), dtype=torch.uint8, device="cuda")


def turns():
    kept = []
    for turn in range(6):
        x = make(16)
        if turn < 2:
            kept.append(make(64))
            print("kept", kept[-1].data_ptr())
            kept[-1].mul_(2)
        x.add_(1)
        if turn == 5:
            run_out()


def once():
    kept = make(256)
    print("kept", kept.data_ptr())
    total = kept.sum()
    x = make(16)
    x.add_(total)
    run_out()


def model():
    net = torch.nn.Sequential(*[torch.nn.Linear(2048, 2048) for _ in range(8)]).cuda()
    x = torch.ones(8192, 2048, device="cuda")
    y = net(x)
    run_out()
    y.sum().backward()


{"turns": turns, "once": once, "model": model}[how]()
