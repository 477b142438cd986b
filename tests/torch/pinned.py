# SPDX-License-Identifier: Apache-2.0
"""Page-locked memory, by each way in which PyTorch requests it; prints the bytes that the tensors need."""
import torch

MIB = 1 << 20

torch.cuda.init()
kept = [torch.empty(size, dtype=torch.uint8, pin_memory=True)
        for size in (33 * MIB, 64 * MIB, 40 * MIB + 12, 33 * MIB, 64 * MIB)]
for size in (5 * MIB, 8 * MIB, 6 * MIB + 4):  # after others: PyTorch does not hand out their memory for so little
    kept.append(torch.empty(size // 4).pin_memory())
kept.append(torch.empty((3, 7, 1000003), dtype=torch.float16).transpose(0, 1).pin_memory())
kept.append(torch.empty_like(torch.empty((3, 777), dtype=torch.float64).t(), pin_memory=True))
kept.append(torch.ones(500, 777, device="cuda").to("cpu", non_blocking=True))
kept.append(torch.tensor(list(range(3000)), pin_memory=True))
kept = [tensor for tensor in kept if tensor.is_pinned()]
print(sum(tensor.untyped_storage().nbytes() for tensor in kept))
