# SPDX-License-Identifier: Apache-2.0
"""profiled.py JSON: three steps of a model under torch.profiler, in a range of NVTX; its trace goes to JSON."""
import sys

import torch
from torch.profiler import ProfilerActivity, profile

model = torch.nn.Linear(2000, 2000).cuda()
with profile(activities=[ProfilerActivity.CPU], profile_memory=True, with_stack=True) as profiler:
    for step in range(3):
        torch.cuda.nvtx.range_push("a step")
        model(torch.randn(64, 2000, device="cuda")).sum().backward()
        torch.cuda.nvtx.range_pop()
profiler.export_chrome_trace(sys.argv[1])
