# SPDX-License-Identifier: Apache-2.0
"""zero.py STAGE: three steps of DeepSpeed's engine at this stage of ZeRO, for alone.py:

    DS_BUILD_OPS=0 python3 evaluation/ranks/alone.py ... "zero3=$PWD/evaluation/ranks/zero.py 3" """
import os
import sys

import deepspeed
import torch
from torch import nn

BATCH, WIDTH, LAYERS, STEPS = 4, 512, 4, 3


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        return x + self.down(torch.relu(self.up(self.norm(x))))


def main():
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    config = {"train_micro_batch_size_per_gpu": BATCH, "bf16": {"enabled": True}, "gradient_clipping": 1.0,
              "zero_optimization": {"stage": int(sys.argv[1]), "stage3_param_persistence_threshold": WIDTH}}
    deepspeed.init_distributed("nccl")
    with deepspeed.zero.Init(config_dict_or_path=config, enabled=sys.argv[1] == "3"):
        model = nn.Sequential(*(Layer() for _ in range(LAYERS)), nn.Linear(WIDTH, 1000))
    engine, *_ = deepspeed.initialize(model=model, config=config,
                                      optimizer=torch.optim.AdamW(model.parameters()))
    for _ in range(STEPS):
        x = torch.randn(BATCH, 64, WIDTH, device="cuda", dtype=torch.bfloat16)
        engine.backward(engine(x).float().square().mean())
        engine.step()


main()
