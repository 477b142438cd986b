# SPDX-License-Identifier: Apache-2.0
"""held_headline.py cycle | handler | after: at the highest moment, what holds is found: modules in reference cycles that Python has not
collected; an exception that is being handled; nothing but local variables, after the handler."""
import ctypes
import gc
import sys

import torch


class Probe(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body = torch.nn.Linear(1024, 1024, bias=False)
        self.body.register_forward_hook(lambda *_: self)


def cycle():
    gc.disable()
    for _ in range(8):
        Probe().to("cuda")
    ctypes.CDLL(None).memtap_holders()


def attempt():
    saved = [torch.ones(1 << 20, device="cuda") for _ in range(8)]
    raise RuntimeError(f"{len(saved)} are too many")


def more():
    kept = torch.ones(12 << 20, device="cuda")
    ctypes.CDLL(None).memtap_holders()
    return kept.sum()


def handler():
    try:
        attempt()
    except RuntimeError:
        more()


def after():
    try:
        attempt()
    except RuntimeError:
        pass
    more()


globals()[sys.argv[1]]()
