# SPDX-License-Identifier: Apache-2.0
"""Trains a layer, with 6 MiB of memory that PyTorch knows nothing of, and 4 MiB of the host's that is
page-locked."""
import ctypes

import torch

model = torch.nn.Linear(2048, 2048).cuda()
beside = ctypes.c_void_p()
assert not ctypes.CDLL(None).cudaMalloc(ctypes.byref(beside), ctypes.c_size_t(6 << 20))
pinned = torch.zeros(4 << 20, dtype=torch.uint8).pin_memory()
for _ in range(2):
    model(torch.ones(64, 2048, device="cuda")).sum().backward()
