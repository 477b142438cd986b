# SPDX-License-Identifier: Apache-2.0
"""Trains a small network eagerly, then captures a whole step in a CUDA graph and replays it: what
the step allocates stays in a pool of the graph's own, and replaying allocates nothing. A last step without the graph."""
import argparse

import torch
import torch.nn.functional as F
from torch import nn


def make_model(width):
    return nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width),
                         nn.LayerNorm(width)).to("cuda")


def log(phase):
    allocated, reserved = torch.cuda.memory_allocated(), torch.cuda.memory_reserved()
    print(f"{phase}: allocated={allocated} reserved={reserved}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch", type=int, default=4096)
    parser.add_argument("--width", type=int, default=2048)
    parser.add_argument("--replays", type=int, default=3)
    args = parser.parse_args()

    model = make_model(args.width)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    inputs = torch.randn(args.batch, args.width, device="cuda")
    targets = torch.randn(args.batch, args.width, device="cuda")
    log("model")

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss = F.mse_loss(model(inputs), targets)
        loss.backward()
        optimizer.step()
        return loss

    # On a stream of its own, as torch.cuda.graph asks for.
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(stream)
    optimizer.zero_grad(set_to_none=True)
    log("warm")

    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = step()
    log("captured")
    for replay in range(args.replays):
        inputs.copy_(torch.randn(args.batch, args.width, device="cuda"))
        graph.replay()
        log(f"replay {replay}")
    if torch.cuda.get_allocator_backend() == "native":
        pools = {segment["segment_pool_id"] for segment in torch.cuda.memory_snapshot()}
        print("pools:", len(pools))
    del graph, loss
    optimizer.zero_grad(set_to_none=True)
    torch.cuda.empty_cache()  # and the graph's pool is gone
    step()
    log("end")


if __name__ == "__main__":
    main()
