# SPDX-License-Identifier: Apache-2.0
"""A recommender: large tables with sparse gradients, and a dense part with its own optimizer."""
import torch
from torch import nn


class Recommender(nn.Module):
    def __init__(self, users=50000, items=20000, width=64):
        super().__init__()
        self.users = nn.Embedding(users, width, sparse=True)
        self.items = nn.EmbeddingBag(items, width, mode="sum", sparse=True)
        self.mlp = nn.Sequential(nn.Linear(2 * width, 512), nn.ReLU(), nn.Linear(512, 1))

    def forward(self, user, history):
        return self.mlp(torch.cat([self.users(user), self.items(history)], 1)).squeeze(1)


model = Recommender().cuda()
tables = torch.optim.SparseAdam([*model.users.parameters(), *model.items.parameters()])
dense = torch.optim.AdamW(model.mlp.parameters())
for step in range(4):
    user = torch.randint(50000, (2048,), device="cuda")
    history = torch.randint(20000, (2048, 20), device="cuda")
    clicked = torch.rand(2048, device="cuda")
    loss = nn.functional.binary_cross_entropy_with_logits(model(user, history), clicked)
    loss.backward()
    for optimizer in (tables, dense):
        optimizer.step()
        optimizer.zero_grad()
