# SPDX-License-Identifier: Apache-2.0
"""An optimizer that the program brings along, with several states of its own."""
import torch
from torch import nn


class Lion(torch.optim.Optimizer):
    def __init__(self, parameters, lr=1e-4, beta=0.95):
        super().__init__(parameters, {"lr": lr, "beta": beta})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if not state:
                    state["moving"] = p.grad.clone()
                    state["row"] = p.grad.abs().mean(-1)
                update = (state["moving"] * group["beta"] + p.grad * (1 - group["beta"])).sign()
                state["row"] = state["row"] * 0.9 + update.abs().mean(-1) * 0.1
                p.add_(update, alpha=-group["lr"])
                state["moving"].mul_(0.99).add_(p.grad, alpha=0.01)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(5000, 256)
        self.register_buffer("mask", torch.ones(512, 512).tril().log())
        self.query, self.key, self.value = (nn.Linear(256, 256) for _ in range(3))
        self.out = nn.Linear(256, 5000)

    def forward(self, tokens):
        x = self.table(tokens)
        scores = self.query(x) @ self.key(x).transpose(1, 2) / 16 + self.mask
        return self.out(scores.softmax(-1) @ self.value(x))


with torch.device("cuda"):
    net = Net()
optimizer = Lion(net.parameters())
for step in range(4):
    tokens = torch.randint(5000, (2, 512), device="cuda")
    loss = nn.functional.cross_entropy(net(tokens).transpose(1, 2), tokens)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
