# SPDX-License-Identifier: Apache-2.0
"""trainers.py NAME [follow]: a loop as well-known trainers write it, in which a variable keeps what is not used any more; with
"follow", the advice to delete it is followed. Prints the peak."""
import sys

import torch
from torch import nn
from torch.nn import functional

follow = "follow" in sys.argv[2:]
torch.manual_seed(0)


class Model(nn.Module):
    def __init__(self, width=256, out=4096, layers=2):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(layers))
        self.head = nn.Linear(width, out)

    def forward(self, x, y=None):
        for layer in self.layers:
            x = functional.gelu(layer(x))
        logits = self.head(x)
        loss = None if y is None else functional.cross_entropy(logits, y)
        return logits, loss


def make(rows=2048, width=256, out=4096):
    return torch.randn(rows, width, device="cuda"), torch.randint(0, out, (rows,), device="cuda")


def setup(**options):
    model = Model(**options).cuda()
    return model, torch.optim.AdamW(model.parameters(), lr=1e-3)


def nanogpt():
    model, optimizer = setup()
    x, y = make()
    for _ in range(4):
        logits, loss = model(x, y)
        if follow:
            del logits
        x, y = make()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)


def huggingface():
    model, optimizer = setup()

    def compute_loss(inputs):
        outputs = model(inputs["x"])
        return functional.cross_entropy(outputs[0], inputs["y"]), {"logits": outputs[0]}

    def training_step(inputs):
        loss, outputs = compute_loss(inputs)
        if follow:
            del outputs
        loss.backward()
        return loss.detach()

    total = 0
    for _ in range(4):
        total += training_step(dict(zip("xy", make())))
        optimizer.step()
        optimizer.zero_grad()


def lightning():
    model, optimizer = setup()

    def training_step(batch):
        logits, loss = model(*batch)
        return {"loss": loss, "predictions": logits.softmax(-1)}

    for _ in range(4):
        outputs = training_step(make())
        accuracy = outputs["predictions"].max()
        if follow:
            del outputs["predictions"]
        outputs["loss"].backward()
        optimizer.step()
        optimizer.zero_grad()
        print("accuracy", float(accuracy))


def batches():
    """The batch before is still named while the next is moved to the card."""
    model, optimizer = setup(out=64)
    source = [torch.randn(16384, 256) for _ in range(4)]
    for host in source:
        batch = host.cuda()
        features = batch * 0.5
        if follow:
            del batch
        loss = model(features)[0].square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


def distillation():
    teacher, (model, optimizer) = Model().cuda(), setup()
    for _ in range(4):
        x, y = make()
        with torch.no_grad():
            wanted = teacher(x)[0]
        target = wanted.softmax(-1)
        if follow:
            del wanted
        logits, loss = model(x, y)
        (loss + functional.mse_loss(logits.softmax(-1), target)).backward()
        optimizer.step()
        optimizer.zero_grad()


def gan():
    generator, optimizer = setup(out=4096)
    critic = Model(width=4096, out=1, layers=1).cuda()
    for _ in range(3):
        noise = torch.randn(2048, 256, device="cuda")
        with torch.no_grad():
            old = generator(noise)[0]
        score = critic(old)[0].mean().detach()
        if follow:
            del old
        loss = critic(generator(noise)[0])[0].mean() - score
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


def evaluation():
    model, _ = setup()
    kept = []
    with torch.no_grad():
        for _ in range(4):
            logits, _ = model(make()[0])
            kept.append(logits.argmax(-1))
            if follow:
                del logits
            logits, _ = model(make()[0])
            kept.append(logits.argmax(-1))
            if follow:
                del logits


def rollouts():
    model, optimizer = setup(out=64)
    for _ in range(3):
        frames = torch.randn(16384, 256, device="cuda")
        states = (frames - frames.mean()) / frames.std()
        if follow:
            del frames
        for _ in range(2):
            loss = model(states)[0].square().mean()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()


def diffusion():
    model, optimizer = setup(out=256)
    for _ in range(4):
        images = torch.randn(16384, 256, device="cuda")
        noise = torch.randn_like(images)
        noisy = images * 0.9 + noise * 0.1
        if follow:
            del images
        loss = functional.mse_loss(model(noisy)[0], noise)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


def finetuning():
    """Weights that were only for the start stay to the end."""
    loaded = torch.randn(8192, 1024, device="cuda")
    model, optimizer = setup()
    with torch.no_grad():
        model.head.weight.copy_(loaded[:4096, :256])
    if follow:
        del loaded
    for _ in range(4):
        logits, loss = model(*make())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


TRAINERS = {function.__name__: function for function in
            (nanogpt, huggingface, lightning, batches, distillation, gan, evaluation, rollouts, diffusion, finetuning)}
if __name__ == "__main__":
    TRAINERS[sys.argv[1]]()
    print("peak", torch.cuda.max_memory_allocated())
