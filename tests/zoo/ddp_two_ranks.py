# SPDX-License-Identifier: Apache-2.0
"""Trains a transformer encoder with DistributedDataParallel, one process a rank:

    torchrun --nproc-per-node 2 ddp_two_ranks.py

On a machine with fewer devices than ranks, some share one."""
import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def log(phase):
    allocated, reserved = torch.cuda.memory_allocated(), torch.cuda.memory_reserved()
    line = f"rank {dist.get_rank()} {phase}: allocated={allocated} reserved={reserved}\n"
    print(line, end="", flush=True)  # in one piece: the ranks share their output


def train(args):
    layer = nn.TransformerEncoderLayer(args.width, args.width // 64, 4 * args.width, batch_first=True)
    model = DistributedDataParallel(nn.TransformerEncoder(layer, args.layers).to("cuda"))
    log("model")
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)

    # Ranks do not have to have as much to do.
    batch = args.batch + 2 * dist.get_rank()
    for step in range(args.steps):
        tokens = torch.randn(batch, args.length, args.width, device="cuda")
        loss = model(tokens).square().mean()
        log(f"step {step} forward")
        loss.backward()
        log(f"step {step} backward")
        optimizer.step()
        log(f"step {step} optimizer")
        optimizer.zero_grad()
    log("end")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batch", type=int, default=8, help="sequences a step in rank 0")
    parser.add_argument("--length", type=int, default=512, help="tokens in a sequence")
    parser.add_argument("--width", type=int, default=1024)
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--steps", type=int, default=3)
    args = parser.parse_args()

    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]) % torch.cuda.device_count())
    dist.init_process_group("nccl")
    train(args)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
