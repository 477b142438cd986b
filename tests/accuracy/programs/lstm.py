# SPDX-License-Identifier: Apache-2.0
"""A recurrent tagger: two layers of LSTM, both ways."""
import torch
from torch import nn


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(10000, 200, padding_idx=0)
        self.lstm = nn.LSTM(200, 300, 2, batch_first=True, bidirectional=True, dropout=0.3)
        self.out = nn.Linear(600, 20)

    def forward(self, words):
        states, _ = self.lstm(self.table(words))
        return self.out(states)


model = Tagger().to("cuda")
optimizer = torch.optim.Adam(model.parameters(), amsgrad=True)
for step in range(4):
    words = torch.randint(1, 10000, (32, 60), device="cuda")
    tags = torch.randint(20, (32, 60), device="cuda")
    loss = nn.functional.cross_entropy(model(words).flatten(0, 1), tags.flatten())
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_value_(model.parameters(), 5.0)
    optimizer.step()
