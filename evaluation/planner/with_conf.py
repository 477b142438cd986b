# SPDX-License-Identifier: Apache-2.0
"""with_conf.py CONF SCRIPT [ARGUMENT...]: runs the script with these settings of PyTorch's allocator, made before its
first call of CUDA; "" leaves the default ones. So it can run in a process that has imported PyTorch."""
import runpy
import sys

import torch

conf = sys.argv[1]
sys.argv = sys.argv[2:]
if conf:
    change = getattr(torch._C, "_accelerator_setAllocatorSettings", None)
    (change or torch.cuda.memory._set_allocator_settings)(conf)
runpy.run_path(sys.argv[0], run_name="__main__")
