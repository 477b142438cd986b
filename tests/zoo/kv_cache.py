# SPDX-License-Identifier: Apache-2.0
"""Generates text with a language model of the Qwen2.5-0.5B architecture, from random weights in
bf16: a prompt is read at once, then a token a step, while the cache of keys and values grows."""
import argparse

import torch
from transformers import Qwen2Config, Qwen2ForCausalLM


def log(phase):
    allocated, reserved = torch.cuda.memory_allocated(), torch.cuda.memory_reserved()
    print(f"{phase}: allocated={allocated} reserved={reserved}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--prompt", type=int, default=512, help="tokens in the prompt")
    parser.add_argument("--tokens", type=int, default=128, help="tokens to generate")
    parser.add_argument("--every", type=int, default=32, help="tokens between two logs")
    args = parser.parse_args()

    config = Qwen2Config(
        hidden_size=896,
        intermediate_size=4864,
        num_hidden_layers=24,
        num_attention_heads=14,
        num_key_value_heads=2,
        vocab_size=151936,
        tie_word_embeddings=True,
    )
    with torch.device("cuda"):
        model = Qwen2ForCausalLM(config).to(torch.bfloat16).eval()
    log("model")

    tokens = torch.randint(0, config.vocab_size, (args.batch, args.prompt), device="cuda")
    cache, generated = None, []
    with torch.inference_mode():
        for count in range(args.tokens):
            outputs = model(input_ids=tokens, past_key_values=cache, use_cache=True,
                            logits_to_keep=1)
            cache = outputs.past_key_values
            tokens = outputs.logits[:, -1].argmax(dim=-1, keepdim=True)
            generated.append(tokens)
            if count == 0:
                log("prompt")
            elif (count + 1) % args.every == 0:
                log(f"{count + 1} tokens")
        text = torch.cat(generated, dim=1)
    print("generated", tuple(text.shape))
    log("end")


if __name__ == "__main__":
    main()
