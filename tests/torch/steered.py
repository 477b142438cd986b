# SPDX-License-Identifier: Apache-2.0
"""Lines of programs whose sizes, branches and loops hang on values, each with few values, which the simulated card computes,
and with many, which it does not. Prints as JSON which gave on the device what they give on the host."""
import json

import choosing_lines  # noqa: F401: its lines join the others
import torch
from steering_lines import LINES, line, mixed
from torch import nn
from torch.nn import functional

FEW, MANY = 16, 60000


@line
def branches_by_argmax(device, n):
    x = mixed(device, n)
    return "first" if x.argmax() < 3 else "later"


@line
def where_of_two(device, n):
    x = mixed(device, n)
    return torch.where(x > 500, x, -x).sum().gt(0).item()


@line
def where_finds_places(device, n):
    return len(torch.where(mixed(device, n) > 500)[0])


@line
def bincount(device, n):
    return torch.bincount(mixed(device, n, whole=True) * 1).shape[0]


@line
def histc(device, n):
    return torch.histc(mixed(device, n), bins=4, min=0, max=1000).max().item()


@line
def searchsorted(device, n):
    edges = mixed(device, n).cumsum(0)
    return torch.searchsorted(edges, torch.tensor([1500.0], device=device)).item()


@line
def topk_loop(device, n):
    x, picked = mixed(device, n) + 0, 0
    while picked < 20 and x.topk(1).values.item() > 500:
        x[x.topk(1).indices] = 0
        picked += 1
    return picked


def suppress(boxes, scores):
    keep, order = [], scores.argsort(descending=True)
    while order.numel() and len(keep) < 50:
        best = order[0]
        keep.append(int(best))
        left = (boxes[order[1:]] - boxes[best]).abs() > 100
        order = order[1:][left]
    return len(keep)


@line
def nms(device, n):
    return suppress(mixed(device, n), mixed(device, n).flip(0))


@line
def stops_early(device, n):
    x, best, bad, epochs = mixed(device, n), float("inf"), 0, 0
    while bad < 2 and epochs < 30:
        loss = (x * max(1, 5 - epochs)).mean().item()
        epochs += 1
        best, bad = (loss, 0) if loss < best else (best, bad + 1)
    return epochs


@line
def pads_to_longest(device, n):
    ids = mixed(device, n, whole=True) * 1
    longest = int((ids.view(4, -1) > 600).sum(1).max())
    return torch.zeros(4, longest, device=device).shape[1]


@line
def curriculum(device, n):
    loss = functional.mse_loss(mixed(device, n), torch.zeros(n, device=device))
    length = 64 if loss < 1 else 128
    return torch.zeros(length, device=device).numel()


def sampled_length(device, n):
    logits = torch.full((1, max(n, 4)), -1e9, device=device)
    logits[0, 3] = 1
    tokens = [0]
    while tokens[-1] != 3 and len(tokens) < 20:
        tokens.append(int(torch.multinomial(logits.softmax(-1), 1)))
    return len(tokens)


@line
def sampling_loop(device, n):
    return sampled_length(device, n)


@line
def bucketize(device, n):
    edges = torch.tensor([250.0, 500, 750], device=device)
    return torch.bucketize(mixed(device, n), edges).bincount().tolist()


@line
def unique_consecutive(device, n):
    return torch.unique_consecutive(mixed(device, n) // 300).numel()


@line
def unique_rows(device, n):
    return torch.unique((mixed(device, n) // 100).view(-1, 4), dim=0).shape[0]


@line
def masked_scatter(device, n):
    x = mixed(device, n)
    return torch.zeros(n, device=device).masked_scatter(x > 500, x).max().item()


@line
def coalesces(device, n):
    rows = (mixed(device, n) // 50).long()
    return torch.sparse_coo_tensor(rows[None], torch.ones(n, device=device), (1000,)).coalesce().values().numel()


@line
def dense_to_sparse(device, n):
    return (mixed(device, n) > 500).float().to_sparse()._nnz()


@line
def dense_to_rows(device, n):
    return (mixed(device, n).view(4, -1) > 500).float().to_sparse_csr()._nnz()


@line
def finds_nan(device, n):
    x = mixed(device, n)
    x[1] = float("nan")
    return bool(torch.isnan(x).any())


def scale_after_step(device, n, factor):
    weight = nn.Parameter(mixed(device, n))
    optimizer = torch.optim.SGD([weight], lr=0.1)
    scaler = torch.amp.GradScaler(device, init_scale=2.0)
    scaler.scale((weight * factor).sum()).backward()
    scaler.step(optimizer)
    scaler.update()
    return scaler.get_scale()


if hasattr(torch.amp, "GradScaler"):  # from 2.3 on the host has these operators, too
    @line
    def scaler_goes_back(device, n):
        return scale_after_step(device, n, float("inf"))

    @line
    def scaler_stays(device, n):
        return scale_after_step(device, n, 1.0)


@line
def clips_or_raises(device, n):
    weight = nn.Parameter(mixed(device, n))
    (weight * float("inf")).sum().backward()
    try:
        nn.utils.clip_grad_norm_([weight], 1.0, error_if_nonfinite=True)
    except RuntimeError:
        return "raised"
    return "clipped"


@line
def draws_by_policy(device, n):
    logits = torch.full((max(n, 4),), -1e9, device=device)
    logits[2] = 1
    action = torch.distributions.Categorical(logits=logits).sample().item()
    return torch.zeros(action + 1, device=device).numel()


@line
def segments(device, n):
    lengths = (mixed(device, n // 2, whole=True) % 2 * 0 + 2)
    return torch.segment_reduce(mixed(device, n), "sum", lengths=lengths).max().item()


@line
def repeats(device, n):
    return torch.repeat_interleave(mixed(device, n, whole=True) % 4).numel()


@line
def repeats_rows(device, n):
    return torch.zeros(n, device=device).repeat_interleave(mixed(device, n, whole=True) % 3).numel()


@line
def splits_by_counts(device, n):
    counts = torch.bincount(mixed(device, n, whole=True) % 5, minlength=5)
    return [len(part) for part in torch.zeros(n, device=device).split(counts.tolist())]


@line
def experts_in_turn(device, n):
    chosen = mixed(device, n, whole=True) % 4
    return [int((chosen == expert).nonzero().numel()) for expert in range(4)]


@line
def packs_sequences(device, n):
    lengths = (mixed(device, n, whole=True) % 5 + 1).view(4, -1)[:, 0].sort(descending=True).values
    packed = nn.utils.rnn.pack_padded_sequence(torch.zeros(4, 8, 3, device=device), lengths.cpu(), batch_first=True)
    return packed.data.shape[0]


@line
def ragged(device, n):
    if not hasattr(torch, "nested"):
        return 0
    lengths = (mixed(device, n, whole=True) % 7).view(4, -1)[:, 0].tolist()
    parts = [torch.zeros(length, 3, device=device) for length in lengths]
    return sum(part.numel() for part in parts)


@line
def embedding_rows(device, n):
    rows = mixed(device, n, whole=True) + 0
    weight = nn.Parameter(torch.zeros(1000, 4, device=device))
    functional.embedding(rows, weight, sparse=True).sum().backward()
    return weight.grad.coalesce().values().shape[0]


@line
def one_hot(device, n):
    return functional.one_hot(mixed(device, n, whole=True) % 9).shape[1]


@line
def combinations(device, n):
    chosen = mixed(device, n)[mixed(device, n) > 900][:20]
    return torch.combinations(chosen).shape[0]


@line
def drops_tokens(device, n):
    keep = mixed(device, n).view(2, -1) > 500
    lengths = keep.sum(1)
    starts = functional.pad(lengths.cumsum(0), (1, 0))
    return torch.zeros(int(starts[-1]), 3, device=device).shape[0]


@line
def quantile_threshold(device, n):
    x = mixed(device, n)
    return int((x > torch.quantile(x, 0.5)).sum())


@line
def converges(device, n):
    x, turns = mixed(device, n) + 1, 0
    while (x.max() > 1) and turns < 50:
        x, turns = x / 2, turns + 1
    return turns


@line
def compares_whole(device, n):
    x = mixed(device, n)
    return torch.equal(x, x + 1), torch.allclose(x, x * 3)


def outcome(function, device, n):
    try:
        result = function(device, n)
        return list(result) if isinstance(result, tuple) else result
    except Exception as error:  # noqa: BLE001: a line that breaks is a line that differs
        return f"{type(error).__name__}: {error}".split("\n")[0]


def main():
    print(json.dumps({name: {"few": [outcome(function, device, FEW) for device in ("cpu", "cuda")],
                             "many": [outcome(function, device, MANY) for device in ("cpu", "cuda")]}
                      for name, function in LINES.items()}))


if __name__ == "__main__":
    main()
