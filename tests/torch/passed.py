# SPDX-License-Identifier: Apache-2.0
"""Blocks that kernels reach by pointers in memory, whose tables several threads copy to the card; one with no such pointer. At the peak,
by another line, all are last used before. Then a block that the peak's own line uses last. With "kill": the process ends at once."""
import os
import sys
import threading

import torch

MIB = 1 << 18  # of float32
N = 4


def hand_over(blocks, tables, i):
    addresses = [block.data_ptr() + 512 for block in blocks[i::N]]
    table = torch.tensor([7] * i + addresses)
    tables[i] = (table.pin_memory() if i % 2 else table).cuda(non_blocking=True)


def scaled(x):
    return x.mul_(2), torch.full((128 * MIB,), 2.0, device="cuda")


def main():
    blocks = [torch.ones(2 * MIB, device="cuda") for _ in range(8)]
    tables = [None] * N
    threads = [threading.Thread(target=hand_over, args=(blocks, tables, i)) for i in range(N)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seen = torch.ones(4 * MIB, device="cuda")
    print("at passed", blocks[0].data_ptr())
    print("at seen", seen.data_ptr(), flush=True)
    top = scaled(torch.ones(32 * MIB, device="cuda"))
    if "kill" in sys.argv:
        os.system(f"kill -9 {os.getpid()}")
    top[1].add_(1)
    del top, seen, blocks, tables


main()
print("ended", flush=True)
