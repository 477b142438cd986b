# SPDX-License-Identifier: Apache-2.0
"""own_settings.py [--settings | --fits]: a program that limits its memory and calls empty_cache, mostly in vain; with --settings it
changes the allocator's settings, too, before and after its first allocation. With --fits memory does not run out."""
import random
import sys

import torch

CHANGES = ["max_split_size_mb:32,roundup_power2_divisions:4", "expandable_segments:True",
           "max_split_size_mb:64", "expandable_segments:False,garbage_collection_threshold:0.7", ""]
source = random.Random(3)
live = []


def use(setting):
    if "--settings" in sys.argv:
        change = getattr(torch._C, "_accelerator_setAllocatorSettings", None)
        (change or torch.cuda.memory._set_allocator_settings)(setting)


def work(requests):
    for _ in range(requests):
        if live and source.random() < 0.45:
            del live[source.randrange(len(live))]
        else:
            size = int(2**source.uniform(8, 27))
            live.append(torch.empty(size, dtype=torch.uint8, device="cuda"))
        if len(live) > 150:
            live.clear()
        if source.random() < 0.02:
            torch.cuda.empty_cache()
            torch.cuda.empty_cache()


use("max_split_size_mb:64")
for setting in CHANGES:
    work(300)
    use(setting)
torch.cuda.set_per_process_memory_fraction(0.3 if "--fits" in sys.argv else 0.005)
for _ in range(100):
    try:
        work(3)
    except torch.cuda.OutOfMemoryError:
        live.clear()
torch.cuda.set_per_process_memory_fraction(1.0)
work(300)
