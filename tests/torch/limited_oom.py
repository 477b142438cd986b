# SPDX-License-Identifier: Apache-2.0
"""Takes the half of the card that it allows itself, wants more, and goes on without it."""
import torch

torch.cuda.set_per_process_memory_fraction(0.5)
taken = []
try:
    while True:
        taken.append(torch.empty(1 << 30, dtype=torch.uint8, device="cuda"))
except torch.OutOfMemoryError:
    del taken
torch.empty(1 << 20, device="cuda")
