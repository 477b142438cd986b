# SPDX-License-Identifier: Apache-2.0
"""A model in bf16, its weights kept in fp32 by hand: the optimizer works on the copies. masters.py [wrapped in
nn.Parameter]."""
import sys

import torch
from torch import nn

model = nn.Sequential(nn.Embedding(8000, 512), *(
    nn.TransformerEncoderLayer(512, 8, 2048, batch_first=True) for _ in range(4)),
    nn.Linear(512, 8000)).to(device="cuda", dtype=torch.bfloat16)
masters = [p.detach().clone().float().requires_grad_(True) for p in model.parameters()]
if "wrapped" in sys.argv[1:]:
    masters = [nn.Parameter(p.detach()) for p in masters]
optimizer = torch.optim.Adam(masters, lr=1e-4)
for step in range(4):
    tokens = torch.randint(8000, (4, 128), device="cuda")
    loss = nn.functional.cross_entropy(model(tokens).transpose(1, 2), tokens)
    loss.backward()
    for master, p in zip(masters, model.parameters()):
        master.grad = p.grad.to(torch.float32)
        p.grad = None
    optimizer.step()
    optimizer.zero_grad()
    with torch.no_grad():
        for master, p in zip(masters, model.parameters()):
            p.copy_(master)
