# SPDX-License-Identifier: Apache-2.0
"""At the peak, six blocks are live that are not needed then. With the name of a block as argument, the program does without it
there: it frees the block after its last use, or allocates it before its first."""
import sys

import torch

MIB = 1 << 18  # of float32
without = sys.argv[1:]


def main():
    never = torch.empty(8 * MIB, device="cuda") if "never" not in without else None
    early = torch.empty(16 * MIB, device="cuda") if "early" not in without else None
    written = torch.empty(2 * MIB, device="cuda") if "written" not in without else None
    if written is not None:
        written.copy_(torch.ones(2 * MIB))
    late = torch.ones(32 * MIB, device="cuda")
    late.add_(1)
    if "late" in without:
        late = None
    twin = torch.ones(32 * MIB, device="cuda")
    idle = torch.ones(64 * MIB, device="cuda")
    idle.add_(1)
    x = torch.ones(4 * MIB, device="cuda")
    for _ in range(2000):
        x.add_(1)
    if "idle" in without:
        idle = idle.cpu()
    top = torch.ones(128 * MIB, device="cuda")
    for _ in range(30000):  # far more than a quarter of the run, its end included
        top.add_(1)
        x.add_(1)
        twin.add_(1)
    del top
    early = torch.empty(16 * MIB, device="cuda") if early is None else early
    early.fill_(1)
    idle = idle.cuda()
    idle.add_(1)
    del late, written, never, early, idle


main()
print("peak", torch.cuda.max_memory_allocated())
