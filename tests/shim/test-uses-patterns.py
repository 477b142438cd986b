# SPDX-License-Identifier: Apache-2.0
"""test-uses-patterns.py MEMTAP PROGRAM: what a C program does not need at its peak, each pattern with its bytes; what kernels may reach
through memory, or a graph uses, is not among it."""
import json
import subprocess
import sys
import tempfile

memtap, program = sys.argv[1:]
WANTED = {"never": [1024], "written": [16384], "after": [4096, 32768], "until": [2048], "between": [8192], "perhaps": []}


def ask(*words):
    return json.loads(subprocess.run([memtap, *words], check=True, text=True, capture_output=True).stdout)["devices"][0]


with tempfile.TemporaryDirectory() as folder:
    trace = f"{folder}/t.mtap"
    subprocess.run([memtap, "run", "--uses", "--simulate", "h100", "-o", trace, "--", program], check=True)
    report = ask("report", "--format", "json", trace)
    blocks = ask("blocks", "--format", "json", trace)["blocks"]
have = {kind: sorted(block["size"] // 1024 for block in blocks if block.get("unneeded") == kind) for kind in WANTED}
unneeded = report["unneeded"]
found = {kind: unneeded[kind]["bytes"] // 1024 for kind in WANTED}
leaks = [site["bytes"] for site in report["not_freed"]["sites"] if site["line"] and site["line"]["file"].endswith("uses-patterns.c")]
shared = (unneeded["shared"]["bytes"] // 1024, unneeded["passed"] // 1024, leaks)
wrong = [pair for pair in ((have, WANTED), (found, {kind: sum(WANTED[kind]) for kind in WANTED}), (shared, (4096, 512, [32768 * 1024])))
         if pair[0] != pair[1]]
sys.exit("\n".join(f"{have}, not {wanted}" for have, wanted in wrong) or 0)
