# SPDX-License-Identifier: Apache-2.0
"""Models of other kinds than shaped.py's language models, whose factors coincide: patches, channels, rows, batch, heads or vocabulary are
as many as the model is wide, or something grows otherwise than by rows (windows, pairs, a batch beside itself)."""
import functools

import models
import torch
import torch.nn.functional as F
from torch import nn


class Residuals(nn.Module):
    """Layers, each beside what it gets, between an entry and an exit."""

    def __init__(self, enter, layers, leave):
        super().__init__()
        self.enter, self.layers, self.leave = enter, nn.ModuleList(layers), leave

    def forward(self, x):
        x = self.enter(x)
        for layer in self.layers:
            x = x + layer(x)
        return self.leave(x)


class Do(nn.Module):
    """A function as a module."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


def normed(norm, *layers):
    return nn.Sequential(norm, *layers)


def feed(width, inner=None):
    return normed(nn.LayerNorm(width), nn.Linear(width, inner or 4 * width), nn.GELU(), nn.Linear(inner or 4 * width, width))


def both(width, attention, inner=None):
    """An attention and a feed-forward, one after the other."""
    return [normed(nn.LayerNorm(width), attention), feed(width, inner)]


def patches(width, heads, size):
    """As many patches as the model is wide, where the image fits."""
    return Residuals(nn.Sequential(nn.Conv2d(3, width, size, size), nn.Flatten(2), Do(lambda x: x.transpose(1, 2))),
                     [part for _ in range(4) for part in both(width, models.Scores(width, heads, "plain", 0))],
                     nn.Sequential(nn.LayerNorm(width), Do(lambda x: x.mean(1)), nn.Linear(width, 1000)))


def pixels(width, norm, depth=6):
    """Convolutions whose images are as high as they have channels."""
    return Residuals(nn.Conv2d(3, width, 3, padding=1),
                     [normed(nn.Conv2d(width, width, 3, padding=1), norm(width), nn.SiLU(), nn.Conv2d(width, width, 3, padding=1))
                      for _ in range(depth)],
                     nn.Sequential(Do(lambda x: x.mean((2, 3))), nn.Linear(width, 1000)))


class Levels(nn.Module):
    """A UNet with half the pixels and twice the channels at each level."""

    def __init__(self, width, depth):
        super().__init__()
        self.enter = nn.Conv2d(3, width, 3, padding=1)
        self.down = nn.ModuleList(nn.Conv2d(width << i, width << (i + 1), 3, 2, 1) for i in range(depth))
        self.up = nn.ModuleList(nn.ConvTranspose2d(width << (i + 1), width << i, 2, 2) for i in reversed(range(depth)))
        self.join = nn.ModuleList(nn.Conv2d(width << (i + 1), width << i, 3, padding=1) for i in reversed(range(depth)))
        self.leave = nn.Linear(width, 1000)

    def forward(self, x):
        x, kept = self.enter(x), []
        for down in self.down:
            kept.append(x)
            x = F.silu(down(x))
        for up, join in zip(self.up, self.join):
            x = F.silu(join(torch.cat([up(x), kept.pop()], 1)))
        return self.leave(x.mean((2, 3)))


def wave(width, depth=6):
    """Convolutions along a signal that is as long as it has channels."""
    return Residuals(nn.Conv1d(1, width, 9, padding=4),
                     [normed(nn.GroupNorm(8, width), nn.Conv1d(width, width, 3, padding=1), nn.GELU(), nn.Conv1d(width, width, 1))
                      for _ in range(depth)],
                     nn.Sequential(Do(lambda x: x.mean(2)), nn.Linear(width, 1000)))


class Windows(nn.Module):
    """Attention within windows of the sequence: scores grow with the sequence, not with its square."""

    def __init__(self, width, heads, window):
        super().__init__()
        self.window, self.attention = window, models.Scores(width, heads, "plain", 0)

    def forward(self, x):
        return self.attention(x.reshape(-1, self.window, x.shape[-1])).view_as(x)


class Pooled(nn.Module):
    """Attention to a quarter of the sequence."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.q, self.kv, self.out = heads, nn.Linear(width, width), nn.Linear(width, 2 * width), nn.Linear(width, width)

    def forward(self, x, memory=None):
        memory = F.avg_pool1d(x.transpose(1, 2), 4).transpose(1, 2) if memory is None else memory
        q, k, v = (y.unflatten(-1, (self.heads, -1)).transpose(1, 2) for y in (self.q(x), *self.kv(memory).chunk(2, dim=-1)))
        scores = (q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5).softmax(-1)
        return self.out((scores @ v).transpose(1, 2).flatten(2))


class Latents(nn.Module):
    """A fixed number of rows looks at all of the sequence (Perceiver)."""

    def __init__(self, width, heads, rows):
        super().__init__()
        self.rows, self.cross = nn.Parameter(torch.randn(rows, width)), Pooled(width, heads)
        self.layers = nn.ModuleList(part for _ in range(4) for part in both(width, models.Scores(width, heads, "plain", 0)))

    def forward(self, x):
        y = self.rows.expand(len(x), -1, -1)
        y = y + self.cross(y, x)
        for layer in self.layers:
            y = y + layer(y)
        return x + y.mean(1, keepdim=True)


class Pairs(nn.Module):
    """A value for each pair of rows, as protein models have."""

    def __init__(self, width, inner):
        super().__init__()
        self.left, self.right = nn.Linear(width, inner), nn.Linear(width, inner)
        self.mix, self.out = nn.Linear(inner, inner), nn.Linear(inner, width)

    def forward(self, x):
        pairs = self.left(x)[:, :, None] * self.right(x)[:, None]
        return self.out(F.gelu(self.mix(pairs)).mean(2))


class Relative(nn.Module):
    """Attention with a learned bias for each head and distance, as T5 has."""

    def __init__(self, width, heads, longest):
        super().__init__()
        self.qkv, self.out, self.heads, self.longest = nn.Linear(width, 3 * width), nn.Linear(width, width), heads, longest
        self.bias = nn.Embedding(2 * longest, heads)

    def forward(self, x):
        q, k, v = (y.unflatten(-1, (self.heads, -1)).transpose(1, 2) for y in self.qkv(x).chunk(3, dim=-1))
        at = torch.arange(x.shape[1], device=x.device)
        scores = q @ k.transpose(-2, -1) + self.bias(at[:, None] - at[None] + self.longest).permute(2, 0, 1)
        return self.out((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))


class Rotary(nn.Module):
    """Turned by tables that forward makes, with one key for several queries, its scores capped by tanh."""

    def __init__(self, width, heads, groups):
        super().__init__()
        self.heads, self.groups, self.part = heads, groups, width // heads
        self.q, self.kv, self.out = nn.Linear(width, width), nn.Linear(width, 2 * groups * self.part), nn.Linear(width, width)

    def forward(self, x):
        length = x.shape[1]
        turns = torch.outer(torch.arange(length, device=x.device).float(), torch.rand(self.part // 2, device=x.device)).repeat(1, 2)
        cos, sin = turns.cos().to(x.dtype), turns.sin().to(x.dtype)
        q, k, v = (y.unflatten(-1, (-1, self.part)).transpose(1, 2) for y in (self.q(x), *self.kv(x).chunk(2, dim=-1)))
        q, k = (y * cos + torch.cat([-y[..., self.part // 2:], y[..., :self.part // 2]], -1) * sin for y in (q, k))
        k, v = (y.repeat_interleave(self.heads // self.groups, 1) for y in (k, v))
        scores = torch.tanh(q @ k.transpose(-2, -1) * self.part ** -0.5 / 30) * 30
        return self.out((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))


class Unrolled(nn.Module):
    """A cell for each step of the sequence."""

    def __init__(self, vocabulary, width):
        super().__init__()
        self.tokens, self.cell, self.head = nn.Embedding(vocabulary, width), nn.GRUCell(width, width), nn.Linear(width, vocabulary)

    def forward(self, tokens):
        x, states = self.tokens(tokens), []
        for step in range(x.shape[1]):
            states.append(self.cell(x[:, step], states[-1] if states else None))
        return self.head(torch.stack(states, 1))


class Translator(nn.Module):
    """An encoder and a decoder; `part`: the length of the decoder's text relative to the encoder's."""

    def __init__(self, width, heads, part):
        super().__init__()
        self.part, self.tokens = part, nn.Embedding(models.VOCABULARY, width)
        self.layers = nn.ModuleList(nn.TransformerEncoderLayer(width, heads, 4 * width, batch_first=True) for _ in range(3))
        self.decode = nn.ModuleList(nn.TransformerDecoderLayer(width, heads, 4 * width, batch_first=True) for _ in range(3))
        self.head = nn.Linear(width, models.VOCABULARY)

    def forward(self, tokens):
        x, y = self.tokens(tokens), self.tokens(tokens[:, :int(tokens.shape[1] * self.part)].flip(1))
        for layer in self.layers:
            x = layer(x)
        for layer in self.decode:
            y = layer(y, x)
        y = self.head(y)
        return F.pad(y, (0, 0, 0, tokens.shape[1] - y.shape[1])) if self.part < 1 else y


class Towers(nn.Module):
    """Two encoders of one batch each, and a loss over all pairs, which grows with the square of the batch."""

    def __init__(self, width):
        super().__init__()
        self.layers = nn.ModuleList(nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width)) for _ in range(2))

    def forward(self, x):
        left, right = (F.normalize(layer(x), dim=-1) for layer in self.layers)
        logits = left @ right.T / 0.07
        return logits + F.log_softmax(logits, 0)


class Mixer(nn.Module):
    """Linear layers along rows and along columns, as many of the one as of the other."""

    def __init__(self, width):
        super().__init__()
        self.along, self.across = feed(width), feed(width)

    def forward(self, x):
        return self.across(x + self.along(x.transpose(1, 2)).transpose(1, 2))


class Graph(nn.Module):
    """A layer of a graph network whose edges are a matrix that is made of the nodes."""

    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)

    def forward(self, x):
        edges = torch.sigmoid(x @ x.transpose(1, 2))
        return F.relu(self.linear(edges @ x))


class Beside(nn.Module):
    """Layers each beside what it gets."""

    def __init__(self, *layers):
        super().__init__()
        self.parts = nn.ModuleList(layers)

    def forward(self, x):
        for layer in self.parts:
            x = x + layer(x)
        return x


def text(width, make):
    """A language model of four layers with such an attention."""
    return lambda length: models.Language((Beside(*both(width, make(length))) for _ in range(4)), width, models.VOCABULARY, length)


TEXT, IMAGE, VECTOR, SIGNAL, ROWS = models.TEXT, models.IMAGE, models.VECTOR, models.SIGNAL, models.ROWS
# name: (vocabulary, what goes in, batch, length, how to make it)
KINDS = {
    "patches-are-d": (0, IMAGE, 8, 256, lambda length: patches(256, 8, 16)),
    "pixels-are-channels": (0, IMAGE, 8, 64, lambda length: pixels(64, functools.partial(nn.GroupNorm, 8))),
    "batch-is-channels": (0, IMAGE, 64, 32, lambda length: pixels(64, nn.BatchNorm2d)),
    "unet": (0, IMAGE, 8, 128, lambda length: Levels(32, 4)),
    "wave-is-channels": (0, SIGNAL, 32, 512, lambda length: wave(512)),
    "windows": (8192, TEXT, 8, 512, text(512, lambda length: Windows(512, 16, 128))),
    "heads-are-window": (8192, TEXT, 8, 512, text(256, lambda length: Windows(256, 32, 32))),
    "pooled": (8192, TEXT, 4, 1024, text(512, lambda length: Pooled(512, 16))),
    "latents-are-s": (8192, TEXT, 4, 512, text(512, lambda length: Latents(512, 16, 512))),
    "pairs": (8192, TEXT, 2, 256, text(256, lambda length: Pairs(256, 64))),
    "distances": (2048, TEXT, 8, 512, text(512, lambda length: Relative(512, 8, length))),
    "capped": (2048, TEXT, 4, 512, text(512, lambda length: Rotary(512, 16, 4))),
    "batch-is-heads": (8192, TEXT, 16, 256, text(512, lambda length: models.Scores(512, 16, "masked", length))),
    "vocabulary-is-4d": (1024, TEXT, 16, 512, text(256, lambda length: models.Scores(256, 4, "plain", length))),
    "unrolled": (512, TEXT, 256, 64, lambda length: Unrolled(512, 256)),
    "recurrent-is-s": (512, TEXT, 64, 512, lambda length: models.Recurrent(512, 512, 2)),
    "translator": (4096, TEXT, 8, 256, lambda length: Translator(512, 8, 1)),
    "translator-half": (4096, TEXT, 8, 512, lambda length: Translator(512, 8, 0.5)),
    "towers": (0, VECTOR, 2048, 1024, lambda length: Towers(1024)),
    "mixer": (0, ROWS, 16, 256, lambda length: Residuals(nn.Identity(), [Mixer(256) for _ in range(4)], Do(lambda x: x.mean(1)))),
    "graph": (0, ROWS, 8, 512, lambda length: Residuals(nn.Identity(), [Graph(512) for _ in range(6)], Do(lambda x: x.mean(1)))),
    "experts-are-heads": (8192, TEXT, 8, 512, text(512, lambda length: nn.Sequential(models.Attention(512, 8), models.Experts(512, 8)))),
}
