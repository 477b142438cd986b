# SPDX-License-Identifier: Apache-2.0
"""Programs with memory at the peak that they may not need, and (a second argument) without it."""
import io
import sys

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

way, without = sys.argv[1], len(sys.argv) > 2


def autocast():
    net = nn.Sequential(*[nn.Linear(1024, 1024, bias=False) for _ in range(4)]).cuda()
    with torch.no_grad(), torch.autocast("cuda", dtype=torch.bfloat16, cache_enabled=not without):
        for _ in range(3):
            net(torch.ones(16, 1024, device="cuda"))  # remarked


def loaded():
    net = nn.Sequential(*[nn.Linear(512, 512, bias=False) for _ in range(8)]).cuda()
    file = io.BytesIO()
    torch.save(net.state_dict(), file)
    file.seek(0)
    state = torch.load(file, map_location="cpu" if without else "cuda")  # remarked
    net.load_state_dict(state)
    for _ in range(3):
        net(torch.ones(8, 512, device="cuda")).sum().backward()
        net.zero_grad()


def previous():
    head = nn.Linear(256, 8192, bias=False).cuda()
    scores = None
    with torch.no_grad():
        for _ in range(5):
            if without:
                del scores
            scores = head(torch.ones(1024, 256, device="cuda"))  # remarked


def everything(blocks, x):
    for block in blocks:
        x = block(x)
    return x


def recomputed():
    blocks = nn.ModuleList(nn.Sequential(nn.Linear(256, 256, bias=False), nn.GELU()) for _ in range(8)).cuda()
    for _ in range(2):
        x = torch.ones(8192, 256, device="cuda")
        if without:
            for block in blocks:
                x = checkpoint(block, x, use_reentrant=False)
        else:
            x = checkpoint(everything, blocks, x, use_reentrant=False)  # remarked
        x.sum().backward()
        blocks.zero_grad()


def reentrant():
    blocks = nn.ModuleList(nn.Sequential(nn.Linear(256, 256, bias=False), nn.GELU()) for _ in range(8)).cuda()
    for _ in range(2):
        x = torch.ones(8192, 256, device="cuda", requires_grad=True)
        if without:
            for block in blocks:
                x = checkpoint(block, x, use_reentrant=True)
        else:
            x = checkpoint(everything, blocks, x, use_reentrant=True)  # remarked
        x.sum().backward()
        blocks.zero_grad()


def untrained():
    """Without: the other model has an optimizer, too, which has no state."""
    teacher, student = (nn.Sequential(*[nn.Linear(1024, 1024, bias=False) for _ in range(4)]).cuda() for _ in range(2))
    optimizer = torch.optim.Adam(student.parameters())
    other = torch.optim.SGD(teacher.parameters(), lr=0.1)
    for _ in range(6):
        x = torch.ones(8, 1024, device="cuda")
        loss = student(x) - teacher(x)  # remarked
        loss.sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        if without:
            other.step()


def validated():
    """Without: as it should be."""
    net = nn.Sequential(*[nn.Linear(512, 512, bias=False) for _ in range(8)]).cuda()
    for _ in range(3):
        for _ in range(3):
            net(torch.ones(64, 512, device="cuda")).sum().backward()
            net.zero_grad()
        for _ in range(3):
            with torch.set_grad_enabled(not without):
                net(torch.ones(4096, 512, device="cuda"))  # remarked


def inferred():
    """Without: as it should be."""
    net = nn.Sequential(*[nn.Linear(512, 512, bias=False) for _ in range(8)]).cuda()
    for _ in range(4):
        with torch.set_grad_enabled(not without):
            net(torch.ones(4096, 512, device="cuda"))  # remarked


def accumulated():
    """A batch in four parts. Without: a backward after each."""
    net = nn.Sequential(*[nn.Linear(512, 512, bias=False) for _ in range(8)]).cuda()
    for _ in range(3):
        loss = 0
        for _ in range(4):
            part = net(torch.ones(4096, 512, device="cuda")).sum()  # remarked
            if without:
                part.backward()
            else:
                loss = loss + part
        if not without:
            loss.backward()


def doubles():
    """Data of NumPy's own type. Without: as floats of 32 bits."""
    kind = torch.float32 if without else torch.float64
    net = nn.Linear(512, 64, bias=False).to("cuda", kind)
    data = torch.zeros(1 << 14, 512, dtype=kind).cuda()  # remarked
    for _ in range(3):
        net(data).sum().backward()
        net.zero_grad()


def context():
    """Without: the other card has a part of the work to the end."""
    net = nn.Linear(1024, 1024, bias=False, device="cuda:1")
    moved = torch.ones(1 << 20, device="cuda:0")  # remarked
    net.weight.data.copy_(moved.view(1024, 1024))
    if not without:
        del moved
    for _ in range(3):
        net(torch.ones(8, 1024, device="cuda:1")).sum().backward()
        if without:
            moved.mul(2)


globals()[way]()
