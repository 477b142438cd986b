# SPDX-License-Identifier: Apache-2.0
"""shaped.py SHAPE [OPTION]...: tests/planner/changed.py with a model of SHAPES, whose factors coincide: the sequence is as long as the
model is wide, four of one are three of the other, logits are as large as a parameter ..."""
import functools
import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "planner"))
import changed
import kinds
import models


class Tanh(nn.Module):
    """GELU, written out."""

    def __init__(self, width, inner):
        super().__init__()
        self.up, self.down = nn.Linear(width, inner), nn.Linear(inner, width)

    def forward(self, x):
        x = self.up(x)
        return self.down(0.5 * x * (1.0 + torch.tanh(0.79788456 * (x + 0.044715 * torch.pow(x, 3.0)))))


class Along(nn.Module):
    """A convolution along the sequence."""

    def __init__(self, width, inner):
        super().__init__()
        self.up, self.down = nn.Conv1d(width, inner, 3, padding=1), nn.Conv1d(inner, width, 1)

    def forward(self, x):
        return self.down(F.silu(self.up(x.transpose(1, 2)))).transpose(1, 2)


FEEDS = {"gelu": lambda width, inner: nn.Sequential(nn.Linear(width, inner), nn.GELU(), nn.Linear(inner, width)),
         "tanh": Tanh, "swiglu": lambda width, inner: models.Swiglu(width), "along": Along}
# batch, length, width, heads, inner, vocabulary, attention, feed, norm: what coincides
SHAPES = {
    "d-is-s": (4, 512, 512, 8, 2048, 8192, "fused", "gelu", nn.LayerNorm),
    "d-is-s-scores": (4, 512, 512, 4, 2048, 8192, "masked", "tanh", nn.LayerNorm),
    "4d-is-3s": (4, 1024, 768, 12, 3072, 8192, "masked", "tanh", nn.LayerNorm),
    "4d-is-3s-fused": (4, 1024, 768, 12, 3072, 8192, "fused", "gelu", nn.LayerNorm),
    "inner-is-s": (4, 1024, 256, 4, 1024, 8192, "float", "gelu", models.FloatNorm),
    "inner-is-heads-s": (8, 512, 512, 4, 2048, 8192, "decay", "gelu", nn.LayerNorm),
    "head-is-s": (32, 128, 1024, 8, 4096, 8192, "added", "swiglu", nn.RMSNorm),
    "vocabulary-is-d": (4, 512, 1024, 16, 4096, 1024, "masked", "gelu", nn.LayerNorm),
    "vocabulary-is-s": (4, 1024, 512, 8, 2048, 1024, "decay", "swiglu", models.FloatNorm),
    "tokens-are-vocabulary": (8, 512, 512, 8, 2048, 4096, "float", "tanh", nn.LayerNorm),
    "batch-is-s": (128, 128, 512, 8, 2048, 8192, "masked", "gelu", nn.LayerNorm),
    "bias": (4, 512, 512, 8, 2048, 8192, "biased", "gelu", nn.LayerNorm),
    "linear": (4, 512, 1024, 2, 2048, 8192, "linear", "along", nn.LayerNorm),
}
LAYERS = 4


def model(shape, longest):
    _, _, width, heads, inner, vocabulary, attention, feed, norm = SHAPES[shape]
    return models.Language(
        (models.Block(width, models.Attention(width, heads) if attention == "fused" else models.Scores(width, heads, attention, longest),
                      FEEDS[feed](width, inner), norm) for _ in range(LAYERS)), width, vocabulary, longest, norm)


for name, parts in SHAPES.items():
    models.MODELS[name] = (models.TEXT, parts[0], parts[1], functools.partial(model, name))
models.MODELS.update({name: parts[1:] for name, parts in kinds.KINDS.items()})

if __name__ == "__main__":
    asked = sys.argv[1:2]
    models.VOCABULARY = next((one[name][at] for one, at in ((SHAPES, 5), (kinds.KINDS, 0)) for name in asked if name in one), 8192)
    changed.main()
