# SPDX-License-Identifier: Apache-2.0
"""Trains a transformer whose parameters are sharded by FSDP2 (fully_shard), one process a rank:

    torchrun --nproc-per-node 2 sharded_ranks.py"""
import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batch", type=int, default=4, help="sequences a step")
    parser.add_argument("--length", type=int, default=128, help="tokens in a sequence")
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--steps", type=int, default=4)
    args = parser.parse_args()

    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]) % torch.cuda.device_count())
    dist.init_process_group("nccl")
    layer = nn.TransformerEncoderLayer(args.width, args.width // 64, 4 * args.width, batch_first=True)
    model = nn.TransformerEncoder(layer, args.layers).to("cuda")
    for layer in model.layers:
        fully_shard(layer)
    fully_shard(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    for _ in range(args.steps):
        model(torch.randn(args.batch, args.length, args.width, device="cuda")).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
