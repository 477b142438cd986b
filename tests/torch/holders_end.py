# SPDX-License-Identifier: Apache-2.0
"""holders_end.py: children that keep a tensor and end in each of three ways. Prints of each its way, process and tensor, then its exit code."""
import os
import sys

import torch

for way in ("runs to its end", "exits", "fails"):
    if not os.fork():
        break
    print(os.WEXITSTATUS(os.wait()[1]), flush=True)
else:
    way = None
if way:
    kept = {"key": torch.ones(1000, device="cuda")}
    print(way, os.getpid(), kept["key"].data_ptr(), sep=",", end=",", flush=True)
if way == "exits":
    sys.exit(3)
if way == "fails":
    raise ValueError(way)
