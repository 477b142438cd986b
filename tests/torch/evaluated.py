# SPDX-License-Identifier: Apache-2.0
"""evaluated.py WAY: trains twelve iterations, in most ways with an evaluation of its own, whose batches are much larger: the
peak is there. In the others what has no backward is a part of the iterations."""
import random
import sys

import torch
from torch import nn

SMALL, LARGE = 64, 4096
model = nn.Sequential(nn.Linear(256, 1024), nn.ReLU(), nn.Linear(1024, 10)).cuda()
other = nn.Linear(256, 10).cuda()
loss_of = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)


def batch(rows):
    return torch.randn(rows, 256, device="cuda"), torch.randint(10, (rows,), device="cuda")


def evaluate(times=4):
    model.eval()
    with torch.no_grad():
        for _ in range(times):
            x, y = batch(LARGE)
            loss_of(model(x), y)
    model.train()


def update(loss, optimizer=optimizer):
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def train(times=4):
    for _ in range(times):  # LOOP epochs, LOOP after
        x, y = batch(SMALL)
        out = model(x)
        update(loss_of(out, y))


def epochs():
    for _ in range(3):
        train()
        evaluate()


def one_line():
    """As PyTorch's tutorial of transfer learning has it."""
    for _ in range(4):  # LOOP one_line
        for phase in ("train", "val"):
            for _ in range(3):
                x, y = batch(SMALL if phase == "train" else LARGE)
                with torch.set_grad_enabled(phase == "train"):
                    loss = loss_of(model(x), y)
                if phase == "train":
                    update(loss)


def functional():
    for i in range(12):  # LOOP functional
        x, y = batch(SMALL)
        update(nn.functional.cross_entropy(model(x), y))
        if i == 5:
            evaluate()


def each():
    for _ in range(12):  # LOOP each
        train(1)
        evaluate(1)


def after():
    train(12)
    evaluate()


def before():
    evaluate()
    train(12)


def microbatches():
    for i in range(12):  # LOOP microbatches
        update(sum(loss_of(model(x), y) for x, y in [batch(SMALL) for _ in range(4)]))
        if i % 4 == 3:
            evaluate()


def accumulated():
    for i in range(24):  # LOOP accumulated
        x, y = batch(SMALL)
        loss_of(model(x), y).backward()
        if i % 2:
            optimizer.step()
            optimizer.zero_grad()
        if i % 6 == 5:
            evaluate()


def teacher(rows=LARGE):
    for _ in range(12):  # LOOP teacher_too
        x, _ = batch(rows)
        with torch.no_grad():
            wanted = other(x)
        update((model(x[:SMALL]) - wanted[:SMALL]).square().mean())


def teacher_too():
    teacher(SMALL)
    evaluate()
    teacher(SMALL)


def adversaries():
    """One iteration of the generator in five of the discriminator."""
    judge, maker = nn.Linear(256, 1).cuda(), nn.Linear(64, 256).cuda()
    of_judge, of_maker = (torch.optim.SGD(m.parameters(), lr=0.01) for m in (judge, maker))
    for i in range(10):
        with torch.no_grad():
            fakes = maker(torch.randn(LARGE, 64, device="cuda"))
        real = judge(batch(SMALL)[0])
        update(judge(fakes).mean() - real.mean(), of_judge)
        if i % 5 == 4:
            made = maker(torch.randn(SMALL, 64, device="cuda"))
            update(-judge(made).mean(), of_maker)


def recurrent():
    random.seed(1)
    cell, head = nn.GRUCell(256, 256).cuda(), nn.Linear(256, 10).cuda()
    own = torch.optim.SGD([*cell.parameters(), *head.parameters()], lr=0.01)
    for _ in range(12):
        state, loss = torch.zeros(SMALL, 256, device="cuda"), 0
        for _ in range(random.randrange(5, 20)):
            state = cell(batch(SMALL)[0], state)
            loss = loss + head(state).square().mean()
        update(loss, own)


globals()[sys.argv[1]]()
