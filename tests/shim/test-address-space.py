# SPDX-License-Identifier: Apache-2.0
"""test-address-space.py MEMTAP SHIM PROGRAM: what libmemtap.so takes of a process's address space. A program
that is near its limit (ulimit -v) must get as much memory as without memtap, but for 32 MiB."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

memtap, shim, program = (os.path.abspath(path) for path in sys.argv[1:])
MOST_KIB = 32 << 10
RING_KIB = (2 << 10) + 128  # each thread of the program's that uses CUDA has one
LIMIT_MIB = 300
faults = []


def is_whole(info):
    """A ring holds fewer events: what finds it full for long, on a busy machine, is lost, and counted."""
    events = info["records"]["cuda_malloc"] + info["records"]["cuda_free"]
    return events + info["lost"] == 400000 and info["state"] == "closed"


def run(preloaded, folder, *words):
    environment = {**os.environ, "MEMTAP_OUTPUT": "t.mtap", "MEMTAP_QUIET": "1"}
    if preloaded:
        environment["LD_PRELOAD"] = shim
    done = subprocess.run([program, *words], cwd=folder, env=environment, text=True, check=True, stdout=subprocess.PIPE)
    return [int(word) for word in done.stdout.split()]


with tempfile.TemporaryDirectory() as top:
    folder = pathlib.Path(top)
    grown, reserved = run(True, folder)
    plain, _ = run(False, folder)
    print(f"{grown - plain} KiB of address space, {reserved} KiB of them a mere reserve")
    if grown - plain > MOST_KIB + 2 * RING_KIB or reserved > 1024:
        faults.append(f"{grown - plain} KiB of address space, {reserved} KiB of them a mere reserve")
    info = json.loads(subprocess.run([memtap, "info", "--format", "json", "t.mtap"], cwd=folder, check=True,
                                     stdout=subprocess.PIPE).stdout)
    if not is_whole(info):
        faults.append(f"without a limit: {info}")

    (folder / "t.mtap").unlink()
    *_, own = run(False, folder, str(LIMIT_MIB))
    *_, beside = run(True, folder, str(LIMIT_MIB))
    print(f"near a limit the program gets {own} MiB without memtap, {beside} MiB with it")
    if own - beside > (MOST_KIB + 2 * RING_KIB) >> 10:
        faults.append(f"near a limit the program gets {own} MiB without memtap, {beside} MiB with it")
    info = json.loads(subprocess.run([memtap, "info", "--format", "json", "t.mtap"], cwd=folder, check=True,
                                     stdout=subprocess.PIPE).stdout)
    if not is_whole(info):
        faults.append(f"near a limit: {info}")

print("\n".join(faults))
sys.exit(bool(faults))
