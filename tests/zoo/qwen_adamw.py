# SPDX-License-Identifier: Apache-2.0
"""Trains a language model of the Qwen2.5-1.5B architecture with AdamW, from random weights made on
the device, on random tokens, in fp32."""
import argparse

import torch
from transformers import Qwen2Config, Qwen2ForCausalLM


def log(phase):
    allocated, reserved = torch.cuda.memory_allocated(), torch.cuda.memory_reserved()
    print(f"{phase}: allocated={allocated} reserved={reserved}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--length", type=int, default=256, help="tokens in a sequence")
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--layers", type=int, default=28)
    args = parser.parse_args()

    config = Qwen2Config(
        hidden_size=1536,
        intermediate_size=8960,
        num_hidden_layers=args.layers,
        num_attention_heads=12,
        num_key_value_heads=2,
        vocab_size=151936,
        max_position_embeddings=32768,
        rope_theta=1_000_000.0,
        tie_word_embeddings=True,
        use_cache=False,
    )
    with torch.device("cuda"):
        model = Qwen2ForCausalLM(config)
    log("model")
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)

    for step in range(args.steps):
        tokens = torch.randint(0, config.vocab_size, (args.batch, args.length), device="cuda")
        loss = model(input_ids=tokens, labels=tokens).loss
        log(f"step {step} forward")
        loss.backward()
        log(f"step {step} backward")
        optimizer.step()
        log(f"step {step} optimizer")
        optimizer.zero_grad()
    log("end")


if __name__ == "__main__":
    main()
