# SPDX-License-Identifier: Apache-2.0
"""Generates tokens with caches of keys and values of four kinds: one that grows, one of fixed size, one that beams share, and
one of the program's own class, whose own method makes the tensors."""
import torch
from transformers import Qwen2Config, Qwen2ForCausalLM
from transformers.cache_utils import Cache, DynamicLayer


class Named:
    """Stands before the cache's own class among the bases."""


class Grown(Named, DynamicLayer):
    def update(self, key_states, value_states, *args, **kwargs):
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        return self.append(key_states * 1, value_states * 1)

    def append(self, keys, values):
        self.keys = torch.cat([self.keys, keys], dim=-2)
        self.values = torch.cat([self.values, values], dim=-2)
        return self.keys, self.values


LAYERS = 2
model = Qwen2ForCausalLM(Qwen2Config(
    vocab_size=512, hidden_size=256, intermediate_size=512, num_hidden_layers=LAYERS, num_attention_heads=4,
    num_key_value_heads=4)).cuda().eval()
prompt = torch.arange(256).view(4, 64).cuda()
for choices in ({}, {"cache_implementation": "static", "disable_compile": True}, {"num_beams": 2},
                {"past_key_values": Cache(layers=[Grown() for _ in range(LAYERS)])}):
    model.generate(prompt, max_new_tokens=5, do_sample=False, pad_token_id=0, **choices)
