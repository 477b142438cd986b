# SPDX-License-Identifier: Apache-2.0
"""A quantized model that from_pretrained loads, with an adapter that is trained: its constants are buffers, plain attributes, and in an
object of attributes."""
import os
import tempfile

import torch
from torch import nn
from transformers import PretrainedConfig, PreTrainedModel

WIDTH = 1024


class State:
    def __init__(self, absmax, code):
        self.absmax, self.code = absmax, code


class Quantized(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("qweight", torch.zeros(WIDTH, WIDTH, dtype=torch.int8))
        self.register_buffer("scales", torch.ones(WIDTH, WIDTH // 4))
        self.zeros = None

    def forward(self, x):
        weight = self.qweight.float().view(WIDTH, -1, 4) * self.scales[..., None] + self.state.absmax.view(WIDTH, -1, 4)
        return x @ (weight + self.zeros[..., None]).view(WIDTH, WIDTH)


class Config(PretrainedConfig):
    model_type = "small"


class Small(PreTrainedModel):
    config_class = Config

    def __init__(self, config):
        super().__init__(config)
        self.layers = nn.ModuleList(Quantized() for _ in range(4))
        self.adapter = nn.Linear(WIDTH, WIDTH)
        self.post_init()

    def _init_weights(self, module):
        pass

    def forward(self, x):
        for layer in self.layers:
            x = torch.tanh(layer(x)) + self.adapter(x)
        return x


def make_constants(model):
    for layer in model.layers:
        layer.zeros = torch.zeros(WIDTH, WIDTH // 4, device="cuda")
        layer.state = State(layer.scales.repeat(1, 4), None)


os.chdir(tempfile.mkdtemp())
Small(Config()).save_pretrained("m")
model = Small.from_pretrained("m").cuda()
make_constants(model)
optimizer = torch.optim.AdamW(model.adapter.parameters(), lr=1e-3)
for _ in range(3):
    loss = model(torch.randn(512, WIDTH, device="cuda")).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
with torch.no_grad():
    for _ in range(3):
        model(torch.randn(512, WIDTH, device="cuda"))
