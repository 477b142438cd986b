# SPDX-License-Identifier: Apache-2.0
"""dtypes.py LOG: leaves, gradients and saved tensors of many types; writes to LOG what each address has."""
import json
import sys

import torch

TYPES = [torch.float32, torch.bfloat16, torch.float16, torch.float64, torch.complex64]
log = {"leaf": [], "gradient": [], "saved": []}
elements = {}  # of parameters, by address
kept = []
for n, dtype in enumerate(TYPES):
    leaf = torch.ones(1000 + n, dtype=dtype, device="cuda", requires_grad=True)
    index = torch.zeros(7 + n, dtype=torch.int64, device="cuda")
    mask = torch.zeros(1000 + n, dtype=torch.bool, device="cuda")
    result = leaf.masked_fill(mask, 0).index_select(0, index)
    torch.view_as_real(result).sum().backward() if dtype.is_complex else result.sum().backward()
    parameter = torch.nn.Parameter(torch.ones(500 + n, dtype=dtype, device="cuda"))
    elements[parameter.data_ptr()] = parameter.numel()
    kept += [parameter, leaf, index, mask]
    log["leaf"].append((leaf.data_ptr(), str(dtype)))
    log["gradient"].append((leaf.grad.data_ptr(), str(dtype)))
    log["saved"] += [(index.data_ptr(), "torch.int64"), (mask.data_ptr(), "torch.bool")]
json.dump({"tensors": log, "elements": elements}, open(sys.argv[1], "w"))
