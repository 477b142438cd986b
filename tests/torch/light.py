# SPDX-License-Identifier: Apache-2.0
"""light.py CASE: programs whose light recordings have to say what full ones do. Each runs longer than what a
light recording tells whole at its beginning, and keeps some of its memory to the end."""
import gc
import os
import subprocess
import sys
import time

import torch
from torch import nn

DEVICE = "cuda"
STEPS = 60
ODD = 77  # rows of a batch, whose size in bytes nothing else has
kept = []


def train(net, optimizer, steps, size=lambda step: 64, **options):
    for step in range(steps):
        net(torch.randn(size(step), 256, device=DEVICE)).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad(**options)


def layers(n=4):
    return nn.Sequential(*(layer for _ in range(n) for layer in (nn.Linear(256, 256), nn.GELU()))).to(DEVICE)


def steady():
    """Nothing new happens after the first steps; then it trains on, with gradients that stay."""
    net = layers()
    optimizer = torch.optim.AdamW(net.parameters())
    train(net, optimizer, STEPS)
    train(net, optimizer, STEPS, set_to_none=False)


def late_peak():
    """The peak comes long after the beginning, in one larger batch."""
    net = layers()
    train(net, torch.optim.AdamW(net.parameters()), STEPS, lambda step: 256 if step == 47 else 64)


def leak():
    """Each step keeps a tensor of its graph, and one of its own; in every tenth a cache grows."""
    net = layers()
    optimizer = torch.optim.SGD(net.parameters(), momentum=0.9)
    for step in range(STEPS):
        out = net(torch.randn(64, 256, device=DEVICE))
        out.square().mean().backward()
        kept.append(out.detach())
        kept.append(torch.empty(1000 * (1 + step % 3), device=DEVICE))
        if step % 10 == 9:
            kept.append(torch.zeros(100_000, device=DEVICE))
        optimizer.step()
        optimizer.zero_grad()


def late_optimizer():
    """A second network and its optimizer come late."""
    net = layers()
    train(net, torch.optim.AdamW(net.parameters()), STEPS // 2)
    other = layers(6)
    train(other, torch.optim.Adam(other.parameters()), STEPS // 2)
    kept.append((net, other))


def generate():
    """No backward: a cache grows with each call."""
    net = layers()
    cache = None
    with torch.no_grad():
        for _ in range(4 * STEPS):
            out = net(torch.randn(8, 256, device=DEVICE))
            cache = out if cache is None else torch.cat([cache, out])
    kept.append(cache)


def twice():
    """Derivatives of derivatives, and nodes that run long after they were made."""
    net = layers(2)
    pending = []
    optimizer = torch.optim.AdamW(net.parameters())
    for step in range(STEPS):
        data = torch.randn(32, 256, device=DEVICE, requires_grad=True)
        gradient, = torch.autograd.grad(net(data).sum(), data, create_graph=True)
        pending.append(gradient.square().sum())
        if step % 7 == 6:
            sum(pending).backward()
            optimizer.step()
            optimizer.zero_grad()
            pending.clear()


def growth():
    """It grows for so long that the recording tells some iterations whole."""
    net = layers()
    optimizer = torch.optim.SGD(net.parameters())
    for _ in range(2 * STEPS):
        train(net, optimizer, 1, lambda step: ODD)
        kept.append(torch.empty(1000, device=DEVICE))


def out_of_memory():
    """Memory runs out, and the program goes on."""
    net = layers()
    optimizer = torch.optim.SGD(net.parameters())
    train(net, optimizer, STEPS, lambda step: ODD)
    try:
        torch.empty(1 << 40, device=DEVICE)
    except torch.OutOfMemoryError:
        train(net, optimizer, STEPS, lambda step: ODD)


def answered(tail):
    """How many requests the recording has answered (FORMAT.md, "The tail")."""
    with open(tail, "rb") as file:
        return int.from_bytes(file.read(428)[-4:], sys.byteorder)


def saved():
    """Somebody saves the trace while it trains, and asks for whole iterations. Once the recording has noticed, its batches are odd."""
    net = layers()
    optimizer = torch.optim.SGD(net.parameters())
    train(net, optimizer, STEPS, lambda step: ODD if step < 5 else 64)
    memtap, copy = sys.argv[2:4]
    tail = os.environ["MEMTAP_OUTPUT"] + ".tail"
    with subprocess.Popen([memtap, "save", "--full", "40", "-o", copy, str(os.getpid())]) as saver:
        while saver.poll() is None and not answered(tail):
            train(net, optimizer, 1)
            time.sleep(0.05)  # few of the iterations that were asked for
        while saver.poll() is None:
            train(net, optimizer, 1, lambda step: ODD)
    train(net, optimizer, STEPS, lambda step: ODD)
    print("saved:", saver.returncode)


CASES = {case.__name__: case for case in (steady, late_peak, leak, late_optimizer, generate, twice, growth, out_of_memory, saved)}

if __name__ == "__main__":
    torch.manual_seed(0)
    CASES[sys.argv[1]]()
    gc.collect()
    torch.cuda.synchronize()
    if sys.argv[2:] == ["kill"]:
        os.kill(os.getpid(), 9)
    os._exit(0)  # what is kept is live at the end
