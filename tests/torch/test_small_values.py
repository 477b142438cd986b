# SPDX-License-Identifier: Apache-2.0
"""Operators of PyTorch's database have the host's values on the simulated card, where their tensors are small."""
import json
from pathlib import Path

import harness
from harness import MEMTAP, PYTHON, check, equal

PROGRAM = Path(__file__).resolve().parent / "small_values.py"
LEAST = 500  # operators that can be compared

# docs/evaluation/simulated-runs.md names them, with the reason.
EXCEPTIONS = [
    "_native_batch_norm_legit", "bernoulli", "native_batch_norm", "nn_functional_ctc_loss",
    "nn_functional_linear_cross_entropy_chunked", "nn_functional_linear_cross_entropy_chunked_none",
]


def main():
    if harness.ON_GPU:
        harness.skip("a real card computes all values")
    harness.need_torch()
    right = json.loads(harness.must_run([MEMTAP, "simulate", "--", PYTHON, PROGRAM]).stdout.splitlines()[-1])
    equal("other values", sorted(name for name, answer in right.items() if not answer), EXCEPTIONS)
    check(len(right) >= LEAST, f"only {len(right)} operators were compared")
    harness.finish()


main()
