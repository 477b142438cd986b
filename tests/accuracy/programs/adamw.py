# SPDX-License-Identifier: Apache-2.0
"""A transformer encoder with AdamW: adamw.py fused|foreach|plain."""
import sys

import torch
from torch import nn

kind = sys.argv[1]
model = nn.TransformerEncoder(
    nn.TransformerEncoderLayer(256, 8, 1024, batch_first=True), 4).to("cuda")
head = nn.Linear(256, 10).cuda()
parameters = [*model.parameters(), *head.parameters()]
optimizer = torch.optim.AdamW(parameters, fused=kind == "fused", foreach=kind == "foreach")
for _ in range(4):
    x = torch.randn(16, 128, 256, device="cuda")
    y = torch.randint(0, 10, (16,), device="cuda")
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(head(model(x).mean(1)), y)
    loss.backward()
    nn.utils.clip_grad_norm_(parameters, 1.0)
    optimizer.step()
