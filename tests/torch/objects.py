# SPDX-License-Identifier: Apache-2.0
"""What training programs exchange before and between their steps, on two ranks with NCCL: objects of each kind and
size, a sharded model's checkpoint, DDP's and FSDP's checks of what the others have."""
import os
import sys

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch import nn
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_state_dict, set_state_dict
from torch.distributed.fsdp import FullyShardedDataParallel, fully_shard
from torch.nn.parallel import DistributedDataParallel

RANKS = 2
LARGE = 3 << 20  # more than any other content of a device that is copied


def exchange_objects(rank):
    found = [None] * RANKS
    dist.all_gather_object(found, list(range(rank * 1000)))
    assert [len(each) for each in found] == [0, 1000], found
    dist.all_gather_object(found, bytes([rank + 1]) * (LARGE + rank))
    assert found == [bytes([each + 1]) * (LARGE + each) for each in range(RANKS)]
    given = [{"from": rank}, bytes([7]) * LARGE] if rank == 0 else [None, None]
    dist.broadcast_object_list(given, src=0)
    assert given == [{"from": 0}, bytes([7]) * LARGE]
    found = [None] * RANKS if rank == 0 else None
    dist.gather_object(rank, found, dst=0)
    assert found == ([0, 1] if rank == 0 else None), found
    found = [None]
    dist.scatter_object_list(found, ["a", "b"] if rank == 0 else None, src=0)
    assert found == ["ab"[rank]], found
    if rank == 0:
        dist.send_object_list(["hello", 3], dst=1)
    else:
        found = [None, None]
        dist.recv_object_list(found, src=0)
        assert found == ["hello", 3], found


def keep_and_load(rank):
    torch.manual_seed(rank)
    model = nn.Sequential(nn.Linear(64, 96), nn.Linear(96, 32)).cuda()
    for part in [*model, model]:
        fully_shard(part)
    optimizer = torch.optim.AdamW(model.parameters())
    model(torch.randn(8, 64, device="cuda")).sum().backward()
    optimizer.step()
    local = lambda: [parameter.to_local().tolist() for parameter in model.parameters()]
    before = local()
    weights, state = get_state_dict(model, optimizer)
    dcp.save({"model": weights, "optimizer": state}, checkpoint_id="kept")
    for parameter in model.parameters():
        parameter.data.zero_()
    weights, state = get_state_dict(model, optimizer)
    loaded = {"model": weights, "optimizer": state}
    dcp.load(loaded, checkpoint_id="kept")
    set_state_dict(model, optimizer, model_state_dict=loaded["model"], optim_state_dict=loaded["optimizer"])
    assert local() == before
    whole, _ = get_state_dict(model, optimizer, options=StateDictOptions(full_state_dict=True, cpu_offload=True))
    assert [tuple(each.shape) for each in whole.values()] == ([] if rank else [(96, 64), (96,), (32, 96), (32,)])


def check_parameters(rank):
    device = torch.cuda.current_device()
    torch.manual_seed(rank)
    model = FullyShardedDataParallel(nn.Linear(64, 64).cuda(), sync_module_states=True, use_orig_params=True)
    with FullyShardedDataParallel.summon_full_params(model):
        found = [None] * RANKS
        dist.all_gather_object(found, [parameter.sum().item() for parameter in model.parameters()])
    assert found[0] == found[1], found
    DistributedDataParallel(nn.Linear(8, 8).cuda(), device_ids=[device])
    store = dist.distributed_c10d._get_default_store()
    try:  # the last: the ranks do not agree any more
        DistributedDataParallel(nn.Linear(8, 8 + rank).cuda(), device_ids=[device])
        assert rank == 0
        store.set("sent", "")
    except RuntimeError as error:
        assert "appears not to match" in str(error), error
        store.wait(["sent"])  # rank 0 sends to this rank while it makes its model


def run_rank(rank):
    torch.cuda.set_device(rank)
    os.environ["RANK"] = str(rank)
    dist.init_process_group("nccl", init_method=f"file://{os.getcwd()}/meet", rank=rank, world_size=RANKS)
    for part in (exchange_objects, keep_and_load, check_parameters):
        part(rank)
        os.write(1, f"rank {rank}: {part.__name__}\n".encode())
    dist.destroy_process_group()


def main():
    children = []
    for rank in range(RANKS):
        children.append(os.fork())
        if not children[-1]:
            run_rank(rank)
            sys.exit()
    sys.exit(any(os.waitpid(child, 0)[1] for child in children))


main()
