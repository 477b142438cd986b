# SPDX-License-Identifier: Apache-2.0
"""Runs out of memory in backward, 400 frames of a library's below the line of the model."""
import os

import torch
from torch import nn


class Block(nn.Module):
    def forward(self, x):
        return torch.nn.functional.gelu(x)  # the line


# Its frames are a library's to memtap.
library = compile("def deep(call, n):\n    return deep(call, n - 1) if n else call()\n",
                  os.path.join(os.path.dirname(torch.__file__), "deep.py"), "exec")
exec(library)
x = torch.randn(1 << 30, device="cuda", requires_grad=True)
y = deep(lambda: Block()(x), 400)
free = torch.cuda.mem_get_info()[0]
hog = torch.empty(free - (1 << 30), dtype=torch.uint8, device="cuda")
y.backward(y.detach())
