# SPDX-License-Identifier: Apache-2.0
"""turns.py WAY: a loop of its own, of which the iterations are turns; in most ways without a backward."""
import importlib
import sys
import tempfile
import threading
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

MIB = 1 << 20
kept = []


def mib(n):
    return torch.empty(n * MIB, dtype=torch.uint8, device="cuda")  # LINE sometimes, LINE comprehension, LINE threads, LINE few


def model(depth=2):
    return nn.Sequential(*(nn.Linear(512, 512) for _ in range(depth))).cuda()


def evaluate():
    net = model(6)
    with torch.no_grad():
        for _ in range(9):  # LOOP evaluate
            x = torch.ones(1024, 512, device="cuda")
            F.relu(net(x)).mean()


def losses():
    net = model()
    for _ in range(11):  # LOOP losses
        x = torch.ones(1024, 512, device="cuda")
        loss = F.mse_loss(
            net(x),  # LINE losses
            x)
        kept.append(loss)


def build():
    for _ in range(7):  # LOOP build
        kept.append(nn.Linear(1024, 1024, bias=False, device="cuda"))  # LINE build


class Cyclic(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(1024, 1024, bias=False)
        self.body.register_forward_hook(lambda module, args, out: kept.append(self))


def one_trial():
    kept.append(Cyclic().to("cuda"))  # LINE trials


def trials():
    number = 0
    while number < 8:  # LOOP trials
        one_trial()
        number += 1


def requests():
    """Each has a cache that grows, and drops it."""
    net = model()
    with torch.no_grad():
        for _ in range(3):  # LOOP requests
            cache = [net(torch.ones(2048, 512, device="cuda"))]
            for _ in range(10):
                cache.append(net(cache[-1]))
            torch.cat(cache).sum()


def layers():
    nets = [nn.Linear(512, 512).cuda() for _ in range(12)]
    with torch.no_grad():
        for _ in range(5):  # LOOP layers
            x = torch.ones(1024, 512, device="cuda")
            for net in nets:
                x = net(x)


def epochs():
    """Nothing steps, so that the outermost loop counts."""
    net = model()
    with torch.no_grad():
        for _ in range(4):  # LOOP epochs
            total = torch.zeros((), device="cuda")
            for _ in range(6):
                x = torch.ones(1024, 512, device="cuda")
                total += net(x).mean()


def batches(n):
    for _ in range(n):
        yield torch.ones(1024, 512, device="cuda")


def generator():
    net = model()
    with torch.no_grad():
        for x in batches(10):  # LOOP generator
            kept.append(net(x))  # LINE generator


def previous():
    """The last result lives on while the next one is made: that is no growth."""
    net = model()
    with torch.no_grad():
        for _ in range(6):  # LOOP previous
            kept[:] = [net(torch.ones(4096, 512, device="cuda"))]


def sometimes():
    for number in range(20):  # LOOP sometimes
        x = mib(4)
        y = mib(1)
        if number % 4 == 3:
            kept.append(x)
        del x, y


def comprehension():
    kept.extend([mib(2) for _ in range(9)])  # LOOP comprehension


def worker():
    for _ in range(10):  # LOOP threads
        kept.append(mib(2))
        mib(1)


def threads():
    first = mib(1)
    one = threading.Thread(target=worker)
    one.start()
    one.join()
    del first


def little():
    """1 KiB a turn of 64 MiB."""
    held = mib(64)
    for _ in range(30):  # LOOP little
        kept.append(torch.empty(1024, dtype=torch.uint8, device="cuda"))
        mib(2)
    del held


def few():
    for _ in range(3):  # LOOP few
        kept.append(mib(8))
        mib(1)


def two(keeps=True):
    """Two turns, of which the first leaves its result, or neither."""
    net = nn.Sequential(nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 512)).cuda()
    with torch.no_grad():
        for _ in range(2):
            x = torch.ones(4096, 512, device="cuda")
            kept.extend([net(x)][:keeps])  # LINE two


def two_passing():
    two(False)


def validate(net):
    total = 0
    for _ in range(8):  # LOOP validation
        x = torch.ones(4096, 512, device="cuda")
        total += F.mse_loss(net(x), x)  # LINE validation
    return total


def validation():
    net = model()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(2):
        for _ in range(3):
            x = torch.ones(256, 512, device="cuda")
            F.mse_loss(net(x), x).backward()
            optimizer.step()
            optimizer.zero_grad()
        validate(net)


def collection():
    """An evaluation that keeps its results, and no graph."""
    net = model()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        x = torch.ones(256, 512, device="cuda")
        F.mse_loss(net(x), x).backward()
        optimizer.step()
        optimizer.zero_grad()
    results = []
    with torch.no_grad():
        for _ in range(8):  # LOOP collection
            results.append(net(torch.ones(8192, 512, device="cuda")))  # LINE collection


def train():
    net = model()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(12):  # LOOP train
        x = torch.ones(1024, 512, device="cuda")
        loss = F.mse_loss(net(x), x)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        kept.append(x)


def named():
    """Ranges say what an iteration is: of three forwards, and steps."""
    net = model()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for number in range(6):
        with torch.cuda.nvtx.range(f"iteration {number}"):
            for _ in range(3):
                x = torch.ones(1024, 512, device="cuda")
                F.mse_loss(net(x), x).backward()
                optimizer.step()
                optimizer.zero_grad()
            kept.append(mib(4))


def once():
    """No loop."""
    net = model()
    net(torch.ones(1024, 512, device="cuda"))


def work(x):
    a = x * 2
    b = a + 1
    return b.sum()


def in_a_row():
    """No loop: calls one after the other."""
    x = mib(1).float()
    work(x)
    work(x)
    work(x)


def called_twice():
    """A turn calls the same twice in one line: what is a turn is not known."""
    x = mib(1).float()
    for _ in range(10):
        work(x) + work(x)


def one_line():
    clips = [mib(1).float() for _ in range(5)] * 4
    for x in clips: work(x)  # noqa: E701  LOOP one_line


def one_line_epochs():
    """Of the epochs nothing is seen: the batches of all of them."""
    x = mib(1).float()
    for _ in range(3):
        for _ in range(20):  # LOOP one_line_epochs
            work(x)


def tokens(net, x, n):
    cache = [net(x)]
    for _ in range(n):
        cache.append(net(cache[-1]))
    return torch.cat(cache)


def generation():
    net = model()
    x = torch.ones(64, 512, device="cuda")
    with torch.no_grad():
        tokens(net, x, 6)  # warms up
        for _ in range(5):  # LOOP generation
            tokens(net, x, 24)


def branch(depth):
    mib(1)
    if depth:
        for _ in range(2):
            branch(depth - 1)
    mib(2)


def recursion():
    for _ in range(10):  # LOOP recursion
        branch(3)


def varying():
    """Another number of turns of a loop within each."""
    for number in range(10):  # LOOP varying
        x = mib(1).float()
        for _ in range(2 + number % 4):
            x = x * 2
            x = x + 1


def built_first():
    layers = []
    for _ in range(12):
        layers.append(nn.Linear(512, 512).cuda())
    with torch.no_grad():
        for _ in range(30):  # LOOP built_first
            x = torch.ones(256, 512, device="cuda")
            for layer in layers:
                x = layer(x)


def conditional():
    """Lines that not every turn comes to, the first one among them."""
    for number in range(20):  # LOOP conditional
        if number % 5 == 4:
            x = mib(3)
        y = mib(1)
        if number % 2:
            z = mib(2)
        else:
            z = mib(4)
        del y, z
    del x


def parallel():
    """Two threads, each with a loop of its own: the one that allocates more counts."""
    def turns(n, size):
        for _ in range(n):  # LOOP parallel
            x = mib(size)
            y = mib(size)
            del x, y
    several = [threading.Thread(target=turns, args=arguments) for arguments in ((12, 1), (30, 2))]
    for thread in several:
        thread.start()
    for thread in several:
        thread.join()


LENGTHS = (700, 256, 1300, 900)


def lengths():
    """Each turn has another size, and several allocations."""
    net = model()
    with torch.no_grad():
        for n in LENGTHS:  # LOOP lengths
            net(torch.ones(n, 512, device="cuda"))


def lengths_functional():
    for n in LENGTHS * 3:  # LOOP lengths_functional
        torch.ones(n, 512, device="cuda").relu().sum()


def lengths_of_two():
    one, other = model(), model()
    with torch.no_grad():
        for n in LENGTHS * 2:  # LOOP lengths_of_two
            other(one(torch.ones(n, 512, device="cuda"))).softmax(-1)


def concatenated():
    """As a hand-made KV cache grows."""
    x = torch.ones(64, 512, device="cuda")
    for _ in range(12):  # LOOP concatenated
        x = torch.cat([x, x[-64:] * 2])


def cached():
    """Two calls a line, of which the second does what the first did."""
    k = torch.zeros(8, 16, 0, 128, device="cuda")
    v = torch.zeros_like(k)
    with torch.no_grad():
        for _ in range(60):  # LOOP cached
            nk = torch.randn(8, 16, 32, 128, device="cuda"); nv = torch.randn_like(nk)  # noqa: E702
            k = torch.cat([k, nk], 2); v = torch.cat([v, nv], 2)  # noqa: E702
            q = torch.randn(8, 16, 32, 128, device="cuda")
            kept[:] = [(q @ k.transpose(-1, -2)).softmax(-1) @ v]


def doubled():
    x = torch.ones(64, 512, device="cuda")
    for _ in range(6):  # LOOP doubled
        x = torch.cat([x, x]) * 2


def growing():
    for number in range(8):  # LOOP growing
        kept.append(torch.ones(100 * (number + 1), 64, device="cuda").relu())


def decoding():
    layer = nn.TransformerEncoderLayer(512, 8, batch_first=True).cuda().eval()
    x = torch.ones(1, 16, 512, device="cuda")
    with torch.no_grad():
        for _ in range(16):  # LOOP decoding
            x = torch.cat([x, layer(x)[:, -1:]], 1)


def runs_out():
    """The loop in which memory runs out counts, not the one before it."""
    held = [mib(1) for _ in range(40)]
    for _ in range(16):  # LOOP runs_out
        mib(1)
        held.append(mib(8 << 10))


def learn(net, optimizer, x):
    F.mse_loss(net(x), x).backward()
    optimizer.step()
    optimizer.zero_grad()


def trainers():
    """Two threads train at the same time, and one of them longer."""
    def train(net, n):
        optimizer = torch.optim.Adam(net.parameters())
        for _ in range(n):  # LOOP trainers
            learn(net, optimizer, torch.ones(256, 512, device="cuda"))
    several = [threading.Thread(target=train, args=(model(), n)) for n in (12, 5)]
    for thread in several:
        thread.start()
    for thread in several:
        thread.join()


def steps():
    """Epochs of batches: each step is one."""
    net = model()
    optimizer = torch.optim.Adam(net.parameters())
    for _ in range(2):
        for _ in range(5):  # LOOP steps
            learn(net, optimizer, torch.ones(256, 512, device="cuda"))


def whole_epochs():
    net = model()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        epoch(net, optimizer, 4)


def microbatches():
    """The inner loop turns four times a step."""
    net = model()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(5):  # LOOP microbatches
        for _ in range(4):
            F.mse_loss(net(torch.ones(256, 512, device="cuda")), torch.zeros(256, 512, device="cuda")).backward()
        optimizer.step()
        optimizer.zero_grad()


def unlooped():
    net = model()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    learn(net, optimizer, torch.ones(256, 512, device="cuda"))
    learn(net, optimizer, torch.ones(256, 512, device="cuda"))


def bare():
    """Neither modules nor an optimizer."""
    weight = torch.randn(512, 512, device="cuda", requires_grad=True)
    for _ in range(7):  # LOOP bare
        (torch.ones(256, 512, device="cuda") @ weight).square().mean().backward()
        with torch.no_grad():
            weight -= 0.1 * weight.grad
            weight.grad = None


TRAINER = """
def train(n, step, batch):
    for _ in range(n):
        step(batch())
"""


def trainer():
    """An installed package has the loop."""
    net = model()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    with tempfile.TemporaryDirectory() as folder:
        packages = Path(folder) / "site-packages"
        packages.mkdir()
        (packages / "trainer.py").write_text(TRAINER)
        sys.path.insert(0, str(packages))
        importlib.import_module("trainer").train(  # LOOP trainer
            9, lambda x: learn(net, optimizer, x), lambda: torch.ones(256, 512, device="cuda"))


def accumulation():
    net = model()
    optimizer = torch.optim.Adam(net.parameters())
    for number in range(12):  # LOOP accumulation
        x = torch.ones(256, 512, device="cuda")
        F.mse_loss(net(x), x).backward()
        if number % 4 == 3:
            optimizer.step()
            optimizer.zero_grad()


def adversaries():
    """Two steps a turn."""
    one, other = model(), model()
    optimizers = [torch.optim.Adam(net.parameters()) for net in (one, other)]
    for _ in range(8):  # LOOP adversaries
        x = torch.ones(256, 512, device="cuda")
        learn(one, optimizers[0], x)
        learn(other, optimizers[1], x)


def many():
    for _ in range(5000):  # LOOP many
        mib(1)
        mib(2)


def epoch(net, optimizer, batches):
    for _ in range(batches):  # LOOP whole_epochs
        net(torch.ones(256, 512, device="cuda")).sum().backward()
        optimizer.step()
        optimizer.zero_grad()


def segments():
    """PyTorch reserves another segment in every second turn."""
    net = nn.Sequential(nn.Linear(1024, 2048), nn.Linear(2048, 1024)).cuda()
    optimizer = torch.optim.AdamW(net.parameters())
    for _ in range(12):  # LOOP segments
        x = torch.ones(256, 1024, device="cuda"); out = net(x); loss = out.square().mean()  # noqa: E702
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        kept.append(out)


def epoch_history():
    net = model()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(6):
        epoch(net, optimizer, 8)
        kept.append(mib(16))


def epoch_scores():
    net = model()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(5):
        epoch(net, optimizer, 6)
        with torch.no_grad():
            for _ in range(4):
                kept.append(net(torch.ones(2048, 512, device="cuda")))


def epoch_copies():
    net = model(4)
    optimizer = torch.optim.AdamW(net.parameters())
    for _ in range(7):
        epoch(net, optimizer, 5)
        kept.append({name: value.clone() for name, value in net.state_dict().items()})  # LINE epoch_copies


globals()[sys.argv[1]]()
