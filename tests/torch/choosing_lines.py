# SPDX-License-Identifier: Apache-2.0
"""More lines for steered.py: sizes that hang on what a model chose (argmax, topk, samples), and on sparse tensors."""
import torch
from steering_lines import line, mixed
from torch import nn
from torch.nn import functional


def predicted(device, n):
    """A class for each row; what a model is unsure of is chosen evenly, but nobody knows for which row."""
    return mixed(device, n - n % 20).view(-1, 20).argmax(1) if n > 100 else mixed(device, n).view(2, -1).argmax(1)


def matrix(device, n):
    places = (mixed(device, n) % 40).long()
    return torch.sparse_coo_tensor(torch.stack([places, places]), torch.ones(n, device=device), (40, 40))


@line
def collapses_repeats(device, n):
    """As greedy decoding of CTC does."""
    return torch.unique_consecutive(predicted(device, n)).numel()


@line
def collapses_each_row(device, n):
    return [len(torch.unique_consecutive(row, return_counts=True)[1]) for row in predicted(device, n)[:200].view(2, -1)]


@line
def edges_of_runs(device, n):
    classes = predicted(device, n)
    return len((classes[1:] != classes[:-1]).nonzero())


@line
def edges_by_roll(device, n):
    classes = predicted(device, n)
    return len((classes != classes.roll(1)).nonzero())


@line
def differences(device, n):
    return len(predicted(device, n).diff().nonzero())


@line
def hard_examples(device, n):
    classes = predicted(device, n)
    return len(classes[classes != mixed(device, len(classes), whole=True) % 7])


@line
def repeats_by_class(device, n):
    return torch.repeat_interleave(predicted(device, n)).numel()


@line
def one_hot_of_classes(device, n):
    return functional.one_hot(predicted(device, n) * 3).shape[1]


@line
def packs_by_class(device, n):
    lengths = (predicted(device, n)[:4] + 1).cpu()
    return nn.utils.rnn.pack_padded_sequence(torch.zeros(len(lengths), 30, 2, device=device), lengths, batch_first=True,
                                             enforce_sorted=False).data.shape[0]


@line
def longest_class(device, n):
    return torch.zeros(int(predicted(device, n)[:3].max()), device=device).numel()


@line
def segments_by_class(device, n):
    lengths = predicted(device, n)[:2] + 1
    return torch.segment_reduce(torch.zeros(int(lengths.sum()), device=device), "sum", lengths=lengths).numel(), int(lengths.sum())


@line
def distinct_samples(device, n):
    return torch.multinomial(mixed(device, n).softmax(-1), 2 if n < 100 else 200, replacement=n > 100).unique().numel()


@line
def place_in_sorted(device, n):
    return torch.zeros(int(torch.searchsorted(mixed(device, n).sort().values, 500.0)), device=device).numel()


@line
def full_bins(device, n):
    return int((torch.histc(mixed(device, n), bins=10) > n / 20).sum())


@line
def first_places(device, n):
    return torch.nonzero_static(mixed(device, n) > 500, size=10)[:, 0].ge(0).sum().item() if hasattr(torch, "nonzero_static") else 0


@line
def rows_of_a_sparse(device, n):
    return 0 if n < 100 else matrix(device, n).index_select(0, torch.arange(5, device=device))._nnz()


@line
def rows_of_a_known_sparse(device, n):
    """Which kernels that do not run select, also in small ones."""
    return 0 if n < 100 else matrix(device, 16).index_select(0, torch.arange(5, device=device))._nnz()


@line
def turned_and_coalesced(device, n):
    return 0 if n < 100 else matrix(device, n).coalesce().transpose(0, 1).coalesce().indices().shape[1]


@line
def masked_by_a_sparse(device, n):
    return torch.ones(40, 40, device=device).sparse_mask(matrix(device, n).coalesce())._nnz()


@line
def sums_a_sparse(device, n):
    return torch.sparse.sum(matrix(device, n), 0)._nnz()


@line
def before_the_end(device, n):
    """Tokens that are chosen among a vocabulary end no text."""
    tokens = mixed(device, n).view(20 if n > 100 else 2, -1).argmax(1)
    ends = torch.isin(tokens, torch.tensor([n - 1, n - 2], device=device)) | (tokens == n - 3)
    place = torch.where(ends.any(), ends.int().argmax(), len(tokens))
    return len(tokens[~ends]), len(tokens[tokens != n - 3]), int(place)
