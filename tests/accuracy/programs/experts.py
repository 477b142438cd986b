# SPDX-License-Identifier: Apache-2.0
"""A mixture of experts: experts.py loop (experts are modules) | stacked (one weight for all, batched matmuls) |
capacity (a fixed number of tokens each, by one-hot masks)."""
import sys

import torch
from torch import nn
from torch.nn import functional as F

WAY = sys.argv[1]
WIDTH, EXPERTS = 512, 8


class Expert(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate, self.up, self.down = (nn.Linear(WIDTH, 2 * WIDTH, bias=False), nn.Linear(WIDTH, 2 * WIDTH, bias=False),
                                         nn.Linear(2 * WIDTH, WIDTH, bias=False))

    def forward(self, x):
        return self.down(F.silu(self.gate(x)) * self.up(x))


class Mixture(nn.Module):
    def __init__(self):
        super().__init__()
        self.router = nn.Linear(WIDTH, EXPERTS, bias=False)
        self.register_buffer("load", torch.zeros(EXPERTS))
        if WAY == "loop":
            self.experts = nn.ModuleList(Expert() for _ in range(EXPERTS))
        else:
            self.up = nn.Parameter(torch.randn(EXPERTS, WIDTH, 2 * WIDTH) * .02)
            self.down = nn.Parameter(torch.randn(EXPERTS, 2 * WIDTH, WIDTH) * .02)

    def forward(self, x):
        scores = self.router(x).softmax(-1)
        weights, chosen = scores.topk(2, dim=-1)
        self.load += scores.detach().sum(0)
        balance = EXPERTS * (scores.mean(0) * F.one_hot(chosen[:, 0], EXPERTS).float().mean(0)).sum()
        return getattr(self, WAY)(x, weights, chosen), balance

    def loop(self, x, weights, chosen):
        result, share = torch.zeros_like(x), len(x) * 2 // EXPERTS
        order = chosen.flatten().argsort()
        for i, expert in enumerate(self.experts):
            picked = order[i * share:(i + 1) * share]
            rows = picked // 2
            result = result.index_add(0, rows, expert(x[rows]) * weights.flatten()[picked, None])
        return result

    def stacked(self, x, weights, chosen):
        order = chosen.flatten().argsort()
        rows = order // 2
        grouped = x[rows].view(EXPERTS, -1, WIDTH)
        done = torch.bmm(F.gelu(torch.bmm(grouped, self.up)), self.down).flatten(0, 1)
        return torch.zeros_like(x).index_add(0, rows, done * weights.flatten()[order, None])

    def capacity(self, x, weights, chosen):
        places = 2 * len(x) // EXPERTS
        mask = F.one_hot(chosen[:, 0], EXPERTS).float()
        position = ((mask.cumsum(0) - 1) * mask).sum(-1).long().clamp(0, places - 1)
        dispatch = mask[:, :, None] * F.one_hot(position, places).float()[:, None]
        grouped = torch.einsum("tec,td->ecd", dispatch, x)
        done = torch.bmm(F.gelu(torch.bmm(grouped, self.up)), self.down)
        return torch.einsum("tec,ecd->td", dispatch * weights[:, :1, None], done)


class Net(nn.Module):
    def __init__(self, depth=3):
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(depth))
        self.mixtures = nn.ModuleList(Mixture() for _ in range(depth))

    def forward(self, x):
        balances = 0
        for norm, mixture in zip(self.norms, self.mixtures):
            y, balance = mixture(norm(x))
            x, balances = x + y, balances + balance
        return x, balances


def main():
    model = Net().cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    for _ in range(4):
        x = torch.randn(1024, WIDTH, device="cuda")
        y, balance = model(x)
        loss = y.square().mean() + .01 * balance
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


main()
