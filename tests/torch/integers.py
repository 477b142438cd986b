# SPDX-License-Identifier: Apache-2.0
"""Sizes that follow from integers of more than 64 KiB, which the program copied to the device or made there. Prints, by name, what is
found on the host and on the device."""
import json

import torch

N, LINES = 20000, {}


def line(function):
    LINES[function.__name__] = function
    return function


def mixed(device, *shape):
    """Numbers from 0 to 999 in no order, made on the host."""
    n = torch.Size(shape).numel()
    return ((torch.arange(n) * 7919 + 13) % 1000).view(shape).to(device)


@line
def remainders(device):
    return len((torch.arange(N, device=device) % 8 == 3).nonzero())


@line
def packs(device):
    lengths = mixed(device, 300) % 200 + 1
    owner = torch.repeat_interleave(torch.arange(300, device=device), lengths)
    place = torch.arange(len(owner), device=device) - (lengths.cumsum(0) - lengths)[owner]
    return len((place == 0).nonzero()), int(place.max())


@line
def positions(device):
    place = ((mixed(device, 64, 1024) > 300).long().cumsum(-1) - 1).clamp(min=0)
    return int(place.max()), len(place[place > 100])


@line
def buckets(device):
    x = mixed(device, N)
    chosen = torch.bucketize(x, torch.tensor([10, 100, 500], device=device))
    return [len(x[chosen == i]) for i in range(4)]


@line
def segments(device):
    return torch.unique_consecutive((mixed(device, N) // 100).sort().values, return_counts=True)[1].tolist()


@line
def texts_to_their_ends(device):
    tokens = mixed(device, 32, 1024)
    keep = torch.arange(1024, device=device) <= (tokens == 7).int().argmax(-1)[:, None]
    return int(keep.sum()), len(tokens[keep])


@line
def lengths_of_masks(device):
    return (mixed(device, 64, 1024) > 300).float().sum(1).long().tolist()


@line
def other_order(device):
    x = mixed(device, N)
    return len(x[torch.argsort(x, stable=True)][:9000].unique()), len(x.flip(0).roll(3)[x > 900])


@line
def written_in_place(device):
    x, found = mixed(device, N), torch.zeros(N, dtype=torch.long, device=device)
    found[x.clone()] = 1
    x[x > 900] = 0
    x += 1
    return len((x == 1).nonzero()), len(found.nonzero())


@line
def triangle(device):
    return len(torch.ones(900, 900, dtype=torch.bool, device=device).tril().nonzero())


@line
def rows_of_sparse_gradients(device):
    table = torch.nn.Embedding(100000, 8, sparse=True, device=device)
    table(mixed(device, 64, 200) // 2).sum().backward()
    return list(table.weight.grad.coalesce().values().shape)


@line
def drawn(device):
    return len(torch.randint(0, 8, (N,), device=device).unique()), len(torch.randperm(N, device=device).lt(5000).nonzero())


print(json.dumps({name: [function("cpu"), function("cuda")] for name, function in LINES.items()}))
