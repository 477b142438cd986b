# SPDX-License-Identifier: Apache-2.0
"""The training loop whose steps the benchmark times: an 8-layer Qwen2, batch 4x256, AdamW. Prints
the median step in milliseconds; or, for each number on its input, takes so many steps and prints
theirs. --record: with PyTorch's own recorder and its Python stacks."""
import statistics
import sys
import time

import torch
from transformers import Qwen2Config, Qwen2ForCausalLM

WARM_UP, STEPS = 20, 150

config = Qwen2Config(hidden_size=512, intermediate_size=2048, num_hidden_layers=8,
                     num_attention_heads=8, num_key_value_heads=2, vocab_size=32000,
                     tie_word_embeddings=False, use_cache=False)
with torch.device("cuda"):
    model = Qwen2ForCausalLM(config)
optimizer = torch.optim.AdamW(model.parameters())
tokens = torch.randint(0, config.vocab_size, (4, 256), device="cuda")
if "--record" in sys.argv:
    torch.cuda.memory._record_memory_history(stacks="python")


def step():
    begin = time.perf_counter()
    model(input_ids=tokens, labels=tokens).loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    torch.cuda.synchronize()
    return 1000 * (time.perf_counter() - begin)


def median_step(steps):
    return statistics.median(step() for _ in range(steps))


median_step(WARM_UP)
if "--in-turns" in sys.argv:
    for line in sys.stdin:
        print(median_step(int(line)), flush=True)
else:
    print(median_step(STEPS))
