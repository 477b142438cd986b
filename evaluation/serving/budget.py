# SPDX-License-Identifier: Apache-2.0
"""Compares the memory budget of memtap report with what vLLM logs, on a simulated H100:

    budget.py MEMTAP PYTHON [eager|compiled|engine]...

PYTHON has vLLM with PyTorch's CUDA build and torchvision, none of them with NVIDIA's libraries. A Qwen2 of 4 layers with random
weights serves three requests. Writes a row for each term into evaluation/results/serving.csv; ends with 1 if a request was not served or a term
differs by more than vLLM's rounding."""
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import results

GIB = 1 << 30
ROUNDING = GIB * 0.006  # vLLM logs two digits
TOKENS = 8
MODEL = {"architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2", "hidden_size": 512, "intermediate_size": 1024,
         "num_attention_heads": 8, "num_key_value_heads": 4, "num_hidden_layers": 4, "vocab_size": 8000,
         "max_position_embeddings": 2048, "rms_norm_eps": 1e-6, "rope_theta": 10000.0, "torch_dtype": "bfloat16",
         "tie_word_embeddings": False, "hidden_act": "silu", "bos_token_id": 1, "eos_token_id": 2}
KINDS = {"eager": "0", "compiled": "0", "engine": "1"}  # the engine in a process of its own


def serve(folder, kind):
    from vllm import LLM, SamplingParams

    llm = LLM(model=folder, load_format="dummy", skip_tokenizer_init=True, max_model_len=1024, gpu_memory_utilization=0.5,
              enforce_eager=kind == "eager", max_num_seqs=8)
    prompts = [{"prompt_token_ids": list(range(10, 10 + n))} for n in (5, 30, 100)]
    answers = llm.generate(prompts, SamplingParams(max_tokens=TOKENS, detokenize=False))
    print("served", [len(answer.outputs[0].token_ids) for answer in answers])


def logged(log, pattern):
    found = re.search(pattern, log)
    return float(found[1]) * GIB if found else None


def rows(log, report):
    device = report["devices"][0]
    budget = device["serving"]
    estimate = logged(log, r"([\d.]+) GiB \(estimated\)") or 0
    activations = logged(log, r"([\d.]+) GiB for peak activation")
    yield "weights", budget["weights"], logged(log, r"Model loading took ([\d.]+) GiB")
    yield "activations", budget["activations"], None if activations is None else activations - estimate
    yield "kv cache", device["peak"]["categories"]["kv_cache"], logged(log, r"Available KV cache memory: ([\d.]+) GiB")
    yield "graphs", budget["captured"], logged(log, r"([\d.]+) GiB \(actual\)")


def room(log, report):
    """Tokens, sequences and the longest one's tokens that have room, ours and vLLM's; None: not said."""
    ours = report["devices"][0]["cache_room"]
    theirs = re.search(r"KV cache size: ([\d,]+) tokens, Maximum concurrency for ([\d,]+) tokens per request: ([\d.]+)x", log)
    return (ours and tuple(ours[key] for key in ("tokens", "sequences", "longest")),
            theirs and (int(theirs[1].replace(",", "")), int(float(theirs[3])), int(theirs[2].replace(",", ""))))


def size(value):
    return f"{value / GIB:.2f} GiB" if value >= GIB else f"{value / 2**20:.2f} MiB"


def record(memtap, python, kind, folder):
    trace = Path(folder) / f"{kind}.mtap"
    environment = {**os.environ, "VLLM_ENABLE_V1_MULTIPROCESSING": KINDS[kind], "VLLM_USE_FLASHINFER_SAMPLER": "0",
                   "VLLM_NO_USAGE_STATS": "1", "HF_HUB_OFFLINE": "1"}
    run = subprocess.run([memtap, "run", "--simulate", "h100", "-o", trace, "--", python, __file__, "--serve", folder, kind],
                         env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if f"served {[TOKENS] * 3}" not in run.stdout:
        print(run.stdout[-2000:])
        return None, None
    report = subprocess.run([memtap, "report", "--format", "json", trace], stdout=subprocess.PIPE, text=True, check=True)
    return run.stdout, json.loads(report.stdout)


def main(memtap, python, *kinds):
    differ = 0
    for kind in kinds or KINDS:
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "config.json").write_text(json.dumps(MODEL))
            log, report = record(memtap, python, kind, folder)
        if log is None:
            print(f"{kind}: not served")
            differ = 1
            continue
        found = []
        for term, ours, theirs in rows(log, report):
            agrees = theirs is None or abs(ours - theirs) <= 2 * ROUNDING  # two of its figures may be rounded
            found.append([kind, term, size(ours), "-" if theirs is None else f"{theirs / GIB:.2f} GiB", agrees])
        ours, theirs = (said and "{} tokens, {} sequences of {}".format(*said) for said in room(log, report))
        found.append([kind, "room", ours, theirs, theirs is not None and ours == theirs])
        for *cells, agrees in found:
            differ |= not agrees
            print(*cells, "" if agrees else "DIFFERS", sep="\t")
        results.save("serving", ["way", "term", "report", "vllm_log"], [row[:-1] for row in found], memtap, python)
    return differ


if __name__ == "__main__":
    if sys.argv[1] == "--serve":
        serve(*sys.argv[2:])
    else:
        sys.exit(main(*sys.argv[1:]))
