# SPDX-License-Identifier: Apache-2.0
"""Leaves too little of the card for the handle of cuBLAS that backward's thread makes. held: by a tensor; cached: by PyTorch's
cache; caught: the program frees it then, and goes on."""
import sys

import torch

mode = sys.argv[1]
x = torch.randn(64, 64, device="cuda", requires_grad=True)
y = (x @ x).sum()  # the line
hog = torch.empty((torch.cuda.mem_get_info()[0] - (32 << 20)) // 4, device="cuda")
if mode == "cached":
    del hog
try:
    y.backward(retain_graph=True)
except RuntimeError:
    if mode != "caught":
        raise
    del hog
    torch.cuda.empty_cache()
    y.backward()
