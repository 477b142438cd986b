# SPDX-License-Identifier: Apache-2.0
"""results.py [--instead GPU] [--only NAME]... [--no-costs] [--save]: measures on this machine's GPU what a simulated one cannot show:
whether traces agree with PyTorch, how far simulated peaks are from real ones, what of the process's memory the balance explains, and
what recording costs. --save writes rows into evaluation/results/gpu-peaks.csv and evaluation/results/gpu-costs.csv; which docs/evaluation/gpu-results.md explains.
--instead: on that simulated GPU, which shows that this script works, and nothing else. Exit code 1: a program ended badly, a trace's
peak is not PyTorch's, or a loop that waits for the GPU takes longer; 77: there is no GPU."""
import argparse
import json
import os
import re
import statistics
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / folder) for folder in ("tests/torch", "tests/bench", "evaluation")]
import bench  # noqa: E402
import harness  # noqa: E402
import results  # noqa: E402
from harness import check, equal  # noqa: E402

MOST_SLOWER = 1.02
PROGRAMS, BUSY = (Path(__file__).with_name(name) for name in ("programs.py", "busy_loop.py"))
WAYS = {"recorded": [], "native stacks too": ["--stacks", "both"], "light": ["--light"], "with CUPTI": ["--cupti", "on"]}
ROUNDS, STEPS = 12, {"busy": 4, "calls": 10}
PEAKS = ["gpu", "program", "PyTorch's peak", "trace's", "simulated", "apart in percent", "reserved", "reserved simulated", "process",
         "other allocations", "context at first", "since", "driver"]
COSTS = ["gpu", "loop", "way", "ms a step", "ratio", "low", "high", "driver"]

VERSIONS = """
import json, torch
major, minor = torch.cuda.get_device_capability()
print(json.dumps({"name": torch.cuda.get_device_name(), "total": torch.cuda.mem_get_info()[1], "compute": f"{major}.{minor}"}))
"""
DRIVER = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader", "--id=0"]


def most_like(gpu):
    """The card of the catalogue that computes as this one does, and has the most similar memory."""
    done = harness.must_run([harness.MEMTAP, "simulate", "--gpu", "list"])
    rows = re.findall(r"^(\S+) .*? ([\d.]+) GiB +([\d.]+)", done.stdout, re.M)
    return min(rows, key=lambda row: (row[2] != gpu["compute"], abs(float(row[1]) - gpu["total"] / 2**30)))[0]


class Card:
    def __init__(self, instead):
        self.here = ["--simulate", instead] if instead else []
        self.alone = [harness.MEMTAP, "simulate", "--gpu", instead, "--"] if instead else []
        gpu = json.loads(harness.must_run([*self.alone, harness.PYTHON, "-c", VERSIONS]).stdout.splitlines()[-1])
        self.name = f"simulated {instead}" if instead else gpu["name"]
        self.driver = "" if instead else harness.must_run(DRIVER).stdout.strip()
        # PyTorch chooses kernels by what a card computes.
        self.simulated = ["--simulate", most_like(gpu), "--memory", str(gpu["total"])]


def record(where, folder, name):
    """PyTorch's own peak, and what memtap reports of the device."""
    folder.mkdir()
    compiled = {"TORCHINDUCTOR_CACHE_DIR": str(folder / "inductor"), "TRITON_CACHE_DIR": str(folder / "triton")}
    done = harness.run([harness.MEMTAP, "run", "-q", *where, "-o", folder / "trace.mtap", "--", harness.PYTHON, PROGRAMS, name],
                       env=compiled, cwd=folder)
    counter = re.search(r"^counter (\d+)", done.stdout, re.M)
    if not check(not done.returncode and counter, f"{name}: exit code {done.returncode}: {done.stderr[-1000:]}"):
        return None, None
    report = harness.must_run([harness.MEMTAP, "report", "--format", "json", folder / "trace.mtap"])
    return int(counter[1]), json.loads(report.stdout)["devices"][0]


def compare(card, folder, name):
    """A row of a program's peaks, or None."""
    folder.mkdir()
    with ThreadPoolExecutor(2) as pool:
        runs = list(pool.map(lambda run: record(run[1], folder / run[0], name), (("here", card.here), ("simulated", card.simulated))))
    if None in (counter for counter, _ in runs):
        return None
    (counter, here), (simulated, there) = runs
    equal(f"{name}: the trace's peak, PyTorch's", here["peak"]["allocated"], counter)
    equal(f"{name}: the simulated trace's peak, PyTorch's", there["peak"]["allocated"], simulated)
    balance = here["balance"]
    parts = balance.get("runtime_parts", {})
    row = [card.name, name, counter, here["peak"]["allocated"], simulated, f"{100 * (simulated - counter) / counter:+.3f}",
           here["peak"]["reserved"], there["peak"]["reserved"], balance["pytorch"] + balance["cuda"] + balance.get("runtime", 0),
           balance["cuda"], parts.get("first", ""), parts.get("since", ""), card.driver]
    print(*row, sep="\t", flush=True)
    return row


def time_loop(card, work, loop, program):
    """Rows of what a step takes in each way; processes take their steps in turns."""
    ways = {"alone": card.alone, **{way: [harness.MEMTAP, "run", "-q", *card.here, *options, "-o", work / f"{loop} {way}.mtap", "--"]
                                    for way, options in WAYS.items()}}
    loops = {way: bench.Loop(before, program=program) for way, before in ways.items()}
    loops["PyTorch's own recorder"] = bench.Loop(card.alone, "--record", program=program)
    in_turn = list(loops.values())
    for _ in range(ROUNDS):
        for each in in_turn:
            each.take(STEPS[loop])
        in_turn.append(in_turn.pop(0))
    for each in in_turn:
        each.end()
    for way, each in loops.items():
        ratios = sorted(a / b for a, b in zip(each.times[1:], loops["alone"].times[1:]))
        row = [card.name, loop, way, f"{statistics.median(each.times[1:]):.3f}",
               *(f"{value:.3f}" for value in (statistics.median(ratios), ratios[len(ratios) // 4], ratios[-1 - len(ratios) // 4])), card.driver]
        print(*row, sep="\t", flush=True)
        if way in WAYS and loop == "busy" and card.driver:
            check(float(row[4]) <= MOST_SLOWER, f"{loop}, {way}: a step takes {row[4]} times as long")
        yield row


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--instead", metavar="GPU")
    parser.add_argument("--only", action="append", metavar="NAME")
    parser.add_argument("--at-once", type=int, default=max(1, (os.cpu_count() or 1) // 3), help="programs; a third of the processors")
    parser.add_argument("--no-costs", action="store_true")
    parser.add_argument("--save", action="store_true")
    chosen = parser.parse_args()
    if not chosen.instead:
        os.environ["MEMTAP_TEST_DEVICE"] = "gpu"
        harness.ON_GPU = True
    harness.need_torch("transformers")
    card = Card(chosen.instead)
    names = chosen.only or harness.must_run([*card.alone, harness.PYTHON, PROGRAMS, "list"]).stdout.splitlines()
    with harness.folder() as folder:
        work = Path(folder)
        costs = [] if chosen.no_costs else [row for loop, program in (("busy", BUSY), ("calls", bench.LOOP))
                                            for row in time_loop(card, work, loop, program)]
        with ThreadPoolExecutor(chosen.at_once) as pool:
            peaks = list(pool.map(lambda each: compare(card, work / str(each[0]), each[1]), enumerate(names)))
    if chosen.save:
        for name, columns, rows, key in (("gpu-peaks", PEAKS, peaks, 2), ("gpu-costs", COSTS, costs, 3)):
            results.save(name, columns, [row for row in rows if row], harness.MEMTAP, harness.PYTHON, key)
    harness.finish()


if __name__ == "__main__":
    main()
