# SPDX-License-Identifier: Apache-2.0
"""test-metrics.py MEMTAP SHIM: memtap metrics --follow beside a program: the file is whole whenever it is read, grows with
the program, and has at the end what memtap metrics prints; then memtap metrics ends, however the program did."""
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import openmetrics

memtap, shim = (os.path.abspath(path) for path in sys.argv[1:])
program = str(pathlib.Path(__file__).with_name("top-program.py"))
faults = []


def check(what, condition, *found):
    print("ok  " if condition else "FAULT", what, *(() if condition else found), flush=True)
    if not condition:
        faults.append(what)


def figure(families, name, **labels):
    return next((value for own, value in families[name]["samples"] if labels.items() <= own.items()), None)


def wait_until(file, holds):
    """The families once they hold; each state of the file that is seen must be whole."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        if file.exists():
            families = openmetrics.read(file.read_text())
            if holds(families):
                return families
        time.sleep(0.05)
    raise AssertionError(f"{file} does not come to that")


def follow(folder, number):
    trace, file = folder / "t.mtap", folder / "memtap.prom"
    follower = subprocess.Popen([memtap, "metrics", "--follow", "--every", "0.1", "-o", str(file), str(trace)], stderr=subprocess.PIPE,
                                text=True)  # before there is a trace
    environment = {**os.environ, "LD_PRELOAD": shim, "MEMTAP_OUTPUT": str(trace), "MEMTAP_QUIET": "1"}
    process = subprocess.Popen([sys.executable, program], env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        first = wait_until(file, lambda families: figure(families, "memtap_allocated_bytes"))
        bytes_first = figure(first, "memtap_allocated_bytes")
        check("running", figure(first, "memtap_run_state", state="running") == 1, first["memtap_run_state"])
        check("64 MiB at least", bytes_first >= 64 << 20, bytes_first)
        later = wait_until(file, lambda families: figure(families, "memtap_allocated_bytes") > bytes_first)
        parts = sum(value for _, value in later["memtap_peak_category_allocated_bytes"]["samples"])
        check("the peak so far has its categories", parts == figure(later, "memtap_peak_allocated_bytes") > 0, parts)
    finally:
        process.send_signal(number)
        process.wait()
        said = follower.communicate(timeout=60)[1]
    printed = subprocess.run([memtap, "metrics", str(trace)], stdout=subprocess.PIPE, text=True, check=True).stdout
    check("it ends with the program", follower.returncode == 0 and not said, follower.returncode, said)
    check("the end is the finished trace's", file.read_text() == printed, file.read_text(), printed)
    check("no longer running", figure(openmetrics.read(printed), "memtap_run_state", state="running") == 0)
    check("nothing else is left", not [each for each in folder.iterdir() if ".tmp" in each.name], *folder.iterdir())


for how in (signal.SIGINT, signal.SIGKILL):
    with tempfile.TemporaryDirectory() as place:
        follow(pathlib.Path(place), how)
sys.exit(bool(faults))
