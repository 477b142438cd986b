# SPDX-License-Identifier: Apache-2.0
"""A frozen base in bf16 with low-rank adapters in fp32."""
import torch
from torch import nn


class Adapted(nn.Module):
    def __init__(self, base, rank=16):
        super().__init__()
        self.base = base
        for parameter in base.parameters():
            parameter.requires_grad = False
        self.down = nn.Parameter(torch.randn(rank, base.in_features) / rank)
        self.up = nn.Parameter(torch.zeros(base.out_features, rank))
        self.dropout = nn.Dropout(0.05)

    def forward(self, x):
        low = nn.functional.linear(self.dropout(x).float(), self.down)
        return self.base(x) + nn.functional.linear(low, self.up).to(x.dtype)


base = nn.Sequential(nn.Embedding(20000, 512), *(
    layer for _ in range(8) for layer in (nn.LayerNorm(512), nn.Linear(512, 512), nn.SiLU())),
    nn.Linear(512, 20000, bias=False)).to(torch.bfloat16)
for parameter in base.parameters():
    parameter.requires_grad_(False)
for i, layer in enumerate(base):
    if isinstance(layer, nn.Linear) and layer.out_features == 512:
        base[i] = Adapted(layer)
model = base.to("cuda")
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4)
for step in range(4):
    tokens = torch.randint(0, 20000, (4, 257), device="cuda")
    logits = model(tokens[:, :-1])
    loss = nn.functional.cross_entropy(logits.float().flatten(0, 1), tokens[:, 1:].flatten())
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
