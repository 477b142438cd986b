# SPDX-License-Identifier: Apache-2.0
"""optimizers.py LOG: trains a small network with one optimizer after the other, and logs for each,
after its first step, where its state and the gradients are: [address, module, name of the state],
module null for what is of all parameters together."""
import json
import sys
import time

import torch
from torch import nn, optim

WIDTH, WORDS = 64, 100


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.up = nn.Linear(WIDTH, 2 * WIDTH)
        self.down = nn.Linear(2 * WIDTH, WIDTH)

    def forward(self, x):
        return x + self.down(torch.relu(self.up(self.norm(x))))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(3))
        self.head = nn.Linear(WIDTH, WORDS)

    def forward(self, tokens):
        x = self.words(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


class Factored(optim.Optimizer):
    """Keeps what others keep as a whole by rows and columns, masters, a list and a tuple."""

    def __init__(self, parameters):
        super().__init__(parameters, {"lr": 0.1})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                state = self.state[p]
                if not state:
                    state["row"] = torch.zeros(p.shape[:1], device=p.device)
                    state["master"] = p.detach().clone().float()
                    state["past"] = [torch.zeros_like(p) for _ in range(2)]
                    state["ends"] = torch.zeros_like(p), torch.zeros_like(p)
                p.add_(p.grad, alpha=-group["lr"])


class Flat(optim.Optimizer):
    """Keeps the state of all parameters under the first one, as LBFGS does, which ends early without values."""

    def __init__(self, parameters):
        super().__init__(parameters, {"lr": 0.1})

    @torch.no_grad()
    def step(self, closure=None):
        parameters = self.param_groups[0]["params"]
        past = torch.cat([p.grad.flatten() for p in parameters])
        self.state[parameters[0]] |= {"past": past, "scale": torch.ones((), device=past.device)}


def by_shape(parameters):
    """As training scripts group them for weight decay: the order is not the model's."""
    return [{"params": [p for p in parameters if p.dim() > 1]},
            {"params": [p for p in parameters if p.dim() < 2], "weight_decay": 0.0}]


OPTIMIZERS = {
    "AdamW, foreach": lambda p: optim.AdamW(by_shape(p), foreach=True),
    "AdamW, fused": lambda p: optim.AdamW(p, fused=True),
    "AdamW, plain": lambda p: optim.AdamW(list(reversed(p)), foreach=False),
    "SGD, foreach": lambda p: optim.SGD(p, lr=0.1, momentum=0.9),
    "SGD, plain": lambda p: optim.SGD(p, lr=0.1, momentum=0.9, foreach=False),
    "Adagrad": optim.Adagrad,
    "RMSprop": lambda p: optim.RMSprop(p, momentum=0.9, centered=True),
    "LBFGS": lambda p: optim.LBFGS(p, max_iter=1),
    "Factored": Factored,
    "Flat": Flat,
}


def tensors_in(value):
    if isinstance(value, torch.Tensor):
        return [value] if value.is_cuda else []
    return [t for item in value for t in tensors_in(item)] if isinstance(value, (list, tuple)) else []


def train(name, make):
    model = Net().cuda()
    parameters = list(model.parameters())
    optimizer = make(parameters)

    def closure():
        optimizer.zero_grad()
        loss = model(torch.zeros(2, 8, dtype=torch.long, device="cuda")).mean()
        loss.backward()
        return loss

    if name == "LBFGS":
        optimizer.step(closure)
    else:
        closure()
        optimizer.step()
    torch.zeros(1, device="cuda")
    modules = {p: path.rpartition(".")[0] for path, p in model.named_parameters()}
    state = [[t.untyped_storage().data_ptr(), None if name in ("LBFGS", "Flat") else modules[p], key]
             for p, kept in optimizer.state.items() for key, value in kept.items()
             for t in tensors_in(value)]
    gradients = [[p.grad.data_ptr(), modules[p], None] for p in parameters]
    return {"optimizer": name, "time_ns": time.monotonic_ns(), "state": state,
            "gradients": gradients}


def main():
    with open(sys.argv[1], "w", encoding="utf-8") as log:
        for name, make in OPTIMIZERS.items():
            print(json.dumps(train(name, make)), file=log)


main()
