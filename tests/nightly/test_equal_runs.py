# SPDX-License-Identifier: Apache-2.0
"""test_equal_runs.py [SCRIPT...]: reference scripts again and again, 100 runs beyond the first ones, each
with other hashes, addresses, time zone, environment, and in another folder: there is no difference at all."""
import json
import random
import shutil
import sys
from collections import Counter
from pathlib import Path

import regressions
from harness import MEMTAP, check, equal, finish, folder, must_run, need_torch, run

# How many runs of each are compared with the first.
RUNS = {"amp": 2, "checkpointing": 2, "conv_vs_linear": 22, "dataloader_workers": 2, "ddp_two_ranks": 2,
        "diffusion_unet": 2, "fragmentation_oom": 14, "gpt2_xl": 1, "graph_capture": 16, "kv_cache": 2,
        "linear_loop": 22, "plain_oom": 12, "qwen_adamw": 1}
ZONES = "UTC", "America/New_York", "Asia/Kolkata", "Pacific/Auckland"

BUDGET = """ignore = "0 B"
[limits]
peak = "+0 B"
reserved = "+0 B"
growth = "+0 B"
fragmentation = "+0 %"
end = "+0 B"
[category]
every = "+0 B"
[phase]
every = "+0 B"
[module]
every = "+0 B"
[site]
every = "+0 B"
"""


def record(work, script, number):
    """The traces of a run; its surroundings follow from its number. One in four has no random addresses."""
    chance = random.Random(number)
    environment = {"PYTHONHASHSEED": str(chance.randrange(2**32)), "TZ": chance.choice(ZONES),
                   "PADDING": "x" * chance.randrange(20_000)}
    place = work / f"{script}-{number}" / ("d" * chance.randrange(1, 60))
    before = [shutil.which("setarch"), "-R"] if number % 4 == 3 and shutil.which("setarch") else []
    return regressions.record(place, script, environment=environment, before=before)


def counts(trace):
    """Events by kind, but those that come with time: samples of the device, and the page-locked memory
    that a loader's thread takes when what it had has not come back yet."""
    found = Counter()
    for line in must_run([MEMTAP, "dump", "--format", "json", trace]).stdout.splitlines():
        record = json.loads(line)
        if "time_ns" in record and record["record"] != "device_memory" and record.get("api") != "cudaHostAlloc":
            found[record["record"]] += 1
    return found


def differences(old, new, budget):
    """Each in words."""
    found = json.loads(must_run([MEMTAP, "diff", "--format", "json", *old, "--to", *new]).stdout)
    words = [] if found["same"] else [found["verdict"]]
    words += found["doubts"] + found["other_changes"]
    if list(map(counts, old)) != list(map(counts, new)):
        words.append(f"events: {list(map(counts, old))}, {list(map(counts, new))}")
    for device in found["devices"]:
        words += [str(item) for part in ("sites", "modules", "operators") for item in device[part]]
    for baseline, now in (old, new), (new, old):
        done = run([MEMTAP, "check", *now, "--against", *baseline, "--budget", budget, "--format", "json"])
        words += [limit["text"] for limit in json.loads(done.stdout)["limits"] if not limit["holds"]]
    return words


def main():
    scripts = sys.argv[1:] or sorted(RUNS)
    need_torch(*{module for script in scripts for module in regressions.SCRIPTS[script].modules})
    done = same = 0
    with folder() as work:
        work = Path(work)
        budget = work / "budget.toml"
        budget.write_text(BUDGET)
        for script in scripts:
            first = record(work, script, 0)
            for number in range(1, RUNS[script] + 1):
                words = differences(first, record(work, script, number), budget)
                done += 1
                same += check(not words, f"{script}, run {number}: {words}")
            print(f"{script}: {same} of {done} runs are the same so far", flush=True)
    if not sys.argv[1:]:
        equal("runs", done, 100)
    finish()


main()
