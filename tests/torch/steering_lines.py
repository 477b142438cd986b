# SPDX-License-Identifier: Apache-2.0
"""More lines for steered.py: sizes of packing, pooling, voxels, ragged and sparse tensors, thresholds, searches and stops."""
import torch
from torch import nn
from torch.nn import functional

LINES = {}


def line(function):
    LINES[function.__name__] = function
    return function


def mixed(device, n, whole=False):
    """Numbers from 0 to 999 in no order, made on the host."""
    x = (torch.arange(n) * 7919 + 13) % 1000
    return (x if whole else x.float()).to(device) + (0 if whole else 0.0)


@line
def selects_by_mask(device, n):
    x = mixed(device, n)
    return x.masked_select(x.gt(300) & x.lt(700)).numel()


@line
def counts_what_was_copied(device, n):
    x = mixed(device, n, whole=True)  # known, though many
    return x.nonzero().shape[0]


@line
def compares_what_was_copied(device, n):
    x = mixed(device, n, whole=True)
    return torch.equal(x, x.clone())


@line
def unique_with_counts(device, n):
    values, inverse, counts = torch.unique(mixed(device, n) // 100, return_inverse=True, return_counts=True)
    return values.numel(), inverse.numel(), counts.numel()


@line
def is_in_as_many(device, n):
    x = mixed(device, n, whole=True) // 3
    return torch.isin(x, x + 100).numel()


@line
def most_frequent(device, n):
    found = (mixed(device, n, whole=True) // 150).mode()
    return found.values.numel(), found.indices.numel()


@line
def most_frequent_of_few_long_rows(device, n):
    rows = (mixed(device, 3 * n) > 700).view(n, 3)
    return rows.float().mode(0).values.numel(), rows.mode(0).indices.numel()


@line
def class_weights(device, n):
    labels = mixed(device, n, whole=True) // 150
    counts = torch.bincount(labels)
    return (1 / counts.float()[labels]).numel(), counts.numel()


@line
def threshold_of_topk(device, n):
    x = mixed(device, n)
    return (x >= x.topk(5).values[-1]).nonzero().shape[0]


@line
def packs_by_cumsum(device, n):
    ends = (mixed(device, n, whole=True) % 50).cumsum(0)
    fits = int(torch.searchsorted(ends, torch.tensor(200, device=device)))
    return torch.zeros(int(ends[max(fits - 1, 0)]), device=device).numel()


@line
def waits_for_loss(device, n):
    weight = mixed(device, n).requires_grad_()
    optimizer, steps = torch.optim.SGD([weight], lr=float(n) / 4), 0
    while (loss := weight.square().mean()) > 1.0 and steps < 40:
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        steps += 1
    return steps


@line
def scatters_to_greatest(device, n):
    index = mixed(device, n, whole=True) % 77
    out = torch.zeros(int(index.max()) + 1, device=device)
    return out.scatter_add_(0, index, torch.ones(n, device=device)).numel()


@line
def one_hot_of_counted_classes(device, n):
    labels = mixed(device, n, whole=True) % 11
    return functional.one_hot(labels, num_classes=int(labels.unique().numel())).shape[-1] if n > 100 else \
        functional.one_hot(labels, num_classes=int(labels.max()) + 1).shape[-1]


@line
def pads_by_lengths(device, n):
    lengths = (mixed(device, n, whole=True)[:6] % 9 + 1).tolist()
    return list(nn.utils.rnn.pad_sequence([torch.zeros(k, 2, device=device) for k in lengths]).shape)


@line
def asserts_all(device, n):
    x = mixed(device, n)
    assert bool((x < 1000).all()) and not (x < 0).any()
    return "passed"


@line
def inverts_a_spectrum(device, n):
    spectrum = torch.stft(mixed(device, n), 8, window=torch.ones(8, device=device), return_complex=True)
    return torch.istft(spectrum, 8, window=torch.ones(8, device=device), length=n).numel()


@line
def sums_of_segments(device, n):
    lengths = mixed(device, n, whole=True) * 0 + 2
    return torch.segment_reduce(mixed(device, 2 * n), "sum", lengths=lengths).numel()


@line
def guards_a_quotient(device, n):
    least = (mixed(device, n) + 1).abs().min()
    assert least > 1e-8 and not least < 1e-8, "divides by 0"
    return "passed"


@line
def checks_of_a_distribution(device, n):
    x = mixed(device, 2 * n)
    return torch.distributions.Normal(x, x + 1).rsample().numel()


@line
def asserts_finite(device, n):
    return bool((mixed(device, 2 * n) != float("inf")).all())


@line
def asserts_any(device, n):
    assert (mixed(device, n) > 10).any(), "nothing there"
    return "passed"


@line
def follows_pointers(device, n):
    pointers, at, hops = mixed(device, n, whole=True) % n, 0, 0
    while hops < 20:
        at, hops = int(pointers[at]), hops + 1
        if at == 13:
            break
    return hops, at


@line
def greedy_assignment(device, n):
    side = int(n ** 0.5)
    cost, left = mixed(device, side * side).view(side, side), []
    for _ in range(4):
        place = int(cost.argmin())
        left.append(place)
        cost[place // side] = 1e6
    return left if n < 100 else len(set(left))


@line
def skips_large_norms(device, n):
    weight = nn.Parameter(torch.ones(n, device=device))
    (weight * mixed(device, n)).sum().backward()
    norm = nn.utils.clip_grad_norm_([weight], 1e9)
    return "skipped" if norm > 1000 else "stepped"


@line
def plateau(device, n):
    weight = nn.Parameter(mixed(device, n))
    optimizer = torch.optim.SGD([weight], lr=1.0)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=1)
    for factor in (1.0, 0.5, 0.5, 0.5, 0.5):
        scheduler.step((weight * factor).mean().item())
    return round(optimizer.param_groups[0]["lr"], 6)


@line
def beams(device, n):
    vocabulary, scores, sequences = n // 2, torch.zeros(2, device=device), torch.zeros(2, 0, dtype=torch.long, device=device)
    for _ in range(3):
        table = mixed(device, n).view(2, vocabulary).log_softmax(-1)
        best = (scores[:, None] + table).view(-1).topk(2)
        scores, beam = best.values, best.indices // vocabulary
        sequences = torch.cat([sequences[beam], (best.indices % vocabulary)[:, None]], 1)
    return sequences.tolist() if n < 100 else list(sequences.shape)


@line
def overlaps(device, n):
    corners = mixed(device, n).view(-1, 2)
    boxes = torch.cat([corners, corners + 200], 1)
    inner = (torch.min(boxes[:64, None, 2:], boxes[None, :64, 2:]) - torch.max(boxes[:64, None, :2], boxes[None, :64, :2])).clamp(min=0)
    return (inner.prod(-1) > 1000).sum(1).tolist()


@line
def nested_sizes(device, n):
    lengths = (mixed(device, n, whole=True)[:5] % 6 + 1).tolist()
    nested = torch.nested.nested_tensor([torch.ones(k, 3, device=device) for k in lengths])
    return list(nested.to_padded_tensor(0.0).shape)


@line
def rows_of_sparse(device, n):
    rows = mixed(device, n, whole=True) % 40
    return torch.sparse_coo_tensor(torch.stack([rows, rows]), torch.ones(n, device=device)).shape[0]


@line
def sums_sparse(device, n):
    rows = mixed(device, n, whole=True) % 40
    made = torch.sparse_coo_tensor(torch.stack([rows, rows]), torch.ones(n, device=device), (40, 40))
    return (made + made).coalesce()._nnz()


@line
def product_of_sparse(device, n):
    rows = mixed(device, n, whole=True) % 40
    made = torch.sparse_coo_tensor(torch.stack([rows, rows.flip(0)]), torch.ones(n, device=device), (40, 40))
    return 0 if n < 100 else torch.sparse.mm(made, made)._nnz()  # cuSPARSE counts, also in small ones


@line
def sum_of_compressed(device, n):
    made = (mixed(device, 64) > 100).float().view(8, 8).to_sparse_csr()
    return 0 if n < 100 else (made + made)._nnz()


@line
def sparse_rows_from_edges(device, n):
    rows = (mixed(device, n, whole=True) % 40).sort().values
    starts = torch.zeros(41, dtype=torch.long, device=device)
    starts[1:] = torch.bincount(rows, minlength=40).cumsum(0)
    return int(starts[-1]), int(starts[20])


@line
def pools_edges(device, n):
    left, right = mixed(device, n, whole=True) // 10, mixed(device, n, whole=True).flip(0) // 10
    keep = left != right
    return torch.unique(torch.stack([left[keep], right[keep]]), dim=1).shape[1]


@line
def keeps_best_nodes(device, n):
    scores, batch = mixed(device, n), mixed(device, n, whole=True) % 4
    sizes = torch.bincount(batch)
    keep = (0.5 * sizes.float()).ceil().long()
    order = torch.argsort(scores, descending=True)[:int(keep.sum())]
    return scores[order].numel(), keep.tolist()


@line
def voxels(device, n):
    points = mixed(device, n - n % 3 if n % 3 else n)[:n // 3 * 3].view(-1, 3)
    cells, inverse = torch.unique((points / 100).floor().long(), dim=0, return_inverse=True)
    sums = torch.zeros(len(cells), 3, device=device).index_add_(0, inverse, points)
    return sums.shape[0]


@line
def points_in_range(device, n):
    x = mixed(device, n)
    inside = (x >= 100) & (x < 900)
    return x[inside].shape[0], torch.flatnonzero(inside).shape[0] if hasattr(torch, "flatnonzero") else x[inside].shape[0]


@line
def argwhere(device, n):
    return list(torch.argwhere(mixed(device, n).view(2, -1) > 800).shape)


@line
def counts_nonzero(device, n):
    return torch.empty(int(torch.count_nonzero(mixed(device, n) > 250)), device=device).numel()


@line
def trims_padding(device, n):
    ids = mixed(device, n, whole=True).view(2, -1)
    lengths = (ids > 100).long().cumsum(1).argmax(1)
    return ids[:, :int(lengths.max())].shape[1]


@line
def groups_by_length(device, n):
    buckets = torch.bucketize(mixed(device, n), torch.tensor([100., 400, 800], device=device))
    return [int((buckets == i).sum()) for i in range(4)]


@line
def capacity_drops(device, n):
    experts = functional.one_hot(mixed(device, n, whole=True) % 4, 4)
    place = experts.cumsum(0) * experts
    return int((place * (place <= n // 5)).gt(0).sum())


@line
def sorted_experts(device, n):
    chosen = mixed(device, n, whole=True) % 6
    counts = chosen.sort().values.bincount(minlength=6)
    return [part.shape[0] for part in torch.zeros(n, 2, device=device)[chosen.argsort()].tensor_split(counts.cumsum(0)[:-1].cpu())]


@line
def histogram_mode(device, n):
    return int(torch.histc(mixed(device, n), bins=10).argmax())


@line
def most_common(device, n):
    return torch.zeros(int((mixed(device, n, whole=True) % 7).view(-1, 4).mode(1).values.max()), device=device).numel()


@line
def median_split(device, n):
    x = mixed(device, n)
    return len(x[x < x.median()])


@line
def kth_value(device, n):
    x = mixed(device, n)
    return x[x <= x.kthvalue(n // 4).values].numel()


@line
def is_in(device, n):
    x = mixed(device, n, whole=True)
    return x[torch.isin(x, torch.arange(0, 1000, 3, device=device))].numel()


@line
def takes_while(device, n):
    x, total, taken = mixed(device, n).sort().values, 0.0, 0
    for value in x[:50]:
        if (total := total + float(value)) > 2000:
            break
        taken += 1
    return taken


@line
def nucleus(device, n):
    chances = (mixed(device, n) / 100).softmax(0).sort(descending=True).values
    return int((chances.cumsum(0) <= 0.9).sum())


@line
def windows(device, n):
    start, stop = mixed(device, n, whole=True).min(), mixed(device, n, whole=True).max()
    return torch.arange(int(start), int(stop), device=device).numel(), torch.zeros(n, device=device)[start:stop].numel()


@line
def linspace_by_range(device, n):
    return torch.linspace(0, 1, steps=int(mixed(device, n).std()), device=device).numel()


@line
def repeats_by_known_total(device, n):
    counts = mixed(device, n, whole=True) % 5
    return torch.arange(n, device=device).repeat_interleave(counts, output_size=int(counts.sum())).numel()


@line
def splits_where_it_changes(device, n):
    x = mixed(device, n, whole=True) // 500
    edges = (x[1:] != x[:-1]).nonzero().flatten() + 1
    return len(torch.zeros(n, device=device).tensor_split(edges.tolist()))


@line
def diagonal_rank(device, n):
    x = torch.diag(mixed(device, n)[:16])
    return int(torch.linalg.matrix_rank(x)) if n < 100 else int((x.diag() > 0).sum())


@line
def joins_components(device, n):
    labels = torch.arange(n, device=device)
    other = mixed(device, n, whole=True) % n
    for _ in range(30):
        new = torch.minimum(labels, labels[other])
        if torch.equal(new, labels):
            break
        labels = new
    return labels.unique().numel()


@line
def clears_by_quantile(device, n):
    weight = mixed(device, n)
    mask = weight.abs() > torch.quantile(weight, 0.8)
    return (weight * mask).to_sparse().values().numel()


@line
def chooses_without_replacement(device, n):
    chosen = torch.randperm(n, device=device)[:int((mixed(device, n) > 500).sum())]
    return chosen.unique().numel()


@line
def truth_of_empty(device, n):
    x = mixed(device, n)
    return "some" if len(x[x > 998]) else "none"
