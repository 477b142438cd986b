# SPDX-License-Identifier: Apache-2.0
"""builds.py [--series N] LIBMEMTAP OTHER...: what the steps of qwen_loop.py cost with libmemtap.so of
other builds, as ratios to the first one's. By hand.

A process keeps its luck of where its memory lies, so each series has new ones; in a series they take a
few steps each in turns. Counted is the processor's time of all threads, also memtap's own, which another
program on the machine changes less than the clock's. Prints each series' medians, turn by turn, and at
the end the median of the series with an interval that has it 95 times of 100 (bootstrap). Give the first
build twice: that ratio is 1, and tells how far the others can be told apart."""
import argparse
import os
import random
import statistics
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "torch"))
import harness  # noqa: E402

LOOP = Path(__file__).resolve().parent / "qwen_loop.py"
WARM_UP, STEPS, TURNS, RESAMPLES = 2, 5, 30, 4000


class Recorded:
    """A process of the loop, recorded by a given library, that takes steps when it is told to."""

    def __init__(self, library, trace):
        script = 'LD_PRELOAD="$1:$LD_PRELOAD" MEMTAP_QUIET=1 exec "$2" "$3" --in-turns'
        command = [*harness.alone(), "sh", "-c", script, "sh", library, harness.PYTHON, LOOP]
        self.process = subprocess.Popen([str(word) for word in command], text=True,
                                        env={**os.environ, "MEMTAP_OUTPUT": str(trace)},
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.times = []
        self.take(WARM_UP)
        self.times.clear()

    def cpu_ns(self):
        tasks = Path(f"/proc/{self.process.pid}/task").glob("*/schedstat")
        return sum(int(task.read_text().split()[0]) for task in tasks)

    def take(self, steps):
        before = self.cpu_ns()
        print(steps, file=self.process.stdin, flush=True)
        if not self.process.stdout.readline():
            sys.exit("the loop ended early; its message stands above")
        self.times.append(self.cpu_ns() - before)

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def series(libraries, folder):
    """The ratios to the first one, in the order of the libraries."""
    loops = [Recorded(library, Path(folder) / f"{i}.mtap") for i, library in enumerate(libraries)]
    in_turn = loops[:]
    for _ in range(TURNS):
        for each in in_turn:
            each.take(STEPS)
        in_turn.append(in_turn.pop(0))  # what one leaves to do falls on another one each time
    for each in loops:
        each.end()
    return [statistics.median(a / b for a, b in zip(each.times, loops[0].times)) for each in loops]


def interval(values):
    medians = sorted(statistics.median(random.choices(values, k=len(values))) for _ in range(RESAMPLES))
    return medians[RESAMPLES // 40], medians[-RESAMPLES // 40]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split(":")[0])
    parser.add_argument("--series", type=int, default=16)
    parser.add_argument("libraries", nargs="+", type=Path, metavar="LIBMEMTAP")
    options = parser.parse_args()
    for library in options.libraries:
        if not library.is_file():
            parser.error(f"{library}: there is no such file; give libmemtap.so of a build")
    harness.need_torch("transformers")
    results = []
    for _ in range(options.series):
        with harness.folder() as folder:
            results.append(series(options.libraries, folder))
        print(" ".join(f"{ratio:.4f}" for ratio in results[-1]), flush=True)
    for library, ratios in zip(options.libraries, zip(*results)):
        low, high = interval(ratios)
        print(f"{library}: {statistics.median(ratios):.4f}, from {low:.4f} to {high:.4f}; "
              f"single series {min(ratios):.4f} to {max(ratios):.4f}")


main()
