# SPDX-License-Identifier: Apache-2.0
"""What a program keeps beside its model, in sizes that parameters have, too: clones of outputs, one an iteration; sums of
squared gradients, which the loss reads; modules' tables, in a list or an object of C's. A hook gives each gradient back in
another tensor, and one of each layer's keeps the bias's gradient of each row, as BackPACK does, until the next backward."""
import types

import torch
from torch import nn

WIDTH = 1024


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.tables = nn.Linear(WIDTH, WIDTH), []

    def set_up(self, shared):
        self.tables, self.shared = [torch.randn(2 * WIDTH, WIDTH, device="cuda") for _ in range(2)], shared

    def forward(self, x):
        for table in self.tables:
            x = x * table + self.shared.shift
        return nn.functional.gelu(self.linear(x)) * self.shared.scale


model = nn.Sequential(*(Layer() for _ in range(4))).cuda()
things = types.SimpleNamespace(shift=torch.zeros(2 * WIDTH, WIDTH, device="cuda"), scale=torch.ones(2 * WIDTH, WIDTH, device="cuda"))
for layer in model:
    layer.set_up(things)
for parameter in model.parameters():
    parameter.register_hook(lambda gradient: gradient.clamp(-1, 1))


def keep_rows(layer, _, gradients):
    layer.bias.grad_batch = gradients[0].clone()


for layer in model:
    layer.linear.register_full_backward_hook(keep_rows)
squares = [torch.zeros_like(parameter) for parameter in model.parameters()]
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
outputs = []
for iteration in range(4):
    y = model(torch.randn(2 * WIDTH, WIDTH, device="cuda"))
    loss = y.square().mean() + sum((square * parameter.square()).sum() for square, parameter in zip(squares, model.parameters()))
    loss.backward()
    for square, parameter in zip(squares, model.parameters()):
        square.add_(parameter.grad.square())
    if iteration < 3:
        outputs.append(y.detach().clone())
    optimizer.step()
    optimizer.zero_grad()
