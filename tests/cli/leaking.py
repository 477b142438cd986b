# SPDX-License-Identifier: Apache-2.0
"""Keeps each step's output in a list: the program of docs/guides/it-leaks.md."""
import torch

model = torch.nn.Sequential(*[torch.nn.Linear(2048, 2048) for _ in range(8)]).cuda()
optimizer = torch.optim.AdamW(model.parameters())
history = []
for _step in range(12):
    out = model(torch.randn(256, 2048, device="cuda"))
    loss = out.square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    history.append((loss, out))
