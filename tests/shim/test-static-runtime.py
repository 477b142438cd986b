# SPDX-License-Identifier: Apache-2.0
"""test-static-runtime.py MEMTAP PROGRAM HOOKS.H CC...: NVIDIA's runtime, linked into a program, keeps
memtap's hooks where it keeps the driver's functions without memtap, and nothing else changes."""
import os
import re
import subprocess
import sys
import tempfile

import hook_tables

memtap, program, table, *compiler = sys.argv[1:]
hooks = hook_tables.symbols(hook_tables.expand(table, compiler), "D")
faults = []


def run(*words):
    """What the program keeps, function -> libraries; and what else it prints, its exit code, why it is
    not simulated."""
    done = subprocess.run([memtap, *words, "--", program], text=True, capture_output=True, check=False)
    kept, rest = {}, []
    for line in done.stdout.splitlines():
        function, _, library = line.partition(" ")
        if library.startswith("/"):
            kept.setdefault(function, set()).add(os.path.basename(library))
        else:
            rest.append(line)
    why = [line for line in done.stderr.splitlines() if line.startswith("cudasim:")]
    return kept, (rest, done.returncode, why)


def base(function):
    return re.sub(r"(_v\d+)?(_ptsz|_ptds)?$", "", function)


with tempfile.TemporaryDirectory() as directory:
    alone, ending = run("simulate", "--gpu", "t4")
    hooked, ending_hooked = run("run", "--uses", "--simulate", "t4", "-o", f"{directory}/t.mtap")
if ending != ending_hooked:
    faults.append(f"it ends with {ending_hooked}, without memtap with {ending}")
if ending[1] or len(ending[2]) != 1 or "--cudart shared" not in ending[2][0]:
    faults.append(f"it is not said in one line why it cannot be simulated: {ending}")
if {base(function) for function in alone} != {base(function) for function in hooked}:
    faults.append("other functions are looked up")
for function, libraries in sorted(hooked.items()):
    wanted = {"libmemtap.so"} if function in hooks else {"libcuda.so.1"}
    if function.startswith("cu") and libraries != wanted:
        faults.append(f"{function} is that of {libraries}")
found = hooks & set(hooked)
if len(found) < 60:
    faults.append(f"only {len(found)} hooks are kept: {found}")
print("\n".join(faults) or f"{len(found)} hooks, of {len(hooked)} functions")
sys.exit(bool(faults))
