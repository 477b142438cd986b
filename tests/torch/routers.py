# SPDX-License-Identifier: Apache-2.0
"""Routers of mixtures of experts over more tokens than small values have: each counts the tokens of its experts by other
operators. Prints, by name, the counts of each."""
import json
import sys

import torch
from torch.nn import functional

TOKENS, EXPERTS, PICKS = int(sys.argv[1]), 16, 2
ROUTERS = {}


def router(function):
    ROUTERS[function.__name__] = function
    return function


@router
def of_a_map(scores, chosen):
    """As torchtitan's."""
    return torch.zeros_like(scores, dtype=torch.bool).scatter_(-1, chosen, True).sum(0)


@router
def in_bins(scores, chosen):
    """As transformers' grouped product, and torchtitan's of before."""
    return torch.histc(chosen.flatten().sort()[0].int(), bins=EXPERTS, min=0, max=EXPERTS - 1)


@router
def in_bins_of_reals(scores, chosen):
    return torch.histc(chosen.flatten().float(), bins=EXPERTS, min=0, max=EXPERTS - 1)


@router
def of_integers(scores, chosen):
    return torch.bincount(chosen.flatten(), minlength=EXPERTS)


@router
def in_a_loop(scores, chosen):
    """As Mixtral's."""
    mask = functional.one_hot(chosen, EXPERTS).permute(2, 1, 0)
    hit = torch.greater(mask.sum(dim=(-1, -2)), 0).nonzero().flatten()
    return torch.tensor([len(torch.where(mask[expert])[1]) for expert in hit])


@router
def by_masks(scores, chosen):
    return torch.tensor([len(scores[(chosen == expert).any(-1)]) for expert in range(EXPERTS)])


@router
def by_places(scores, chosen):
    """As Megatron's."""
    route = torch.zeros_like(scores).int().scatter(1, chosen, 1).bool()
    by_expert = route.T.contiguous()
    places = torch.arange(TOKENS, device="cuda").unsqueeze(0).expand(EXPERTS, -1).masked_select(by_expert)
    assert len(places) == route.sum().item() == TOKENS * PICKS
    return torch.tensor([len(part.nonzero()) for part in by_expert])


@router
def of_gates(scores, chosen):
    """As GraniteMoE's."""
    return torch.zeros_like(scores).scatter(1, chosen, 1).long().sum(0)


@router
def sought_in_sorted(scores, chosen):
    ordered = chosen.flatten().sort().values
    return torch.searchsorted(ordered, torch.arange(EXPERTS + 1, device="cuda")).diff()


@router
def of_distinct(scores, chosen):
    return torch.unique(chosen, return_counts=True)[1]


@router
def added(scores, chosen):
    return torch.zeros(EXPERTS, dtype=torch.long, device="cuda").scatter_add_(
        0, chosen.flatten(), torch.ones(TOKENS * PICKS, dtype=torch.uint8, device="cuda").long())


def counts(function):
    scores = torch.empty(TOKENS, EXPERTS, device="cuda").softmax(-1)
    return function(scores, scores.topk(PICKS).indices).long().tolist()


print(json.dumps({name: counts(function) for name, function in ROUTERS.items()}))
