# SPDX-License-Identifier: Apache-2.0
"""first_step_oom.py adam|adam-fused|rmsprop MIB: an optimizer's first step finds so much memory free, and runs out of it. The
parameters' sizes differ, the first two's do not."""
import functools
import sys

import torch
from torch import nn

OPTIMIZERS = {"adam": torch.optim.Adam, "adam-fused": functools.partial(torch.optim.Adam, fused=True),
              "rmsprop": torch.optim.RMSprop}
name, free = sys.argv[1], int(sys.argv[2])
widths = [2048, 4096, 2048, 3072, 1024]
model = nn.Sequential(*(nn.Linear(one, other, bias=False) for one, other in zip(widths, widths[1:]))).cuda()
optimizer = OPTIMIZERS[name](model.parameters())
model(torch.randn(16, 2048, device="cuda")).sum().backward()
torch.cuda.empty_cache()
filler = torch.empty(torch.cuda.mem_get_info()[0] - (free << 20), device="cuda", dtype=torch.uint8)
print("parameters", sum(weight.nbytes for weight in model.parameters()))
optimizer.step()
