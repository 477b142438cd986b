# SPDX-License-Identifier: Apache-2.0
"""Computes operators of PyTorch's database on small tensors, on the host and on the device. Prints as JSON which ran, and which gave
other values on the device; operators that draw random numbers, or leave their result as it is, are left out."""
import importlib.util
import json
import sys
import types
import unittest.mock

import torch

if not importlib.util.find_spec("expecttest"):  # which PyTorch's tests are derived from, and none of these needs
    sys.modules["expecttest"] = types.ModuleType("expecttest")
    sys.modules["expecttest"].TestCase = unittest.TestCase
# pylint: disable=wrong-import-position
from torch import nn
from torch.nn import functional
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._pytree import tree_leaves, tree_map

LIMIT = 64 << 10  # bytes of a tensor
TOLERANCE = {torch.bfloat16: 5e-2}


def tensors(values):
    return [value for value in tree_leaves(values) if isinstance(value, torch.Tensor)]


def moved(values, device):
    def move(value):
        if isinstance(value, torch.Tensor):
            return value.detach().clone().to(device)
        return torch.device(device) if isinstance(value, torch.device) else value
    return tree_map(move, values)


def is_small(values):
    return all(tensor.layout == torch.strided and tensor.numel() * tensor.element_size() <= LIMIT for tensor in tensors(values))


def attempt(function, arguments, seed):
    set_seed = torch.manual_seed
    set_seed(seed)
    try:  # PyTorch's tests of random operators set a seed of their own
        with unittest.mock.patch("torch.manual_seed", lambda _: set_seed(seed)):
            return tensors(function(*arguments[0], **arguments[1]))
    except Exception:  # pylint: disable=broad-except
        return None


def are_close(left, right):
    try:
        for one, other in zip(left, right, strict=True):
            rtol = TOLERANCE.get(one.dtype, 1e-3)
            torch.testing.assert_close(one.cpu(), other.cpu(), rtol=rtol, atol=rtol / 10, equal_nan=True, check_stride=False,
                                       check_device=False, check_dtype=False)
        return True
    except (AssertionError, ValueError, RuntimeError):
        return False


def compare(function, arguments):
    """None: nothing to compare; else whether the device's values are the host's."""
    if not is_small(arguments):
        return None
    here = [attempt(function, moved(arguments, "cpu"), seed) for seed in (1, 2)]
    if here[0] is None or not is_small(here[0]) or not are_close(*here):
        return None
    there = attempt(function, moved(arguments, "cuda"), 1)
    return None if there is None else are_close(here[0], there)


def samples(op, dtype, count):
    torch.manual_seed(0)
    try:
        made = op.sample_inputs("cpu", dtype, requires_grad=False)
        return [((sample.input, *sample.args), sample.kwargs) for _, sample in zip(range(count), made)]
    except Exception:  # pylint: disable=broad-except
        return []


def of_database():
    for op in op_db:
        if "empty" in op.name or op.variant_test_name == "partial_views":
            continue
        supported = op.supported_dtypes("cuda") & op.supported_dtypes("cpu")
        found = []
        for dtype, count in ((torch.float32, 2), (torch.bfloat16, 1)):
            if dtype in supported:
                found += [compare(op, sample) for sample in samples(op, dtype, count)]
        found = [answer for answer in found if answer is not None]
        if found:
            yield op.formatted_name, all(found)


def periods(x):
    """The lengths of the waves that are strongest in a series."""
    strengths = torch.fft.rfft(x, dim=1).abs().mean(0).mean(-1)
    strengths[0] = 0
    return x.shape[1] // strengths.topk(3).indices


def module(made):
    """A function of the module's parameters and its argument."""
    names = [name for name, _ in made.named_parameters()]

    def function(x, *parameters):
        return torch.func.functional_call(made.to(x.device), dict(zip(names, parameters)), (x,))
    return function, lambda x: ((x, *made.parameters()), {})


def gradients(*heads, **options):
    with torch.enable_grad():
        heads = [head.detach().requires_grad_() for head in heads]
        functional.scaled_dot_product_attention(*heads, **options).backward(heads[0].detach())
    return [head.grad for head in heads]


def trained(made):
    """The gradients of the module's argument and parameters, of its outputs and last states."""
    def function(x):
        with torch.enable_grad():
            x = x.detach().requires_grad_()
            made.to(x.device).zero_grad()
            sum(part.square().sum() for part in tensors(made(x))).backward()
        return [x.grad, *(parameter.grad.clone() for parameter in made.parameters())]
    return function


def written_out():
    """Operators that only CUDA has compute for these."""
    x = torch.randn(2, 6, 8)
    yield "topk of an FFT", periods, ((x,), {})
    for made in (nn.LSTM(8, 4, 2, batch_first=True, bidirectional=True), nn.GRU(8, 4, batch_first=True, bias=False),
                 nn.RNN(8, 4, nonlinearity="relu"), nn.LSTM(8, 4, proj_size=3), nn.Conv1d(6, 4, 3, padding=1),
                 nn.MultiheadAttention(8, 2, batch_first=True)):
        if isinstance(made, nn.MultiheadAttention):
            made = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()
        function, arguments = module(made)
        yield f"a module {type(made).__name__} of {len(list(made.parameters()))} parameters", function, arguments(x)
    for made in (nn.LSTM(8, 4, 2, batch_first=True, bidirectional=True), nn.LSTM(8, 5, bias=False), nn.GRU(8, 4, 2, batch_first=True),
                 nn.GRU(8, 4, bidirectional=True, bias=False), nn.RNN(8, 4, 2), nn.RNN(8, 4, nonlinearity="relu")):
        yield f"gradients of {made}", trained(made), ((x,), {})
    for made in (nn.LSTMCell(8, 4), nn.LSTMCell(8, 4, bias=False), nn.GRUCell(8, 4), nn.GRUCell(8, 4, bias=False),
                 nn.GRUCell(8, 4, dtype=torch.float16)):
        function, arguments = module(made)
        yield f"a module {type(made).__name__} of {list(made.parameters())}", function, arguments(torch.randn(6, 8, dtype=made.weight_hh.dtype))
    for dtype in (torch.float32, torch.bfloat16):
        q, k = torch.randn(2, 4, 8, 16, dtype=dtype), torch.randn(2, 2, 8, 16, dtype=dtype)
        yield f"attention, {dtype}", functional.scaled_dot_product_attention, ((q, q, q), {"is_causal": True})
        yield f"attention of shared heads, {dtype}", functional.scaled_dot_product_attention, ((q, k, k), {"enable_gqa": True})
        yield f"attention with a mask, {dtype}", functional.scaled_dot_product_attention, (
            (q, q, q), {"attn_mask": torch.randn(8, 8, dtype=dtype)})
        for options in {"is_causal": True}, {"scale": 0.3}, {"attn_mask": torch.randn(8, 8, dtype=dtype)}:
            yield f"gradients of attention, {dtype}, {list(options)}", gradients, (torch.randn(3, 2, 4, 8, 16, dtype=dtype).unbind(), options)
    yield "conjugates", lambda z: torch.view_as_real(z.conj().clone()), ((torch.randn(4, dtype=torch.complex64),), {})
    yield "negatives", lambda z: z.conj().imag.clone(), ((torch.randn(4, dtype=torch.complex64),), {})


def main():
    torch.ones(1, device="cuda")
    torch.set_grad_enabled(False)
    right = dict(of_database())
    right |= {name: compare(function, arguments) for name, function, arguments in written_out()}
    print(json.dumps(right))


main()
