# SPDX-License-Identifier: Apache-2.0
"""Trains a transformer in pipeline stages, one process a stage:

    torchrun --nproc-per-node 4 pipeline_ranks.py

--experts 8 --places 4: each stage has four processes, with two of each layer's eight experts each, so 16 processes are four stages.

--odd RANK makes one rank unlike the others of its stage: it keeps the outputs of every step (leak), has a longer input to its
feed-forward layers (activation), begins to optimize a step later (late), or has a large cache (cache)."""
import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.nn.functional import all_to_all_single
from torch.distributed.pipelining import PipelineStage, ScheduleGPipe


class Layer(nn.Module):
    def __init__(self, width, spread):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)
        self.spread = spread

    def forward(self, x):
        wide = self.up(self.norm(x))
        if self.spread:
            wide = torch.cat([wide, wide], 1)
        return x + self.down(torch.relu(wide))[:, :x.shape[1]]


class Experts(nn.Module):
    """The experts of a layer that this process has; its router sends tokens to those of all processes of the stage. Each expert
    takes as many of the tokens that come as are its own, no matter which."""

    def __init__(self, width, args, place, group):
        super().__init__()
        each = args.experts // args.places
        self.router = nn.Linear(width, args.experts, bias=False)
        self.own = nn.ModuleDict({str(place * each + i): Layer(width, False) for i in range(each)})
        self.group, self.places, self.spare = group, args.places, args.spare

    def exchange(self, x, received, sent):
        return all_to_all_single(x.new_empty(sum(received), x.shape[1]), x, received, sent, group=self.group)

    def forward(self, x):
        tokens = x.flatten(0, 1)
        chosen = self.router(tokens).topk(1).indices.flatten()
        counts = torch.bincount(chosen, minlength=len(self.router.weight)).view(self.places, -1)
        sent = counts.sum(1).tolist()
        mine = torch.empty_like(counts)
        dist.all_to_all_single(mine, counts, group=self.group)
        received = mine.sum(1).tolist()
        given = self.exchange(tokens[chosen.argsort()], received, sent)
        wide = given.repeat(1, 1 + self.spare)[:, :x.shape[2]]
        made = [expert(part[None])[0] for expert, part in zip(self.own.values(), wide.split(mine.sum(0).tolist()))]
        return x + self.exchange(torch.cat(made), sent, received).view_as(x)


class Stage(nn.Module):
    def __init__(self, stage, stages, width, layers, make):
        super().__init__()
        self.embed = nn.Linear(64, width) if stage == 0 else None
        self.layers = nn.ModuleDict({str(stage * layers + i): make() for i in range(layers)})
        self.head = nn.Linear(width, 512) if stage == stages - 1 else None
        self.keep = None

    def forward(self, x):
        if self.embed is not None:
            x = self.embed(x)
        for layer in self.layers.values():
            x = layer(x)
        if self.keep is not None:
            self.keep.append(x.detach().clone())
        return x if self.head is None else self.head(x)


def groups(args, ranks):
    """The processes of this one's stage and those of its pipeline; None: all."""
    if args.places == 1:
        return None, None
    stages = [dist.new_group(list(range(first, first + args.places))) for first in range(0, ranks, args.places)]
    pipelines = [dist.new_group(list(range(place, ranks, args.places))) for place in range(args.places)]
    return stages[dist.get_rank() // args.places], pipelines[dist.get_rank() % args.places]


def train(args, me, ranks):
    rank, place, stages = me // args.places, me % args.places, ranks // args.places
    odd = args.odd if args.odd_rank == me else ""
    of_stage, of_pipeline = groups(args, ranks)
    model = Stage(rank, stages, args.width, args.layers,
                  lambda: Experts(args.width, args, place, of_stage) if args.experts else Layer(args.width, odd == "activation"))
    model.to("cuda")
    if odd == "leak":
        model.keep = []
    cache = torch.empty(args.cache << 20, dtype=torch.uint8, device="cuda") if odd == "cache" else None
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    piece = (args.batch // args.pieces, args.length)
    given = torch.empty(*piece, args.width if rank else 64, device="meta", requires_grad=rank > 0)
    made = torch.empty(*piece, args.width if rank < stages - 1 else 512, device="meta", requires_grad=True)
    stage = PipelineStage(model, rank, stages, torch.device("cuda"), input_args=given, output_args=made,
                          group=of_pipeline)
    schedule = ScheduleGPipe(stage, args.pieces, loss_fn=lambda out, wanted: (out - wanted).square().mean())
    for step in range(args.steps):
        if rank == 0:
            schedule.step(torch.randn(args.batch, args.length, 64, device="cuda"))
        elif rank == stages - 1:
            schedule.step(target=torch.zeros(args.batch, args.length, 512, device="cuda"))
        else:
            schedule.step()
        if odd != "late" or step:
            optimizer.step()
        optimizer.zero_grad()
    del cache


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batch", type=int, default=8, help="sequences a step")
    parser.add_argument("--pieces", type=int, default=4, help="microbatches of a step")
    parser.add_argument("--length", type=int, default=256, help="tokens in a sequence")
    parser.add_argument("--width", type=int, default=512)
    parser.add_argument("--layers", type=int, default=4, help="in a stage")
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--experts", type=int, default=0, help="of a layer; 0: each layer is for all tokens")
    parser.add_argument("--places", type=int, default=1, help="processes of a stage")
    parser.add_argument("--spare", type=int, default=0, help="copies of their tokens that experts make")
    parser.add_argument("--odd", choices=["leak", "activation", "late", "cache"], default="")
    parser.add_argument("--odd-rank", type=int, default=0)
    parser.add_argument("--cache", type=int, default=1024, help="MiB of the large cache")
    args = parser.parse_args()

    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]) % torch.cuda.device_count())
    dist.init_process_group("nccl")
    train(args, dist.get_rank(), dist.get_world_size())
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
