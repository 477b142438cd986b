# SPDX-License-Identifier: Apache-2.0
"""test-overlay.py MEMTAP PROGRAM: a program that is killed in a container, whose files lie on an
overlay above ext4, loses nothing either. Skipped where no overlay can be mounted above ext4."""
import os
import signal
import subprocess
import sys
import tempfile

memtap, program = sys.argv[1], os.path.abspath(sys.argv[2])


def mount(folder):
    layers = {}
    for name in ("lower", "upper", "work", "merged"):
        layers[name] = os.path.join(folder, name)
        os.mkdir(layers[name])
    options = f"lowerdir={layers['lower']},upperdir={layers['upper']},workdir={layers['work']}"
    kind = subprocess.run(["stat", "-f", "-c", "%T", folder], text=True, stdout=subprocess.PIPE,
                          check=True).stdout.strip()
    done = subprocess.run(["mount", "-t", "overlay", "overlay", "-o", options, layers["merged"]],
                          stderr=subprocess.DEVNULL, check=False)
    if done.returncode or not kind.startswith("ext"):
        print(f"skipped: no overlay can be mounted in {folder} ({kind})")
        if not done.returncode:
            subprocess.run(["umount", layers["merged"]], check=True)
        sys.exit(77)
    return layers["merged"]


with tempfile.TemporaryDirectory() as folder:
    try:
        merged = mount(folder)
    except FileNotFoundError:
        print("skipped: there is no mount command")
        sys.exit(77)
    try:
        trace = os.path.join(merged, "t.mtap")
        run = subprocess.run([memtap, "run", "--output", trace, "--", program, "1", "1000", "kill"],
                             stderr=subprocess.DEVNULL, check=False)
        info = subprocess.run([memtap, "info", trace], text=True, stdout=subprocess.PIPE,
                              check=True).stdout
    finally:
        subprocess.run(["umount", merged], check=True)
print(info)
counts = dict(line.split()[:2] for line in info.splitlines() if len(line.split()) == 2)
good = run.returncode == 128 + signal.SIGKILL and counts.get("cuda_malloc") == "1,000"
print("every allocation is there" if good else f"wrong (exit code {run.returncode})")
sys.exit(not good)
