# SPDX-License-Identifier: Apache-2.0
"""A rank of soak.py's training. After some steps it names a range "step N: A F", where PyTorch has made A
allocations and F frees so far, and then says in a shared file that it has done so: what a trace must hold."""
import argparse
import ctypes
import mmap
import os
import random
import sys
import threading
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def make_model(ranks):
    torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
    layer = nn.TransformerEncoderLayer(128, 4, 256, batch_first=True)
    model = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).to("cuda")
    if ranks > 1:
        dist.init_process_group("nccl")
        model = DistributedDataParallel(model)
    return model


class Progress:
    """A file with the process id, the newest step that the trace must hold, and the newest of all."""

    def __init__(self, path):
        with open(path, "w+b") as file:
            file.truncate(24)
            self.words = (ctypes.c_int64 * 3).from_buffer(mmap.mmap(file.fileno(), 24))  # each is one store
        self.words[0] = os.getpid()

    def mark(self, step):
        stats = torch.cuda.memory_stats()
        made, freed = (stats[f"allocation.all.{what}"] for what in ("allocated", "freed"))
        torch.cuda.nvtx.range_push(f"step {step}: {made} {freed}")
        self.words[1] = step  # after memtap was told
        torch.cuda.nvtx.range_pop()

    def reach(self, step):
        self.words[2] = step


def now_and_then(step, rng):
    """What programs do besides their steps: threads and children that come and go, code that is new."""
    if step % 20 == 3:
        threads = [threading.Thread(target=torch.ones, args=[rng.randrange(1, 9999)],
                                    kwargs={"device": torch.cuda.current_device()}) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    if step % 37 == 5:
        torch.cuda.empty_cache()
    if step % 50 == 7:
        exec(f"import torch\ndef fresh():\n{chr(10) * (step % 9)} return torch.ones(7, device='cuda')\nfresh()", {})
    if step % 100 == 9:
        child = os.fork()
        if not child:
            os._exit(0)
        os.waitpid(child, 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("progress")
    parser.add_argument("--steps", type=int, default=1 << 60)
    parser.add_argument("--pause", type=float, default=0.02, help="seconds after a step")
    parser.add_argument("--mark-every", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--end", choices=["return", "raise", "_exit", "abort", "oom"], default="return")
    args = parser.parse_args()

    rng = random.Random(args.seed)
    ranks = int(os.environ.get("WORLD_SIZE", "1"))
    progress = Progress(args.progress)
    model = make_model(ranks)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    for step in range(args.steps):
        if step % args.mark_every == 0:
            progress.mark(step)
        inputs = torch.randn(rng.randrange(1, 9), 32, 128, device="cuda")
        model(inputs).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        now_and_then(step, rng)
        progress.reach(step)
        time.sleep(args.pause)
    if args.end == "raise":
        raise RuntimeError("as the soak test wants it")
    if args.end == "oom":
        torch.empty(1 << 50, device="cuda")
    if args.end == "_exit":
        os._exit(5)
    if args.end == "abort":
        os.abort()


if __name__ == "__main__":
    main()
    sys.stdout.flush()
    os._exit(0) if dist.is_initialized() else None  # no rank waits for one that was killed
