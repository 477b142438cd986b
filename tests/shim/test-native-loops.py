# SPDX-License-Identifier: Apache-2.0
"""test-native-loops.py MEMTAP SOURCE PROGRAM...: the turns of loops in C, optimized or not, and the lines that name them."""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

memtap, source, *programs = sys.argv[1:]
TURNS = 40
lines = Path(source).read_text(encoding="utf-8").splitlines()
faults = 0


def check(program):
    with tempfile.TemporaryDirectory() as folder:
        trace = f"{folder}/t.mtap"
        subprocess.run([memtap, "run", "-q", "--simulate", "h100", "-o", trace, "--", program], check=True)
        said = subprocess.run([memtap, "report", "-f", "json", trace], check=True, capture_output=True, text=True).stdout
    [device] = json.loads(said)["devices"]
    way, level = re.search(r"(\d)-o(\d)$", program).groups()
    loop, marked = device["loop"], [i for i, line in enumerate(lines, 1) if f"LOOP {way} " in line]
    # Inlined, only a line of what is in the loop is known.
    named = {*marked, *(i for i, line in enumerate(lines, 1) if level != "0" and "cudaMalloc" in line)}
    if not loop or loop["turns"] != TURNS or device["iterations"] != TURNS or loop["line"] not in named:
        print(f"{program}: {loop}, {device['iterations']} iterations")
        return 1
    return 0


for program in programs:
    faults += check(program)
sys.exit(faults != 0)
