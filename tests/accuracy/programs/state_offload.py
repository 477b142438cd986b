# SPDX-License-Identifier: Apache-2.0
"""The optimizer's state is on the host between steps, and what is saved for backward until backward."""
import torch
from torch import nn


def move(optimizer, device):
    for state in optimizer.state.values():
        for name, value in state.items():
            if torch.is_tensor(value) and value.dim():
                state[name] = value.to(device)


def main():
    layers = [nn.Sequential(nn.Linear(512, 512), nn.GELU()) for _ in range(4)]
    model = nn.Sequential(*layers).cuda()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(5):
        x = torch.randn(2048, 512, device="cuda")
        with torch.autograd.graph.save_on_cpu(pin_memory=True):
            loss = model(x).pow(2).mean()
        loss.backward()
        move(optimizer, "cuda")
        optimizer.step()
        move(optimizer, "cpu")
        optimizer.zero_grad()


main()
