# SPDX-License-Identifier: Apache-2.0
"""kv_dead.py KIND BATCH LENGTH: generates from a cache that fills the card: modules' own buffers, made at once, or one of transformers',
made in the first forward. Ends by printing "end"."""
import sys

import torch
from torch import nn

kind, batch, longest = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
LAYERS, HEADS, WIDTH = 4, 8, 64


class KVCache(nn.Module):
    def __init__(self):
        super().__init__()
        for name in ("k_cache", "v_cache"):
            self.register_buffer(name, torch.zeros(batch, HEADS, longest, WIDTH))


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(HEADS * WIDTH, 3 * HEADS * WIDTH), nn.Linear(HEADS * WIDTH, HEADS * WIDTH)
        self.kv_cache = KVCache()

    def forward(self, x, at):
        q, k, v = self.qkv(x).view(batch, -1, 3, HEADS, WIDTH).permute(2, 0, 3, 1, 4)
        end = at + x.shape[1]
        self.kv_cache.k_cache[:, :, at:end], self.kv_cache.v_cache[:, :, at:end] = k, v
        y = nn.functional.scaled_dot_product_attention(q, self.kv_cache.k_cache[:, :, :end], self.kv_cache.v_cache[:, :, :end])
        return x + self.out(y.transpose(1, 2).reshape(x.shape))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(Attention() for _ in range(LAYERS))

    def forward(self, x, at):
        for layer in self.layers:
            x = layer(x, at)
        return x[:, -1:]


def own():
    with torch.device("cuda"):
        model, x = Model(), torch.zeros(batch, 256, HEADS * WIDTH)
    for i in range(4):
        x = model(x, 255 + i if i else 0)


def of_transformers():
    from transformers import Qwen2Config, Qwen2ForCausalLM, StaticCache
    config = Qwen2Config(hidden_size=HEADS * WIDTH, intermediate_size=1024, num_hidden_layers=LAYERS, num_attention_heads=HEADS,
                         num_key_value_heads=HEADS, vocab_size=1000)
    with torch.device("cuda"):
        model = Qwen2ForCausalLM(config).eval()
        tokens = torch.zeros(batch, 64, dtype=torch.long)
    cache = StaticCache(config=config, max_cache_len=longest)
    for _ in range(4):
        tokens = model(input_ids=tokens, past_key_values=cache, use_cache=True, logits_to_keep=1).logits[:, -1].argmax(-1, keepdim=True)


with torch.inference_mode():
    own() if kind == "own" else of_transformers()
print("end")
