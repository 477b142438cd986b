# SPDX-License-Identifier: Apache-2.0
"""Runs operators of PyTorch's database on the device, on two samples each, forward and backward; a line of JSON for each: its
name, and what came of it. `count`: how many there are, and PyTorch's version; BEGIN:END:STEP: which."""
import importlib.util
import json
import sys
import types
import unittest

import torch

if not importlib.util.find_spec("expecttest"):  # which PyTorch's tests are derived from, and none of these needs
    sys.modules["expecttest"] = types.ModuleType("expecttest")
    sys.modules["expecttest"].TestCase = unittest.TestCase
# pylint: disable=wrong-import-position
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._pytree import tree_leaves

COUNTERS = ["allocation.all.allocated", "allocation.all.freed", "allocated_bytes.all.peak", "allocated_bytes.all.current",
            "reserved_bytes.all.current", "requested_bytes.all.allocated", "num_alloc_retries", "num_ooms"]


def tensors(values):
    return [value for value in tree_leaves(values) if isinstance(value, torch.Tensor)]


def attempt(what):
    """What it returns, or the first line of its error."""
    try:
        return what()
    except Exception as error:  # pylint: disable=broad-except
        return f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"[:200]


def run_sample(op, sample, has_backward):
    outputs = tensors(op(sample.input, *sample.args, **sample.kwargs))
    told = [f"{tuple(tensor.shape)} {tensor.dtype}" for tensor in outputs]
    wanted = [tensor for tensor in outputs if tensor.requires_grad]
    if has_backward and wanted:
        torch.autograd.backward(wanted, [torch.ones_like(tensor) for tensor in wanted])
        gradients = [tensor.grad for tensor in tensors((sample.input, sample.args, sample.kwargs))]
        told.append([gradient is not None and tuple(gradient.shape) for gradient in gradients])
    return told


def run(op):
    torch.manual_seed(0)
    dtype = torch.float32 if torch.float32 in op.supported_dtypes("cuda") else sorted(op.supported_dtypes("cuda"), key=str)[0]
    has_backward = op.supports_autograd and dtype.is_floating_point

    def samples():
        return [sample for _, sample in zip(range(2), op.sample_inputs("cuda", dtype, requires_grad=has_backward))]
    made = attempt(samples)
    told = [made] if isinstance(made, str) else [attempt(lambda s=sample: run_sample(op, s, has_backward)) for sample in made]
    stats = torch.cuda.memory_stats()
    return json.dumps([told, [stats.get(name) for name in COUNTERS]])


def main():
    if sys.argv[1] == "count":
        print(len(op_db), torch.__version__)
        return
    torch.ones(1, device="cuda")
    for number, op in list(enumerate(op_db))[slice(*map(int, sys.argv[1].split(":")))]:
        print("\n" + json.dumps([f"{number} {op.formatted_name}", attempt(lambda o=op: run(o))]), flush=True)


main()
