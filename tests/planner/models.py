# SPDX-License-Identifier: Apache-2.0
"""Models of the kinds that people train, with random weights: make(name, device) -> module, and a function
that makes a batch's loss."""
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint


class Attention(nn.Module):
    """fused: by scaled_dot_product_attention; else scores, softmax and product one by one."""

    def __init__(self, width, heads, fused=True, bias=True, dropout=0.0):
        super().__init__()
        self.heads, self.fused = heads, fused
        self.qkv, self.out = nn.Linear(width, 3 * width, bias=bias), nn.Linear(width, width, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (part.view(batch, length, self.heads, -1).transpose(1, 2)
                   for part in self.qkv(x).chunk(3, dim=-1))
        if self.fused:
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            scores = (q @ k.transpose(-2, -1)) * (width // self.heads) ** -0.5
            y = self.dropout(scores.softmax(dim=-1)) @ v
        return self.out(y.transpose(1, 2).reshape(batch, length, width))


class Scores(nn.Module):
    """Attention that is written out. kind: masked (a causal buffer), decay (a factor of heads and positions, made in each forward),
    float (softmax in 32 bits), added (baddbmm), biased (by heads and positions, for PyTorch's fused operator), linear (keys times values)."""

    def __init__(self, width, heads, kind, longest):
        super().__init__()
        self.heads, self.kind = heads, kind
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        if kind == "masked":
            self.register_buffer("mask", torch.ones(longest, longest, dtype=torch.bool).tril())

    def attend(self, q, k, v):
        length, part = q.shape[-2], q.shape[-1] ** -0.5
        if self.kind == "linear":
            return q.softmax(dim=-1) @ (k.transpose(-2, -1).softmax(dim=-1) @ v)
        if self.kind == "biased":
            away = torch.arange(length, device=q.device)
            heads = torch.arange(1.0, self.heads + 1, device=q.device).to(q.dtype)
            bias = (away[None, :] - away[:, None]).to(q.dtype) * heads[:, None, None]
            return F.scaled_dot_product_attention(q, k, v, attn_mask=bias.expand(len(q), -1, -1, -1))
        if self.kind == "added":
            flat = [x.reshape(-1, *x.shape[2:]) for x in (q, k, v)]
            bias = torch.zeros(len(flat[0]), length, length, device=q.device, dtype=q.dtype)
            scores = torch.baddbmm(bias, flat[0], flat[1].transpose(1, 2), alpha=part)
            return torch.bmm(scores.softmax(dim=-1), flat[2]).view_as(q)
        scores = (q @ k.transpose(-2, -1)) * part
        if self.kind == "masked":
            scores = scores.masked_fill(~self.mask[:length, :length], float("-inf"))
        if self.kind == "decay":
            factors = torch.full((self.heads, length, length), 0.9, device=q.device, dtype=q.dtype)
            scores = scores * factors
        if self.kind == "float":
            return scores.softmax(dim=-1, dtype=torch.float32).to(q.dtype) @ v
        return scores.softmax(dim=-1) @ v

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (y.view(batch, length, self.heads, -1).transpose(1, 2) for y in self.qkv(x).chunk(3, dim=-1))
        return self.out(self.attend(q, k, v).transpose(1, 2).reshape(batch, length, width))


class FloatNorm(nn.Module):
    """A norm that is written out, in 32 bits."""

    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        wide = x.float()
        return self.weight * (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)).to(x.dtype)


class Gelu(nn.Module):
    def __init__(self, width, dropout=0.0):
        super().__init__()
        self.up, self.down, self.act = nn.Linear(width, 4 * width), nn.Linear(4 * width, width), nn.GELU()
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        return self.dropout(self.down(self.act(self.up(x))))


class Swiglu(nn.Module):
    def __init__(self, width):
        super().__init__()
        inner = 8 * width // 3 // 128 * 128
        self.gate, self.up, self.down = (nn.Linear(a, b, bias=False)
                                         for a, b in ((width, inner), (width, inner), (inner, width)))

    def forward(self, x):
        return self.down(F.silu(self.gate(x)) * self.up(x))


class Experts(nn.Module):
    """Every expert takes an equal part of the tokens: the router's choice has no say in shapes."""

    def __init__(self, width, n):
        super().__init__()
        self.router, self.experts = nn.Linear(width, n), nn.ModuleList(Gelu(width) for _ in range(n))

    def forward(self, x):
        flat = x.reshape(-1, x.shape[-1])
        weights = self.router(flat).softmax(dim=-1)
        parts = [expert(part) for expert, part in zip(self.experts, flat.chunk(len(self.experts)))]
        return (torch.cat(parts) * weights[:, :1]).view_as(x)


class Block(nn.Module):
    def __init__(self, width, attention, feed, norm):
        super().__init__()
        self.norm1, self.attention, self.norm2, self.feed = norm(width), attention, norm(width), feed

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.feed(self.norm2(x))


class Language(nn.Module):
    def __init__(self, blocks, width, vocabulary, length, norm=nn.LayerNorm, positions=True):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.positions = nn.Embedding(length, width) if positions else None
        self.layers, self.norm = nn.ModuleList(blocks), norm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)

    def forward(self, tokens):
        x = self.tokens(tokens)
        if self.positions is not None:
            x = x + self.positions(torch.arange(tokens.shape[1], device=tokens.device))
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))


class Encoder(nn.Module):
    """torch.nn's own layers, over patches of images."""

    def __init__(self, depth, width):
        super().__init__()
        self.patches = nn.Conv2d(3, width, 16, 16)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(width, 8, 4 * width, batch_first=True, norm_first=True, activation="gelu")
            for _ in range(depth))
        self.head = nn.Linear(width, 1000)

    def forward(self, images):
        x = self.patches(images).flatten(2).transpose(1, 2)
        for layer in self.layers:
            x = layer(x)
        return self.head(x.mean(dim=1))


class Residual(nn.Module):
    def __init__(self, width, norm, act):
        super().__init__()
        self.conv1, self.norm1 = nn.Conv2d(width, width, 3, padding=1, bias=False), norm(width)
        self.conv2, self.norm2 = nn.Conv2d(width, width, 3, padding=1, bias=False), norm(width)
        self.act = act

    def forward(self, x):
        return self.act(x + self.norm2(self.conv2(self.act(self.norm1(self.conv1(x))))))


class Images(nn.Module):
    def __init__(self, widths, depth, norm, act):
        super().__init__()
        self.stem = nn.Conv2d(3, widths[0], 7, stride=2, padding=3, bias=False)
        layers = []
        for before, width in zip([widths[0], *widths], widths):
            if before != width:
                layers.append(nn.Conv2d(before, width, 1, stride=2))
            layers += [Residual(width, norm, act) for _ in range(depth)]
        self.layers, self.head = nn.ModuleList(layers), nn.Linear(widths[-1], 1000)

    def forward(self, images):
        x = self.stem(images)
        for layer in self.layers:
            x = layer(x)
        return self.head(x.mean(dim=(2, 3)))


class Recurrent(nn.Module):
    def __init__(self, vocabulary, width, depth):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.lstm = nn.LSTM(width, width, depth, batch_first=True)
        self.head = nn.Linear(width, vocabulary)

    def forward(self, tokens):
        return self.head(self.lstm(self.tokens(tokens))[0])


def perceptron(width, depth):
    return nn.Sequential(*(nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.LayerNorm(width))
                           for _ in range(depth)), nn.Linear(width, 1000))


VOCABULARY = 16384
TEXT, IMAGE, VECTOR, SIGNAL, ROWS = "text", "image", "vector", "signal", "rows"
# name: (what goes in, batch, length, how to make it)
MODELS = {
    "gpt": (TEXT, 8, 512, lambda length: Language(
        (Block(768, Attention(768, 12), Gelu(768), nn.LayerNorm) for _ in range(10)), 768, VOCABULARY, length)),
    "gpt-small": (TEXT, 4, 256, lambda length: Language(
        (Block(1024, Attention(1024, 16), Gelu(1024), nn.LayerNorm) for _ in range(16)), 1024, VOCABULARY, length)),
    "llama": (TEXT, 4, 1024, lambda length: Language(
        (Block(1024, Attention(1024, 16, bias=False), Swiglu(1024), nn.RMSNorm) for _ in range(12)), 1024,
        VOCABULARY, length, nn.RMSNorm, positions=False)),
    "scores": (TEXT, 4, 512, lambda length: Language(
        (Block(512, Attention(512, 8, fused=False, dropout=0.1), Gelu(512, 0.1), nn.LayerNorm) for _ in range(8)),
        512, VOCABULARY, length)),
    "written": (TEXT, 2, 2048, lambda length: Language(
        (Block(512, Scores(512, 16, "decay", length), Swiglu(512), FloatNorm) for _ in range(4)), 512, VOCABULARY, length, FloatNorm)),
    "experts": (TEXT, 8, 512, lambda length: Language(
        (Block(512, Attention(512, 8), Experts(512, 8), nn.LayerNorm) for _ in range(8)), 512, VOCABULARY, length)),
    "vit": (IMAGE, 32, 224, lambda length: Encoder(8, 768)),
    "conv": (IMAGE, 32, 128, lambda length: Images([64, 128, 256, 512], 3, nn.BatchNorm2d, nn.ReLU())),
    "diffusion": (IMAGE, 16, 128, lambda length: Images(
        [128, 256, 512], 3, lambda width: nn.GroupNorm(32, width), nn.SiLU())),
    "lstm": (TEXT, 32, 256, lambda length: Recurrent(VOCABULARY, 1024, 3)),
    "perceptron": (VECTOR, 4096, 2048, lambda length: perceptron(2048, 16)),
}


def make(name, device, length=None):
    with torch.device(device):
        return MODELS[name][3](length or MODELS[name][2])


def batch(name, size, length):
    kind = MODELS[name][0]
    if kind == TEXT:
        return torch.randint(0, VOCABULARY, (size, length), device="cuda")
    shape = {IMAGE: (size, 3, length, length), VECTOR: (size, length), SIGNAL: (size, 1, length), ROWS: (size, length, MODELS[name][2])}[kind]
    return torch.randn(shape, device="cuda")


def loss_of(head, rows, tokens):
    return F.cross_entropy(head(rows), tokens, reduction="sum")


def chunked_loss(head, rows, tokens, chunks):
    """The loss of a head that is not the model's, over one part of the tokens after the other."""
    parts = zip(rows.flatten(0, 1).chunk(chunks), tokens.flatten().chunk(chunks))
    return sum(checkpoint(loss_of, head, *part, use_reentrant=False) for part in parts) / tokens.numel()


def loss(name, model, data, head=None, chunks=1):
    out = model(data)
    if head:
        return chunked_loss(head, out, data, chunks)
    if MODELS[name][0] == TEXT:
        return F.cross_entropy(out.flatten(0, 1), data.flatten())
    return F.cross_entropy(out, torch.zeros(len(out), dtype=torch.long, device="cuda"))
