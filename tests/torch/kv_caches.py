# SPDX-License-Identifier: Apache-2.0
"""kv_caches.py KIND: a program that generates 20 tokens from a cache of one kind. It ends at its peak and prints the bytes that the
cache's tensors have in PyTorch's allocator; for vLLM's runner, also those of what it makes beside the cache."""
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
    return {"kv_cache": kept}, model


def of_transformers(kind):
    from transformers import DynamicCache, Qwen2Config, Qwen2ForCausalLM, StaticCache

    class Mine(DynamicCache):
        pass

    config = Qwen2Config(hidden_size=HEADS * WIDTH, intermediate_size=256, num_hidden_layers=LAYERS, num_attention_heads=HEADS,
                         num_key_value_heads=HEADS, vocab_size=1000)
    with torch.device("cuda"):
        model = Qwen2ForCausalLM(config).eval()
    cache = {"dynamic": lambda: DynamicCache(config=config), "mine": Mine, "scores": Mine,
             "static": lambda: StaticCache(config=config, max_cache_len=TEXT + TOKENS)}[kind]()
    tokens = torch.randint(0, 1000, (8, TEXT), device="cuda")
    kept = {}
    if kind == "scores":  # of which generate() keeps what chose each token
        made = model.generate(tokens, past_key_values=cache, max_new_tokens=TOKENS, min_new_tokens=TOKENS, do_sample=True, top_p=0.9,
                              output_scores=True, return_dict_in_generate=True)
        kept["activations"] = [made.sequences, *made.scores]
    for _ in range(TOKENS * (kind != "scores")):
        logits = model(input_ids=tokens, past_key_values=cache, use_cache=True, logits_to_keep=1).logits
        tokens = logits[:, -1].argmax(-1, keepdim=True)
    return {"kv_cache": [tensor for layer in cache.layers for tensor in (layer.keys, layer.values)], **kept}, model


BLOCKS, BLOCK, LONGEST = 103, 16, 300


def named(module, name, **members):
    """A class as the module of a server has it."""
    return type(name, (), {"__module__": module, **members})


VLLM = {  # functions of its files, by the names that they have there
    "v1/worker/utils.py": "def allocate_kv_cache(size): return torch.zeros(size, dtype=torch.int8, device='cuda')",
    "v1/worker/gpu/states.py": "def __init__(self): self.tokens = torch.zeros(3000, device='cuda')",
    "v1/worker/gpu/model_runner.py": "def initialize_kv_cache(self): return torch.zeros(1000, device='cuda')",
    "v1/sample/ops/topk_topp_triton.py": "def apply_top_k_top_p_triton(logits): return logits.new_empty((4, 7000))",
    "distributed/device_communicators/custom_all_reduce.py": "def all_reduce(logits): return torch.empty_like(logits)",
    "v1/worker/gpu/sample/sampler.py": "def __call__(self, logits): return (logits + 1).argmax(-1)"}


def of_server(kind):
    """As vLLM and SGLang make theirs. Files and classes are named as there."""
    if kind == "sglang":
        def _create_buffers(self):
            return torch.zeros(2**20, device="cuda")

        pool = named("sglang.srt.mem_cache.memory_pool", "KVCache", _create_buffers=_create_buffers)()
        pool.size, pool.page_size = 1234, 64
        return {"kv_cache": [pool._create_buffers()]}, pool
    scope = {"torch": torch}
    for file, code in VLLM.items():
        exec(compile(code, f"/site-packages/vllm/{file}", "exec"), scope)

    def initialize_kv_cache(self, config):
        self.kv_cache_config = config
        self.table = scope["initialize_kv_cache"](self)  # no part of the cache
        self.cache = scope["allocate_kv_cache"](config.num_blocks * 2**12)

    spec = named("vllm.v1.kv_cache_interface", "SlidingWindowSpec" if kind == "window" else "FullAttentionSpec")()
    spec.block_size = BLOCK
    group, config = named("vllm.v1.kv_cache_interface", "KVCacheGroupSpec")(), named("vllm.v1.kv_cache_interface", "KVCacheConfig")()
    group.kv_cache_spec = spec
    config.num_blocks, config.kv_cache_groups = BLOCKS, [group, group] if kind == "groups" else [group]
    file = "gpu.model_runner" if kind == "runner" else "gpu_model_runner"
    runner = named(f"vllm.v1.worker.{file}", "GPUModelRunner", initialize_kv_cache=initialize_kv_cache)()
    runner.max_model_len = LONGEST
    runner.initialize_kv_cache(config)
    scope["__init__"](runner)
    logits = torch.zeros(4, 7000, device="cuda")
    scratch, sampled = scope["apply_top_k_top_p_triton"](logits), scope["__call__"](runner, logits)
    reduced = scope["all_reduce"](logits)
    return {"kv_cache": [runner.cache], "buffers": [runner.table, runner.tokens], "workspace": [scratch], "activations": [sampled],
            "communication": [reduced]}, runner


kind = sys.argv[1]
with torch.inference_mode():
    maker = own if kind in ("buffers", "pool") else of_server if kind in ("runner", "groups", "window", "sglang") else of_transformers
    kept, model = maker(kind)
    highest = torch.zeros(300 << 20, dtype=torch.int8, device="cuda")  # so that the peak is here
for category, tensors in kept.items():
    print("kept", category, sum((tensor.untyped_storage().nbytes() + 511) // 512 * 512 for tensor in tensors))
if kind == "sglang":  # no module is called: all of it is start-up, and what is freed there was kept
    kept = model = tensors = None
