# SPDX-License-Identifier: Apache-2.0
"""peaks.py FILE SCRIPT [ARGUMENT...]: runs the script and writes the peaks of PyTorch's allocator, also when memory
runs out: of a trace where PyTorch's own allocator is not used. %r in FILE is the rank."""
import json
import os
import runpy
import sys
from pathlib import Path

import torch

device = int(os.environ.get("LOCAL_RANK", "0"))
peaks = {"peak_allocated": 0, "peak_reserved": 0}
reset = torch.cuda.reset_peak_memory_stats


def look():
    stats = torch.cuda.memory_stats(device)
    for name in peaks:
        peaks[name] = max(peaks[name], stats[f"{name[5:]}_bytes.all.peak"])


def look_and_reset(*arguments):
    look()
    reset(*arguments)


torch.cuda.reset_peak_memory_stats = look_and_reset
path = Path(sys.argv[1].replace("%r", os.environ.get("RANK", "0")))
sys.argv = sys.argv[2:]
is_out = False
try:
    runpy.run_path(sys.argv[0], run_name="__main__")
except torch.cuda.OutOfMemoryError:
    is_out = True
except SystemExit:
    pass
look()
path.write_text(json.dumps({**peaks, "is_out": is_out}))
