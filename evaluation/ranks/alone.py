# SPDX-License-Identifier: Apache-2.0
"""Every rank alone, compared with the same rank of a real job on simulated cards, in every layout of tests/torch/ranks_alone.py:
are all counters of PyTorch's allocator equal after each step? Rows go into evaluation/results/ranks_alone.csv. By hand.

    python3 evaluation/ranks/alone.py --memtap build/tools/memtap --python .venv/bin/python [--sizes 2,4,8] [LAYOUT]...

A LAYOUT may be a program: 'megatron-tp=/path/to/pretrain_gpt.py --tensor-model-parallel-size 2 ...'."""
import argparse
import pathlib
import subprocess
import sys
import tempfile

CAMPAIGNS = pathlib.Path(__file__).resolve().parents[1]
sys.path.append(str(CAMPAIGNS))
import results  # noqa: E402

COLUMNS = ["layout of ranks", "rank", "peak among others", "peak alone", "counters"]


def compared(options, size, layouts, work):
    """The rows of all ranks."""
    command = [options.memtap, "simulate", "--gpu", "h100", "--world-size", str(size), "--", options.python, "-W", "ignore",
               CAMPAIGNS.parent / "tests/torch/ranks_alone.py", *layouts]
    rows = []
    with subprocess.Popen(command, cwd=work, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as running:
        for line in running.stdout:
            print(size, line, end="", flush=True)
            words = line.split(maxsplit=4)
            if len(words) == 5:
                rows.append([f"{words[0]} of {size}", *words[1:4], words[4].partition(":")[0].strip()])
    return rows


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--memtap", type=pathlib.Path, required=True)
    parser.add_argument("--python", type=pathlib.Path, required=True)
    parser.add_argument("--sizes", default="2,4,8")
    parser.add_argument("layouts", nargs="*")
    options = parser.parse_args()
    options.memtap, options.python = options.memtap.resolve(), options.python.absolute()
    with tempfile.TemporaryDirectory() as work:
        rows = [row for size in options.sizes.split(",") for row in compared(options, int(size), options.layouts, work)]
    results.save("ranks_alone", COLUMNS, rows, options.memtap, options.python)
    wrong = [row for row in rows if not row[4].startswith("equal")]
    print(f"{len(rows) - len(wrong)} of {len(rows)} ranks are equal")
    sys.exit(bool(wrong))


main()
