# SPDX-License-Identifier: Apache-2.0
"""hosts.py KIND: what campaign.py attaches to, until a file `end` exists. Each checks its own results and ends with 0 and "done".
trainer: steps whose number of bytes is known; threads: pure Python in threads; imports: modules that are imported again and again;
forks: children; workers: a DataLoader's; sleeper: free of the GIL for long times; ranks: two with DistributedDataParallel."""
import hashlib
import importlib
import os
import socket
import sys
import threading
import time


def is_over():
    return os.path.exists("end")


def chain(n):
    value = b"0"
    for _ in range(n):
        value = hashlib.md5(value).digest()
    return value.hex()


def train(step_of):
    import torch
    from torch import nn
    model = nn.Sequential(*(nn.Linear(256, 256) for _ in range(4))).cuda()
    model = step_of(model)
    optimizer = torch.optim.AdamW(model.parameters())
    wanted = None
    while not is_over():
        loss = model(torch.randn(8, 256, device="cuda")).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        del loss
        now = torch.cuda.memory_allocated()
        assert wanted in (None, now), (wanted, now)
        wanted = now
        time.sleep(0)
    return wanted


def trainer():
    train(lambda model: model)


def threads():
    wanted = chain(20000)
    wrong = []

    def run():
        while not is_over():
            if chain(20000) != wanted:
                wrong.append(1)

    all_threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in all_threads:
        thread.start()
    for thread in all_threads:
        thread.join()
    assert not wrong


def imports():
    names = ["json", "json.decoder", "decimal", "_decimal", "sqlite3", "_sqlite3", "csv", "_csv", "ctypes", "_ctypes", "xml.dom.minidom"]
    while not is_over():
        for name in names:
            for each in names:
                sys.modules.pop(each, None)
            assert importlib.import_module(name).__dict__


def forks():
    while not is_over():
        child = os.fork()
        if not child:
            os._exit(7)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def workers():
    import torch
    from torch.utils.data import DataLoader, TensorDataset
    data = TensorDataset(torch.arange(64.0).reshape(64, 1))
    while not is_over():
        total = sum(batch.cuda().numel() and batch.sum().item() for batch, in DataLoader(data, 8, num_workers=2))
        assert total == 2016, total


def sleeper():
    import torch
    while not is_over():
        begin = time.monotonic()
        time.sleep(0.3)
        assert 0.3 <= time.monotonic() - begin
        torch.empty(1000, device="cuda")


def ranks():
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    import torch
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel
    parent = os.fork()
    rank = 0 if parent else 1
    os.environ.update(RANK=str(rank), WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl")
    model = DistributedDataParallel(torch.nn.Linear(256, 256).cuda())
    flag = torch.zeros(1)
    group = dist.new_group(backend="gloo")
    if parent:
        ready()
    while not flag.item():
        model(torch.randn(8, 256, device="cuda")).sum().backward()
        flag.fill_(is_over())
        dist.all_reduce(flag, group=group)
    dist.destroy_process_group()
    if rank:
        os._exit(0)
    assert not os.wait()[1]


def ready():
    print("ready", os.getpid(), flush=True)


if sys.argv[1] != "ranks":  # which forks first
    ready()
{name: value for name, value in list(globals().items()) if callable(value)}[sys.argv[1]]()
print("done")
