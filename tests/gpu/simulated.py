# SPDX-License-Identifier: Apache-2.0
"""simulated.py [--only NAME]...: runs the convolving programs of evaluation/results/gpu-peaks.csv on the simulated H100 with the cuDNN that is installed
with MEMTAP_TEST_PYTHON's PyTorch, and saves peaks next to the card's in evaluation/results/cudnn-peaks.csv. Wants PyTorch 2.11 with its cuDNN 9.19, timm,
torchvision, transformers."""
import argparse
import csv
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "evaluation")]
import results  # noqa: E402

MEMTAP, PYTHON = ROOT / "build-test/tools/memtap", os.environ["MEMTAP_TEST_PYTHON"]
CONVOLVE = ("diffusion_unet.py", "amp.py", "conv_vs_linear.py", "resnet50", "convnext", "vit, amp", "efficientnet", "swin", "mobilenet, amp",
            "resnet18", "vgg16")
COUNTED = ("import runpy, sys, torch; sys.argv = sys.argv[1:]; sys.path.insert(0, sys.argv[0].rpartition('/')[0]); "
           "runpy.run_path(sys.argv[0], run_name='__main__'); "
           "print('counter', torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved())")

parser = argparse.ArgumentParser()
parser.add_argument("--only", action="append", default=[])
only = parser.parse_args().only
rows = []
with (ROOT / "evaluation/results/gpu-peaks.csv").open(newline="") as file:
    for card in csv.DictReader(file):
        name = card["program"]
        if not name.startswith(CONVOLVE) or (only and name not in only):
            continue
        program = ["-c", COUNTED, str(ROOT / "tests/zoo" / name)] if name.endswith(".py") else [str(ROOT / "tests/gpu/programs.py"), name]
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([MEMTAP, "simulate", "--gpu", "h100", "--", PYTHON, *program], cwd=folder, capture_output=True, text=True,
                                  check=False)
        counters = [line.split() for line in done.stdout.splitlines() if line.startswith("counter ")]
        if done.returncode or not counters:
            sys.exit(f"{name}: exit code {done.returncode}\n{done.stderr[-2000:]}")
        _, peak, reserved = counters[-1]
        apart = 100 * (int(peak) / int(card["trace's"]) - 1)
        rows.append([name, card["trace's"], peak, f"{apart:+.3f}", card["reserved"], reserved])
        print(*rows[-1], flush=True)
results.save("cudnn-peaks", ["program", "card's peak", "simulated", "apart in percent", "card's reserved", "reserved simulated"], rows, MEMTAP,
             PYTHON)
