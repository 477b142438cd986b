# SPDX-License-Identifier: Apache-2.0
"""DeepSpeed's ZeRO in one process: zero.py STAGE TYPE MICRO-BATCHES."""
import os
import sys

import deepspeed
import torch
from torch import nn

STAGE, TYPE, MICRO = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
for name, value in (("MASTER_ADDR", "127.0.0.1"), ("MASTER_PORT", "0"), ("RANK", "0"),
                    ("WORLD_SIZE", "1"), ("LOCAL_RANK", "0")):
    os.environ.setdefault(name, value)


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        return x + self.down(nn.functional.gelu(self.up(self.norm(x))))


class Net(nn.Module):
    def __init__(self, width=512, depth=4):
        super().__init__()
        self.words = nn.Embedding(4000, width)
        self.blocks = nn.ModuleList(Block(width) for _ in range(depth))
        self.head = nn.Linear(width, 4000)

    def forward(self, tokens, wanted):
        x = self.words(tokens)
        for block in self.blocks:
            x = block(x)
        return nn.functional.cross_entropy(self.head(x).flatten(0, 1).float(), wanted.flatten())


settings = {
    "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": MICRO,
    "zero_optimization": {"stage": STAGE, "reduce_bucket_size": 2000000, "stage3_prefetch_bucket_size": 1000000,
                          "stage3_param_persistence_threshold": 1000},
    "optimizer": {"type": "AdamW", "params": {"lr": 1e-4, "torch_adam": True}},
    "zero_allow_untested_optimizer": True, "steps_per_print": 1000,
}
if TYPE != "fp32":
    settings[TYPE] = {"enabled": True}
model = Net()
engine, *_ = deepspeed.initialize(model=model, model_parameters=model.parameters(), config=settings)
for step in range(4 * MICRO):
    tokens = torch.randint(4000, (4, 256), device="cuda")
    wanted = torch.randint(4000, (4, 256), device="cuda")
    loss = engine(tokens, wanted)
    engine.backward(loss)
    engine.step()
