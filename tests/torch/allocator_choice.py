# SPDX-License-Identifier: Apache-2.0
"""The allocator that PyTorch is to use in this process, by MEMTAP_TEST_ALLOCATOR: "plugged", that of
pluggable.c (MEMTAP_TEST_PLUGGABLE), "pool", a torch.cuda.MemPool for this thread, or "plugged pool",
a MemPool with segments of that allocator's; else PyTorch's own."""
import os


def plug():
    from torch.cuda.memory import CUDAPluggableAllocator
    return CUDAPluggableAllocator(os.environ["MEMTAP_TEST_PLUGGABLE"], "pluggable_alloc",
                                  "pluggable_free")


def choose():
    """To be called before anything is on the device; what it returns has to be kept."""
    import torch
    choice = os.environ.get("MEMTAP_TEST_ALLOCATOR", "")
    plugged = plug() if choice.startswith("plugged") else None
    if choice == "plugged":
        torch.cuda.memory.change_current_allocator(plugged)
        return plugged
    if not choice.endswith("pool"):
        return None
    pool = torch.cuda.MemPool(plugged.allocator() if plugged else None)
    use = torch.cuda.use_mem_pool(pool)
    use.__enter__()
    return plugged, pool, use
