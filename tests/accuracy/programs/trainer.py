# SPDX-License-Identifier: Apache-2.0
"""transformers' Trainer, as users call it."""
import tempfile

import torch
from torch.utils.data import Dataset
from transformers import LlamaConfig, LlamaForCausalLM, Trainer, TrainingArguments


class Lines(Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, index):
        line = torch.randint(0, 4000, (128,))
        return {"input_ids": line, "labels": line.clone()}


model = LlamaForCausalLM(LlamaConfig(
    hidden_size=256, intermediate_size=768, num_hidden_layers=4, num_attention_heads=8,
    vocab_size=4000, use_cache=False))
with tempfile.TemporaryDirectory() as folder:
    arguments = TrainingArguments(
        output_dir=folder, per_device_train_batch_size=8, gradient_accumulation_steps=2,
        max_steps=4, bf16=True, report_to=[], save_strategy="no", logging_strategy="no",
        disable_tqdm=True)
    Trainer(model=model, args=arguments, train_dataset=Lines()).train()
