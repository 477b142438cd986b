# SPDX-License-Identifier: Apache-2.0
"""unsharded.py 1|2: trains with FSDP1 or FSDP2 in mixed precision, and prints at some moments where its
parameters are, sharded and not: CLOCK_MONOTONIC in ns, then their storages' addresses."""
import gc
import os
import sys
import time

import torch
import torch.distributed as dist
from torch import nn

os.environ.update({"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "0", "RANK": "0", "WORLD_SIZE": "1"})
NAMES = ("_sharded_param_data", "all_gather_outputs", "_local_shard", "_full_param_padded", "_mp_shard")


def tell():
    """By the objects of FSDP's own that know of them."""
    gc.collect()
    known = [o for o in gc.get_objects() if type(o).__name__ in ("FSDPParam", "Parameter")]
    values = [getattr(o, name, None) for o in known for name in NAMES]
    tensors = [t for value in values for t in (value if isinstance(value, list) else [value])]
    storages = [t.untyped_storage() for t in tensors if isinstance(t, torch.Tensor)]
    print(time.monotonic_ns(), *sorted({s.data_ptr() for s in storages if s.nbytes()}), flush=True)


def shard(model):
    kinds = {"param_dtype": torch.bfloat16, "reduce_dtype": torch.float32}
    if sys.argv[1] == "1":
        from torch.distributed.fsdp import FullyShardedDataParallel, MixedPrecision
        from torch.distributed.fsdp.wrap import ModuleWrapPolicy
        return FullyShardedDataParallel(model, auto_wrap_policy=ModuleWrapPolicy({Layer}), device_id=0,
                                        mixed_precision=MixedPrecision(**kinds))
    from torch.distributed.fsdp import fully_shard, MixedPrecisionPolicy
    for layer in model:
        fully_shard(layer, mp_policy=MixedPrecisionPolicy(**kinds))
    return fully_shard(model, mp_policy=MixedPrecisionPolicy(**kinds))


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(512, 512)

    def forward(self, x):
        return self.inner(x).relu()


dist.init_process_group("nccl", store=dist.HashStore(), rank=0, world_size=1)
model = shard(nn.Sequential(*(Layer() for _ in range(4))).cuda())
optimizer = torch.optim.AdamW(model.parameters())
for module in model.modules():
    if isinstance(module, Layer):
        module.register_forward_hook(lambda *_: tell())
        module.register_full_backward_hook(lambda *_: tell())
for _ in range(2):
    if sys.argv[1] == "2":
        for layer in model:
            layer.unshard()
        tell()
        with torch.no_grad():
            model(torch.randn(32, 512, device="cuda"))
    model(torch.randn(32, 512, device="cuda")).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
    tell()
dist.destroy_process_group()
