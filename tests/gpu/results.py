# SPDX-License-Identifier: Apache-2.0
"""results.py OUT.md [--instead GPU]: measures on this machine's GPU what a simulated one cannot show, and
writes it down: how much of the process's memory the balance explains, how far simulated peaks are
from real ones, and what recording costs where the GPU is what is waited for. --instead: on that
simulated GPU, which shows that this script works, and nothing else. Exit code 1: a number is not as
it should be; 77: there is no GPU."""
import argparse
import datetime
import json
import os
import re
import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "torch"))
import harness

LEAST_EXPLAINED, MOST_APART, MOST_SLOWER = 98.0, 1.0, 2.0  # percent
ROUNDS = 5
SCRIPTS = [["linear_loop.py"], ["conv_vs_linear.py"], ["diffusion_unet.py"], ["checkpointing.py"], ["amp.py"],
           ["kv_cache.py", "--tokens", "64", "--every", "16"], ["graph_capture.py"],
           ["qwen_adamw.py", "--layers", "8"], ["gpt2_xl.py", "--checkpointing"]]
BUSY = Path(__file__).resolve().parent / "busy_loop.py"

VERSIONS = """
import json, platform, torch
free, total = torch.cuda.mem_get_info()
major, minor = torch.cuda.get_device_capability()
print(json.dumps({"name": torch.cuda.get_device_name(), "total": total, "torch": torch.__version__,
                  "compute": f"{major}.{minor}",
                  "cuda": torch.version.cuda, "cudnn": torch.backends.cudnn.version(),
                  "python": platform.python_version()}))
"""
DRIVER = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader", "--id=0"]


def mib(size):
    return f"{size / 2**20:,.1f}"


def percent(part, whole):
    return 100 * part / whole if whole else 0.0


def most_like(gpu):
    """The card of the catalogue that computes as this one does, and has the most similar memory."""
    done = harness.must_run([harness.MEMTAP, "simulate", "--gpu", "list"])
    rows = re.findall(r"^(\S+) .*? ([\d.]+) GiB +([\d.]+)", done.stdout, re.M)
    def distance(row):
        return row[2] != gpu["compute"], abs(float(row[1]) - gpu["total"] / 2**30)
    return min(rows, key=distance)[0]


class Results:
    def __init__(self, instead, scripts, busy):
        self.instead, self.scripts, self.busy = instead, scripts, busy
        self.lines, self.faults = [], []
        asked = harness.must_run([*self.alone(), harness.PYTHON, "-c", VERSIONS])
        self.gpu = json.loads(asked.stdout.splitlines()[-1])
        self.like = most_like(self.gpu)

    def alone(self):
        return [harness.MEMTAP, "simulate", "--gpu", self.instead, "--"] if self.instead else []

    def simulated(self):
        """A card like this one, with as much memory: PyTorch chooses kernels by what a card computes."""
        return ["--simulate", self.like, "--memory", str(self.gpu["total"])]

    def say(self, line=""):
        self.lines.append(line)

    def fault(self, line):
        self.faults.append(line)
        self.say(f"\n**Not as it should be:** {line}")

    def record(self, where, trace, command):
        trace.unlink(missing_ok=True)
        harness.must_run([harness.MEMTAP, "run", *where, "-o", trace, "--", *command])
        done = harness.must_run([harness.MEMTAP, "report", "--format", "json", trace])
        return json.loads(done.stdout)["devices"][0]

    def head(self):
        done = None if self.instead else harness.run(DRIVER)
        driver = done.stdout.strip() if done and not done.returncode else "not known"
        version = harness.must_run([harness.MEMTAP, "--version"]).stdout.strip()
        self.say("# Results on a GPU\n")
        self.say("Written by `tests/gpu/results.py`.\n")
        self.say("| what | which |\n|---|---|")
        for what, which in (("GPU", self.gpu["name"]), ("its memory", mib(self.gpu["total"]) + " MiB"),
                            ("simulated as", self.like),
                            ("driver", driver), ("PyTorch", self.gpu["torch"]),
                            ("CUDA", self.gpu["cuda"]), ("cuDNN", self.gpu["cudnn"]),
                            ("Python", self.gpu["python"]), ("memtap", version),
                            ("date", datetime.date.today().isoformat())):
            self.say(f"| {what} | {which} |")

    def scripts_run(self, work):
        """Each script on the card, and on a simulated one: (its name, report, report)."""
        where = ["--simulate", self.instead] if self.instead else []
        for name, *arguments in self.scripts:
            command = [harness.PYTHON, harness.ZOO / name, *arguments]
            label = " ".join([name, *arguments])
            yield (label, self.record(where, Path(work) / "real.mtap", command),
                   self.record(self.simulated(), Path(work) / "simulated.mtap", command))

    def balance(self, runs):
        self.say("\n## The balance\n")
        self.say("At each script's peak, MiB. *process*: what NVML says that this process has. *context*: what it "
                 "had besides its allocations when the device was first asked, *since*: what came to that. "
                 f"*explained*: all but *since*; at least {LEAST_EXPLAINED} % are wanted.\n")
        self.say("| script | process | PyTorch | other allocations | context | since | explained |")
        self.say("|---|---|---|---|---|---|---|")
        for name, real, _ in runs:
            row = real["balance"]
            if "used" not in row:
                self.fault(f"{name}: the device was not asked")
                continue
            parts = row["runtime_parts"]
            process = row["pytorch"] + row["cuda"] + row["runtime"]
            explained = percent(process - parts["since"], process)
            known = "" if row["own_known"] else " (with other processes)"
            self.say(f"| `{name}` | {mib(process)}{known} | {mib(row['pytorch'])} | {mib(row['cuda'])} | "
                     f"{mib(parts['first'])} | {mib(parts['since'])} | {explained:.2f} % |")
            if explained < LEAST_EXPLAINED:
                self.fault(f"{name}: {explained:.2f} % of the process's memory are explained")

    def peaks(self, runs):
        self.say("\n## Simulated and real peaks\n")
        self.say("The most that PyTorch had allocated, MiB, on this card and on a simulated one with as much "
                 f"memory; at most {MOST_APART} % apart is wanted. Where they differ, in which categories.\n")
        self.say("| script | here | simulated | apart | by category, simulated less here |")
        self.say("|---|---|---|---|---|")
        for name, real, simulated in runs:
            here, there = (run["peak"]["allocated"] for run in (real, simulated))
            apart = percent(there - here, here)
            before, after = (run["peak"]["categories"] for run in (real, simulated))
            words = ", ".join(f"{category} {mib(after[category] - before[category])}"
                              for category in before if after[category] != before[category])
            self.say(f"| `{name}` | {mib(here)} | {mib(there)} | {apart:+.3f} % | {words or 'none'} |")
            if abs(apart) > MOST_APART:
                self.fault(f"{name}: the simulated peak is {apart:+.3f} % off")

    def cost(self, work):
        """Interleaved, so that the card's clock is the same for all."""
        ways = {"alone": None, "recorded": [], "with native stacks": ["--stacks", "both"],
                "with CUPTI": ["--cupti", "on"]}
        times = {way: [] for way in ways}
        where = ["--simulate", self.instead] if self.instead else []
        for _ in range(ROUNDS):
            for way, options in ways.items():
                before = self.alone() if options is None else [
                    harness.MEMTAP, "run", *where, *options, "-o", Path(work) / "busy.mtap", "--"]
                (Path(work) / "busy.mtap").unlink(missing_ok=True)
                done = harness.must_run([*before, harness.PYTHON, BUSY, *self.busy])
                times[way].append(float(done.stdout.split()[-1]))
        self.say("\n## What recording costs\n")
        self.say(f"A step of `tests/gpu/busy_loop.py` by CUDA's events, median of {ROUNDS} interleaved runs of "
                 f"which each is a median; at most {MOST_SLOWER} % more is wanted.\n")
        self.say("| how | ms a step | fastest | slowest | more |\n|---|---|---|---|---|")
        alone = statistics.median(times["alone"])
        for way, found in times.items():
            median = statistics.median(found)
            more = percent(median - alone, alone)
            self.say(f"| {way} | {median:.3f} | {min(found):.3f} | {max(found):.3f} | {more:+.2f} % |")
            if more > MOST_SLOWER and not self.instead:
                self.fault(f"{way}: a step takes {more:+.2f} % more")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out")
    parser.add_argument("--instead", metavar="GPU")
    parser.add_argument("--only", action="append", metavar="SCRIPT")
    parser.add_argument("--busy", nargs=2, default=[], metavar=("STEPS", "WIDTH"))
    chosen = parser.parse_args()
    if not chosen.instead:
        os.environ["MEMTAP_TEST_DEVICE"] = "gpu"
        harness.ON_GPU = True
    harness.need_torch("transformers")
    scripts = [script for script in SCRIPTS if not chosen.only or script[0] in chosen.only]
    results = Results(chosen.instead, scripts, chosen.busy)
    results.head()
    with harness.folder() as work:
        runs = list(results.scripts_run(work))
        results.balance(runs)
        results.peaks(runs)
        results.cost(work)
    Path(chosen.out).write_text("\n".join(results.lines) + "\n", encoding="utf-8")
    print("\n".join(results.faults) or f"all as it should be: {chosen.out}")
    sys.exit(bool(results.faults))


main()
