# SPDX-License-Identifier: Apache-2.0
"""kv_caches.py KIND: a program that generates 20 tokens from a cache of one kind. It ends at its peak and prints the bytes that the
cache's tensors have in PyTorch's allocator."""
import sys

import torch
from torch import nn

LAYERS, HEADS, WIDTH, TEXT, TOKENS = 3, 4, 32, 200, 20


class KVCache(nn.Module):
    """As torchtune and gpt-fast have it: buffers."""

    def __init__(self):
        super().__init__()
        for name in ("k_cache", "v_cache"):
            self.register_buffer(name, torch.zeros(8, HEADS, TEXT + TOKENS, WIDTH))


class Attention(nn.Module):
    """As vLLM has it: the engine gives each layer its part of a pool."""

    def __init__(self, kind):
        super().__init__()
        self.kv_cache = KVCache() if kind == "buffers" else None

    def forward(self, x):
        return x * 2


def own(kind):
    with torch.device("cuda"):
        model = nn.Sequential(*(Attention(kind) for _ in range(LAYERS)), nn.Linear(WIDTH, WIDTH))
        x = torch.zeros(8, WIDTH)
    model(x)
    if kind == "pool":
        pool = torch.zeros(LAYERS * 2 * 2**20, dtype=torch.int8, device="cuda")
        for i in range(LAYERS):
            model[i].kv_cache = [pool[i * 2**21:(i + 1) * 2**21].view(torch.float32).view(2, -1)]
        kept = [pool]
    else:
        kept = [buffer for layer in model[:LAYERS] for buffer in layer.kv_cache.buffers()]
    for _ in range(TOKENS):
        model(x)
    return kept, model


def of_transformers(kind):
    from transformers import DynamicCache, Qwen2Config, Qwen2ForCausalLM, StaticCache

    class Mine(DynamicCache):
        pass

    config = Qwen2Config(hidden_size=HEADS * WIDTH, intermediate_size=256, num_hidden_layers=LAYERS, num_attention_heads=HEADS,
                         num_key_value_heads=HEADS, vocab_size=1000)
    with torch.device("cuda"):
        model = Qwen2ForCausalLM(config).eval()
    cache = {"dynamic": lambda: DynamicCache(config=config), "mine": Mine,
             "static": lambda: StaticCache(config=config, max_cache_len=TEXT + TOKENS)}[kind]()
    tokens = torch.randint(0, 1000, (8, TEXT), device="cuda")
    for _ in range(TOKENS):
        logits = model(input_ids=tokens, past_key_values=cache, use_cache=True, logits_to_keep=1).logits
        tokens = logits[:, -1].argmax(-1, keepdim=True)
    return [tensor for layer in cache.layers for tensor in (layer.keys, layer.values)], model


kind = sys.argv[1]
with torch.inference_mode():
    kept, model = own(kind) if kind in ("buffers", "pool") else of_transformers(kind)
    highest = torch.zeros(300 << 20, dtype=torch.int8, device="cuda")  # so that the peak is here
print("kept", sum((tensor.untyped_storage().nbytes() + 511) // 512 * 512 for tensor in kept))
