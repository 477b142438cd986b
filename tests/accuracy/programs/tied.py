# SPDX-License-Identifier: Apache-2.0
"""A language model whose output layer is its embedding; Adafactor-like state by torch's own."""
import torch
from transformers import GPT2Config, GPT2LMHeadModel

model = GPT2LMHeadModel(GPT2Config(n_embd=256, n_layer=4, n_head=4, vocab_size=8000,
                                   use_cache=False)).cuda()
model.train()
optimizer = torch.optim.Adagrad(model.parameters(), lr=1e-3)
for step in range(4):
    batch = {"input_ids": torch.randint(8000, (8, 128)), "attention_mask": torch.ones(8, 128)}
    batch = {name: value.to("cuda") for name, value in batch.items()}
    output = model(**batch, labels=batch["input_ids"])
    output.loss.backward()
    optimizer.step()
    optimizer.zero_grad()
