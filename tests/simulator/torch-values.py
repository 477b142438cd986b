# SPDX-License-Identifier: Apache-2.0
"""Ordinary lines that depend on small values: each gives the same on the device as on the host.
Prints one line for each that does not, then how many there are."""
import sys
import tempfile

import torch
import torch.distributed as dist
import torch.distributed.checkpoint
from torch import nn

LINES = {}


def line(function):
    LINES[function.__name__] = function
    return function


def tokens(device):
    return torch.tensor([[5, 6, 7, 0], [8, 9, 0, 0], [1, 2, 3, 4]], device=device)


@line
def filled(device):
    return torch.ones(3, device=device), torch.full((2,), 7, device=device)


@line
def counted(device):
    return torch.arange(2, 11, 3, device=device), torch.linspace(0, 1, 5, device=device)


@line
def masked(device):
    x = tokens(device)
    return x[x != 0]


@line
def selected(device):
    x = tokens(device).float()
    return torch.masked_select(x, x > 3)


@line
def places(device):
    return torch.nonzero(tokens(device)), tokens(device).nonzero(as_tuple=True)


@line
def where_places(device):
    return torch.where(tokens(device) > 4)


@line
def where_values(device):
    x = tokens(device)
    return torch.where(x > 4, x, -x)


@line
def unique(device):
    return torch.unique(tokens(device), return_inverse=True, return_counts=True)


@line
def unique_rows(device):
    return torch.unique(tokens(device).repeat(2, 1), dim=0)


@line
def unique_consecutive(device):
    return torch.unique_consecutive(torch.tensor([1, 1, 2, 2, 2, 1], device=device))


@line
def lengths(device):
    return (tokens(device) != 0).sum(1).tolist()


@line
def longest(device):
    n = int((tokens(device) != 0).sum(1).max())
    return torch.zeros(n, device=device), n


@line
def unpadded(device):
    mask = tokens(device) != 0
    indices = mask.flatten().nonzero().flatten()
    starts = nn.functional.pad(mask.sum(1).cumsum(0), (1, 0))
    return tokens(device).flatten()[indices], starts


@line
def repeated(device):
    return torch.repeat_interleave(torch.tensor([2, 0, 3], device=device))


@line
def repeated_rows(device):
    x = tokens(device)
    return x.repeat_interleave(torch.tensor([1, 2, 0], device=device), dim=0)


@line
def bins(device):
    return torch.bincount(tokens(device).flatten(), minlength=4)


@line
def counted_integers(device):
    """Transformers' experts count their tokens so on a card; the host's kernel takes no integers."""
    x = tokens(device)
    if device == "cpu":
        x = x.float()
    return torch.histc(x.int() if device == "cuda" else x, bins=8, min=0, max=7).int()


@line
def one_hot(device):
    return nn.functional.one_hot(torch.tensor([0, 2, 5], device=device))


@line
def branch(device):
    return "yes" if (tokens(device) > 8).any() else "no"


@line
def everything(device):
    return bool((tokens(device) >= 0).all()), bool(torch.isfinite(tokens(device).float()).all())


@line
def equal(device):
    x = tokens(device)
    return torch.equal(x, x.clone()), torch.equal(x, x + 1)


@line
def close(device):
    x = tokens(device).float()
    return torch.allclose(x, x * 1.0000001), torch.allclose(x, x + 1)


@line
def item(device):
    return tokens(device).sum().item(), tokens(device).float().mean().item()


@line
def loop_until(device):
    unfinished, steps = torch.ones(3, dtype=torch.long, device=device), 0
    while unfinished.max() != 0:
        steps += 1
        unfinished = unfinished & ~(torch.tensor([1, 2, 3], device=device) <= steps).long()
    return steps


@line
def sorted_values(device):
    return torch.sort(tokens(device), dim=1, descending=True)


@line
def top(device):
    return torch.topk(tokens(device).float(), 2, dim=1)


@line
def largest(device):
    x = tokens(device)
    return x.argmax(1), x.max(), x.max(1), x.amax(0)


@line
def scattered(device):
    x = torch.zeros(4, device=device)
    return x.index_add_(0, torch.tensor([1, 1, 3], device=device), torch.ones(3, device=device))


@line
def assigned(device):
    x = torch.zeros(3, 4, device=device)
    x[tokens(device) > 4] = 2
    x[0, 1:3] += 1
    return x


@line
def experts(device):
    chosen = torch.tensor([[0, 2], [1, 2], [2, 3]], device=device)
    mask = nn.functional.one_hot(chosen, 4).permute(2, 1, 0)
    return [torch.where(mask[i])[1].tolist() for i in range(4)]


@line
def edges(device):
    edge = torch.tensor([[0, 1, 1, 2], [1, 1, 2, 2]], device=device)
    loops = torch.arange(3, device=device).repeat(2, 1)
    return torch.cat([edge[:, edge[0] != edge[1]], loops], 1)


@line
def causal(device):
    return torch.tril(torch.ones(4, 4, device=device, dtype=torch.bool)), torch.triu_indices(
        3, 3, device=device)


@line
def split(device):
    sizes = torch.tensor([1, 2, 1], device=device)
    return torch.arange(4, device=device).split(sizes.tolist())


@line
def bounds(device):
    edges_of = torch.tensor([0., 1., 2.], device=device)
    return torch.bucketize(torch.tensor([0.5, 1.5], device=device), edges_of)


@line
def distribution(device):
    logits = torch.tensor([[0.1, 2.0, -1.0]], device=device)
    chosen = torch.distributions.Categorical(logits=logits)
    return chosen.log_prob(torch.tensor([1], device=device)), chosen.entropy()


@line
def small_network(device):
    layer = nn.Linear(3, 2)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor([[1., 2, 3], [4, 5, 6]]))
        layer.bias.fill_(0.5)
    layer.to(device)
    x = torch.tensor([[1., 0, 2]], device=device, requires_grad=True)
    layer(x).sum().backward()
    return layer(x), x.grad, layer.weight.grad


@line
def loss(device):
    x = torch.tensor([[1., 2], [3, 1]], device=device)
    return nn.functional.cross_entropy(x, torch.tensor([1, -100], device=device))


@line
def permuted(device):
    return torch.randperm(6, device=device).sort()[0]


@line
def drawn(device):
    x = torch.randint(3, 5, (20,), device=device)
    return bool((x >= 3).all() and (x < 5).all()), torch.rand(8, device=device).lt(1).all()


@line
def foreach(device):
    values = [torch.ones(2, device=device), torch.zeros(3, device=device)]
    torch._foreach_add_(values, 1)
    torch._foreach_add_(values, 1)
    return values


@line
def strided(device):
    x = torch.zeros(4, 6, device=device)
    x[:, ::2] = torch.arange(12, device=device).view(4, 3).float()
    return x, x.t().contiguous()


@line
def converted(device):
    return tokens(device).half(), tokens(device).bool(), tokens(device).to(torch.int32)


@line
def kept_half(device):
    x = torch.tensor([1.5, 2.5], dtype=torch.bfloat16, device=device)
    return (x * 2).float(), x.sum().item()


@line
def objects_of_a_group(device):
    """Collectives of objects read their sizes from the device; so does a checkpoint's plan."""
    backend = "nccl" if device == "cuda" else "gloo"
    dist.init_process_group(backend, store=dist.HashStore(), rank=0, world_size=1)
    try:
        gathered, sent = [None], [("b", 5)]
        dist.all_gather_object(gathered, {"text": "y" * 500})
        dist.broadcast_object_list(sent, src=0)
        weight = torch.arange(8.0, device=device)
        save, load = (getattr(dist.checkpoint, name, None) for name in ("save", "load"))
        if save and load:  # from 2.3 on
            with tempfile.TemporaryDirectory() as folder:
                save({"weight": weight}, checkpoint_id=folder)
                weight.zero_()
                load({"weight": weight}, checkpoint_id=folder)
        return gathered, sent, weight
    finally:
        dist.destroy_process_group()


def plain(value):
    if isinstance(value, torch.Tensor):
        return plain(value.tolist())
    if isinstance(value, float):
        return round(value, 4)
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    return value


def outcome(function, device):
    try:
        return plain(function(device))
    except Exception as error:  # noqa: BLE001: a line that breaks is a line that differs
        return f"{type(error).__name__}: {error}".split("\n")[0]


torch.manual_seed(1)
wrong = [name for name, function in LINES.items()
         if outcome(function, "cuda") != outcome(function, "cpu")]
for name in wrong:
    print(f"{name}: {outcome(LINES[name], 'cuda')} instead of {outcome(LINES[name], 'cpu')}")
print(f"{len(LINES) - len(wrong)} of {len(LINES)}")
sys.exit(bool(wrong))
