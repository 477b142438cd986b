# SPDX-License-Identifier: Apache-2.0
"""Trains GPT-2 XL, 1.5 billion parameters, from random weights made on the device, on random
tokens, in half precision (bf16) with fp32 master weights and Adam: 16 bytes a parameter, and
activations."""
import argparse

import torch
from transformers import GPT2Config, GPT2LMHeadModel


def log(phase):
    allocated, reserved = torch.cuda.memory_allocated(), torch.cuda.memory_reserved()
    print(f"{phase}: allocated={allocated} reserved={reserved}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--length", type=int, default=1024, help="tokens in a sequence")
    parser.add_argument("--steps", type=int, default=2)
    parser.add_argument("--checkpointing", action="store_true",
                        help="keep only what goes into a layer, and compute the rest again")
    args = parser.parse_args()

    config = GPT2Config(
        n_embd=1600, n_layer=48, n_head=25, n_positions=args.length, use_cache=False)
    with torch.device("cuda"):
        model = GPT2LMHeadModel(config)
    weights = list(model.parameters())
    masters = [weight.detach().clone() for weight in weights]
    model.to(torch.bfloat16)
    if args.checkpointing:
        model.gradient_checkpointing_enable()
    model.train()
    log("model")
    optimizer = torch.optim.Adam(masters, lr=1e-4, fused=True)

    for step in range(args.steps):
        tokens = torch.randint(0, config.vocab_size, (args.batch, args.length), device="cuda")
        loss = model(input_ids=tokens, labels=tokens).loss
        log(f"step {step} forward")
        loss.backward()
        log(f"step {step} backward")
        for weight, master in zip(weights, masters):
            master.grad = weight.grad.float()
            weight.grad = None
        log(f"step {step} master gradients")
        optimizer.step()
        optimizer.zero_grad()
        with torch.no_grad():
            for weight, master in zip(weights, masters):
                weight.copy_(master)
        log(f"step {step} optimizer")
    print(f"{sum(weight.numel() for weight in weights):,} parameters")
    log("end")


if __name__ == "__main__":
    main()
