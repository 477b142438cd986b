# SPDX-License-Identifier: Apache-2.0
"""dead_jobs.py JOB [REMEDY]...: jobs that run out of memory on a small card; REMEDY is what memtap advises, followed. Says
how far it came: a line for each forward, backward and step."""
import functools
import io
import re
import sys
import threading
from copy import deepcopy

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks.debugging_hooks import noop_hook
from torch.nn.parallel import DistributedDataParallel
from torch.testing._internal.distributed.fake_pg import FakeStore
from torch.utils.checkpoint import checkpoint

JOB, REMEDIES = (sys.argv[1:2] or [""])[0], sys.argv[2:]
# Random numbers on the CPU would take an eighth of the processor time; nothing here depends on them.
nn.init.kaiming_uniform_ = nn.init.uniform_ = nn.init.xavier_uniform_ = nn.init.normal_ = lambda tensor, *_, **__: tensor
BATCHES = next((int(remedy.removeprefix("batch:1/")) for remedy in REMEDIES if remedy.startswith("batch:")), 1)


def came(what):
    print("came", what, flush=True)


class Tower(nn.Module):
    def __init__(self, width, depth, bias=True):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(width, width, bias) for _ in range(depth))

    def forward(self, x):
        for layer in self.layers:
            x = F.gelu(layer(x))
        return x


class Encoder(nn.Module):
    def __init__(self, width=256, depth=6):
        super().__init__()
        self.embed = nn.Embedding(1000, width)
        self.blocks = nn.ModuleList(nn.TransformerEncoderLayer(width, 4, 4 * width, batch_first=True, dropout=0) for _ in range(depth))
        self.head = nn.Linear(width, 1000)

    def forward(self, tokens):
        x = self.embed(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


class Adapted(nn.Module):
    """A linear layer as peft's LoraConfig(r=16) leaves it."""
    def __init__(self, layer):
        super().__init__()
        self.layer, self.a, self.b = layer, nn.Linear(layer.in_features, 16, bias=False), nn.Linear(16, layer.out_features, bias=False)

    def forward(self, x):
        return self.layer(x) + self.b(self.a(x))


def adapted(model):
    """The model on the card; only its adapters are trained, where that is asked for."""
    if "lora:16" in REMEDIES:
        model.requires_grad_(False)
        for module in [*model.modules()]:
            for name, layer in module.named_children():
                if isinstance(layer, nn.Linear):
                    setattr(module, name, Adapted(layer))
    return model.cuda()


class OnHost:
    """An optimizer that steps on the host, with its state there."""
    def __init__(self, model):
        self.pairs = [(parameter, parameter.detach().cpu()) for parameter in model.parameters()]
        self.optimizer = torch.optim.AdamW([copy for _, copy in self.pairs], lr=1e-4)

    def step(self):
        for parameter, copy in self.pairs:
            copy.grad = parameter.grad.cpu()
        self.optimizer.step()
        with torch.no_grad():
            for parameter, copy in self.pairs:
                parameter.copy_(copy)

    def zero_grad(self):
        for parameter, _ in self.pairs:
            parameter.grad = None


def adam(model, cls=torch.optim.AdamW):
    if "offload:optimizer" in REMEDIES:
        return OnHost(model)
    if "optimizer:adafactor" in REMEDIES:
        return torch.optim.Adafactor(model.parameters())
    if "optimizer:sgd" in REMEDIES:
        return torch.optim.SGD(model.parameters(), lr=1e-4)
    return cls(model.parameters(), lr=1e-4, fused="optimizer:adamw-fused" in REMEDIES or None,
               foreach=False if "optimizer:adamw-for-loop" in REMEDIES else None)


def step(model, optimizer, loss):
    came("forward")
    loss.backward()
    came("backward")
    optimizer.step()
    optimizer.zero_grad()
    came("step")


def no_grad():
    return torch.set_grad_enabled("no-grad" not in REMEDIES)


def placed(model):
    """The model on the card; its parameters on the host, where they are to be."""
    if "offload:parameters" not in REMEDIES:
        return model.cuda()
    from torch.distributed.fsdp import CPUOffloadPolicy, fully_shard
    if not dist.is_initialized():
        dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=1)
    for layers in [module for module in model.modules() if isinstance(module, nn.ModuleList)]:
        for layer in layers:
            fully_shard(layer, offload_policy=CPUOffloadPolicy())
    return fully_shard(model, offload_policy=CPUOffloadPolicy())


def prepared(model):
    """The model, with checkpoints around the modules that are to have them."""
    for pattern in [remedy.partition(":")[2] for remedy in REMEDIES if remedy.startswith("checkpoint:")]:
        form = re.compile(re.escape(pattern).replace(r"\*", "[^.]*"))
        for _, module in [one for one in model.named_modules() if form.fullmatch(one[0])]:
            module.forward = functools.partial(checkpoint, module.forward, use_reentrant=False)
    return model


# Evaluations without no_grad.
def validation_sums():
    """Adds up the loss as a tensor: each batch's graph stays."""
    model = nn.Sequential(nn.Linear(1024, 4096), nn.ReLU(), nn.Linear(4096, 10)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    labels = torch.zeros(2048, dtype=torch.long, device="cuda")
    for _ in range(2):
        for _ in range(3):
            step(model, optimizer, F.cross_entropy(model(torch.ones(2048, 1024, device="cuda")), labels))
        total = 0
        with no_grad():
            for _ in range(12):
                total += F.cross_entropy(model(torch.ones(2048, 1024, device="cuda")), labels)


def validation_at_once():
    """A larger batch in validation runs out in its first forward."""
    model = Tower(1024, 12).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        step(model, optimizer, model(torch.ones(2048, 1024, device="cuda")).mean())
    with no_grad():
        for _ in range(3):
            model(torch.ones(8192 // BATCHES, 1024, device="cuda")).mean()
            came("evaluation")


def scoring():
    """Never trains."""
    model = Encoder().cuda().eval()
    with no_grad():
        for number in range(6):
            tokens = torch.zeros(8 if number < 4 else 48 // BATCHES, 128, dtype=torch.long, device="cuda")
            scores = model(tokens)  # until the next ones are there
            came("evaluation")


# Out of memory in Adam's step.
def wide(cls=torch.optim.AdamW):
    model = placed(Tower(2048, 8))
    optimizer = adam(model, cls)
    for _ in range(3):
        step(model, optimizer, model(torch.ones(64, 2048, device="cuda")).mean())


class Scaled:
    """An optimizer that steps through a GradScaler, whose class has a step, too."""
    def __init__(self, optimizer):
        self.optimizer, self.scaler = optimizer, torch.amp.GradScaler("cuda")

    def step(self):
        self.scaler.step(self.optimizer)
        self.scaler.update()

    def zero_grad(self):
        self.optimizer.zero_grad()


def wide_adam():
    model = placed(Tower(2048, 8))
    optimizer = adam(model, torch.optim.Adam)
    scaled = Scaled(optimizer) if isinstance(optimizer, torch.optim.Optimizer) else None
    for _ in range(3):
        loss = model(torch.ones(64, 2048, device="cuda")).mean()
        step(model, scaled or optimizer, scaled.scaler.scale(loss) if scaled else loss)


def embeddings():
    model = adapted(nn.Sequential(nn.Embedding(40000, 512), nn.Linear(512, 512)))
    optimizer = adam(model)
    for _ in range(3):
        step(model, optimizer, model(torch.zeros(64, dtype=torch.long, device="cuda")).mean())


# Exceptions that hold what failed.
def attempt(model, rows):
    loss = model(torch.empty(rows, 2048, device="cuda")).square().mean()
    came("forward")
    loss.backward()
    came("backward")
    model.zero_grad()


def retry():
    model, rows = Tower(2048, 8, bias=False).cuda(), None
    try:
        attempt(model, 32768)
    except torch.cuda.OutOfMemoryError:
        rows = 16384
        if "drop-exception" not in REMEDIES:
            attempt(model, rows)
            rows = None
    if rows:
        attempt(model, rows)


def retry_kept():
    """Keeps the error itself, for its report."""
    model, failed = Tower(2048, 8, bias=False).cuda(), []
    for rows in (32768, 12288):
        try:
            attempt(model, rows)
            break
        except torch.cuda.OutOfMemoryError as error:
            if failed:
                raise
            failed.append(str(error) if "drop-exception" in REMEDIES else error)


def retry_encoder():
    model = Encoder().cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def turn(batch):
        step(model, optimizer, model(torch.zeros(batch, 128, dtype=torch.long, device="cuda")).mean())

    turn(8)
    failed = False
    try:
        turn(96)
    except torch.cuda.OutOfMemoryError:
        failed = True
        if "drop-exception" not in REMEDIES:
            turn(24)
            failed = False
    if failed:
        turn(24)


# Each thread ends where its own request fails; none tries again.
def threads():
    model, kept, errors = nn.Linear(2048, 2048).cuda(), [], []

    def infers():
        try:
            with torch.no_grad():
                for _ in range(24):
                    scores = model(torch.ones(4096, 2048, device="cuda"))
                    kept.append(scores.cpu() if "keep-nothing" in REMEDIES else scores)
                    came("forward")
        except torch.cuda.OutOfMemoryError as error:
            errors.append(str(error))

    workers = [threading.Thread(target=infers) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    if errors:
        raise torch.cuda.OutOfMemoryError(errors[0])


# A checkpoint around everything.
def whole():
    blocks = nn.ModuleList(nn.Sequential(nn.Linear(1024, 1024, bias=False), nn.GELU()) for _ in range(16)).cuda()

    def everything(x):
        for block in blocks:
            x = block(x)
        return x

    for _ in range(2):
        x = torch.ones(16384 // BATCHES, 1024, device="cuda", requires_grad=True)
        if "checkpoint-each" in REMEDIES:
            for block in blocks:
                x = checkpoint(block, x, use_reentrant=False)
        else:
            x = checkpoint(everything, x, use_reentrant=False)
        came("forward")
        x.mean().backward()
        came("backward")
        blocks.zero_grad()


class Wrapped(Encoder):
    """One checkpoint around all blocks."""
    def forward(self, tokens):
        x = self.embed(tokens)
        if "checkpoint-each" in REMEDIES:
            for block in self.blocks:
                x = checkpoint(block, x, use_reentrant=False)
        else:
            x = checkpoint(self.run, x, use_reentrant=False)
        return self.head(x)

    def run(self, x):
        for block in self.blocks:
            x = block(x)
        return x


def whole_encoder():
    model = Wrapped(depth=10).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        step(model, optimizer, model(torch.zeros(24, 128, dtype=torch.long, device="cuda")).mean())


class Words(nn.Module):
    """A language model, of 16 bits, whose loss is computed in 32."""
    def __init__(self, is_tied):
        super().__init__()
        self.embed, self.head = nn.Embedding(48000, 256), nn.Linear(256, 48000, bias=False)
        self.blocks = nn.ModuleList(nn.TransformerEncoderLayer(256, 4, 1024, batch_first=True, dropout=0) for _ in range(6))
        if is_tied:
            self.head.weight = self.embed.weight

    def loss_of(self, x, tokens):
        return F.cross_entropy(self.head(x).float(), tokens, reduction="sum")

    def forward(self, tokens):
        x = self.embed(tokens)
        for block in self.blocks:
            x = block(x)
        rows, words = x.flatten(0, 1), tokens.flatten()
        if "chunked-loss:16" not in REMEDIES:
            return self.loss_of(rows, words) / words.numel()
        return sum(checkpoint(self.loss_of, *part, use_reentrant=False) for part in zip(rows.chunk(16), words.chunk(16))) / words.numel()


def vocabulary(is_tied=False):
    model = prepared(Words(is_tied).cuda().bfloat16())
    optimizer = adam(model)
    for _ in range(3):
        step(model, optimizer, model(torch.zeros(8 // BATCHES, 256, dtype=torch.long, device="cuda")))


def vocabulary_tied():
    vocabulary(True)


# Copies of weights that need not be on the card.
def loaded():
    """A checkpoint is loaded onto the card that it was saved from. The libraries have their handles by then."""
    nn.Linear(8, 8).cuda()(torch.ones(8, 8, device="cuda")).sum().backward()
    model, saved = placed(Tower(2048, 8)), io.BytesIO()
    torch.save({"model": model.state_dict(), "epoch": 3}, saved)
    saved.seek(0)
    found = torch.load(saved, map_location="cpu" if "host-copies" in REMEDIES else None)
    model.load_state_dict(found["model"])
    for _ in range(3):
        step(model, torch.optim.SGD(model.parameters(), lr=0.1), model(torch.ones(1024, 2048, device="cuda")).mean())


def best(copied=lambda model: deepcopy(model.state_dict())):
    """The best weights so far are put aside."""
    model, kept = placed(Tower(2048, 8)), []
    for _ in range(4):
        step(model, torch.optim.SGD(model.parameters(), lr=0.1), model(torch.ones(4096, 2048, device="cuda")).mean())
        on_host = "host-copies" in REMEDIES
        kept.append({name: value.cpu() for name, value in model.state_dict().items()} if on_host else copied(model))


def best_clones():
    best(lambda model: {name: value.clone() for name, value in model.state_dict().items()})


def best_modules():
    best(deepcopy)


# What is kept from turn to turn.
def trained(model, batch, kept, turns=8):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(turns):
        kept.append(step_of(model, optimizer, torch.zeros(batch // BATCHES, 128, dtype=torch.long, device="cuda")))


def step_of(model, optimizer, tokens):
    scores = model(tokens)
    loss = scores.mean()
    step(model, optimizer, loss)
    return scores.detach().cpu() if "keep-nothing" in REMEDIES else scores.detach()


def outputs():
    trained(prepared(placed(Encoder())), 16, [])


def losses():
    """The graph of each second loss is kept with it."""
    model, kept = Tower(1024, 6).cuda(), []
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(8):
        x = torch.ones(4096 // BATCHES, 1024, device="cuda")
        step(model, optimizer, model(x).mean())
        extra = model(x).square().mean()
        kept.append(extra.item() if "keep-nothing" in REMEDIES else extra)


def kept_gradients():
    model = Tower(4096, 8).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for number in range(4):
        x = torch.ones((64 if number < 2 else 32768) // BATCHES, 4096, device="cuda")
        model_loss = model(x).mean()
        came("forward")
        model_loss.backward()
        came("backward")
        optimizer.step()
        optimizer.zero_grad(set_to_none="zero-grad" in REMEDIES)
        came("step")


# Text from a cache of keys and values.
class Decoder(nn.Module):
    def __init__(self, width=512, depth=6):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(width, 3 * width) for _ in range(depth))

    def forward(self, x, cache):
        for number, layer in enumerate(self.layers):
            query, key, value = layer(x).chunk(3, -1)
            if number < len(cache):
                key, value = torch.cat([cache[number][0], key], 1), torch.cat([cache[number][1], value], 1)
                cache[number] = (key, value)
            else:
                cache.append((key, value))
            x = x + F.scaled_dot_product_attention(query, key, value)
        return x


def generate(batch, tokens, keeps_graph):
    model = Decoder().cuda().eval()
    with torch.set_grad_enabled(keeps_graph):
        cache, x = [], torch.ones(batch // BATCHES, 64, 512, device="cuda")
        for _ in range(tokens):
            x = model(x, cache)[:, -1:]
            came("evaluation")


def decode():
    """Without no_grad: each token's graph keeps the caches of all before."""
    generate(32, 24, "no-grad" not in REMEDIES)


def cache():
    generate(256, 48, False)


# DistributedDataParallel.
def ddp():
    dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=4)
    model = DistributedDataParallel(adapted(Tower(2048, 8)), gradient_as_bucket_view="bucket-views" in REMEDIES)
    model.register_comm_hook(None, noop_hook)  # the fake group has no sums
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        step(model, optimizer, model(torch.ones(64, 2048, device="cuda")).mean())


# Layers without checkpoints.
def deep():
    model = prepared(Encoder(depth=12).cuda())
    optimizer = adam(model)
    for _ in range(3):
        step(model, optimizer, model(torch.zeros(32 // BATCHES, 128, dtype=torch.long, device="cuda")).mean())


def tower():
    model = prepared(Tower(1024, 24).cuda())
    optimizer = adam(model)
    for _ in range(3):
        step(model, optimizer, model(torch.ones(8192 // BATCHES, 1024, device="cuda")).mean())


def no_optimizer():
    """Backward without an optimizer; grows from turn to turn."""
    model = Tower(1024, 6).cuda()
    for rows in (4096, 4096, 16384):
        model(torch.ones(rows // BATCHES, 1024, device="cuda")).mean().backward()
        came("backward")
        model.zero_grad()


@torch.no_grad()
def generates():
    """A server: keys and values of all tokens so far, and no graph at all."""
    model, cache = nn.Linear(512, 1024).cuda().eval(), []
    x = torch.ones(512 // BATCHES, 64, 512, device="cuda")
    for _ in range(24):
        kept = model(x)
        cache = [torch.cat([*cache, kept], 1)]
        x = cache[0][:, -16:, :512]
        came("evaluation")


def squares():
    """Results of N x N rows, under autocast: not all of it is halved with the batch."""
    model = Tower(1024, 4).cuda()
    with torch.autocast("cuda", dtype=torch.bfloat16):
        for _ in range(2):
            x = model(torch.ones(8192 // BATCHES, 1024, device="cuda"))
            came("forward")
            (x @ x.t()).float().logsumexp(-1).mean().backward()
            came("backward")
            model.zero_grad()


def cached_casts():
    """Autocast keeps a copy of each weight in 16 bits: half a batch has as many."""
    model = Tower(2048, 8, bias=False).cuda()
    with torch.autocast("cuda", dtype=torch.bfloat16):
        for _ in range(2):
            model(torch.ones(4096 // BATCHES, 2048, device="cuda")).float().mean().backward()
            model.zero_grad()


def half_copies():
    """A copy of the model in 16 bits for the forward of each turn."""
    model, copy = Tower(1024, 8, bias=False).cuda(), None
    for _ in range(2):
        copy = [parameter.bfloat16() for parameter in model.parameters()]
        x = torch.ones(4096 // BATCHES, 1024, device="cuda", dtype=torch.bfloat16)
        for weight, layer in zip(copy, model.layers, strict=True):
            x = F.gelu(F.linear(x, weight)) + 0 * layer(x[:1].float()).sum().bfloat16()
        x.float().mean().backward()
        model.zero_grad()


def beside_the_batch(of_turn):
    """Trains on rows, and has something else as large that is of no batch."""
    model = Tower(1024, 6).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        loss = of_turn(model, model(torch.ones(4096 // BATCHES, 1024, device="cuda")))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


def table():
    kept = torch.ones(32, 1024, 1024, device="cuda")
    beside_the_batch(lambda model, y: y.mean() + kept[0, 0, 0])


def mask():
    beside_the_batch(lambda model, y: y.mean() + torch.ones(4096, 4096, device="cuda").tril()[0, 0])


def distances():
    beside_the_batch(lambda model, y: torch.cdist(y, y).mean())


def penalty():
    beside_the_batch(lambda model, y: y.mean() + sum(weight.square().sum() for weight in model.parameters()))


if __name__ == "__main__":
    if "offload:activations" in REMEDIES:
        torch.autograd.graph.save_on_cpu(pin_memory=True).__enter__()
    if "precision:autocast" in REMEDIES:
        torch.autocast("cuda", torch.bfloat16).__enter__()
    if "precision:bf16" in REMEDIES:
        torch.set_default_dtype(torch.bfloat16)
    try:
        globals()[JOB]()
    finally:
        print("allocations", torch.cuda.memory_stats()["allocation.all.allocated"])
    print("peak", torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved())
