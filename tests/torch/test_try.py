# SPDX-License-Identifier: Apache-2.0
"""memtap oom --try runs the program again with the setting that it advises, and says how far it came: to the end, or where memory ran
out again. Where it cannot, one line says why."""
import json
import os
from pathlib import Path

import harness
from harness import MEMTAP, PYTHON, check, equal, must_run

PROGRAM = """
import sys
import torch

MIB = 1 << 20
kept = []
for turn in range(int(sys.argv[1])):
    small = [torch.empty(3 * MIB, dtype=torch.uint8, device="cuda") for _ in range(200)]
    del small
    kept.append(torch.empty(40 * MIB, dtype=torch.uint8, device="cuda"))
    large = [torch.empty((20 + i % 7) * MIB, dtype=torch.uint8, device="cuda") for i in range(12)]
    del large
"""


def record(work, turns):
    trace = work / f"{turns}.mtap"
    harness.run([MEMTAP, "run", "--simulate", "h100", "--memory", "1300M", "-o", trace, "--", PYTHON, "fragments.py", str(turns)], cwd=work)
    return trace


def tried(trace, *options):
    return must_run([MEMTAP, "oom", "--try", *options, trace])


def main():
    harness.need_torch()
    with harness.folder() as work:
        work = Path(work)
        program = work / "fragments.py"
        program.write_text(PROGRAM)
        before = set(os.listdir("/tmp"))
        short, long = record(work, 5), record(work, 12)
        text = tried(short).stdout
        check("\nTried: expandable_segments:True is enough; the run finished.\n" in text, text[:900])
        found = json.loads(tried(long, "--format", "json").stdout)["tried"]
        check(not found["fits"] and found["set"] == "expandable_segments:True" and "Out of memory" in found["place"], str(found))
        equal("folders left behind", {name for name in set(os.listdir("/tmp")) - before if name.startswith("memtap-oom")}, set())
        program.rename(work / "moved.py")
        done = harness.run([MEMTAP, "oom", "--try", short])
        equal("without the program", (done.returncode, done.stdout, len(done.stderr.splitlines())), (2, "", 1))
        check(f"{program}: No such file" in done.stderr, done.stderr)
    harness.finish()


main()
