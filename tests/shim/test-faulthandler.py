# SPDX-License-Identifier: Apache-2.0
"""test-faulthandler.py SHIM LIBCUDART: another program truncates a trace's tail while Python's own faulthandler is on, as pytest has it: the
program goes on, and a bus error of its own is still reported by faulthandler and ends it."""
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
from checks import check, finish

shim, library = map(os.path.abspath, sys.argv[1:])

PROGRAM = """
import ctypes, faulthandler, mmap, os, sys, threading
when, kept = sys.argv[1], int(sys.argv[2])
if when != "late":
    faulthandler.enable(all_threads=when == "all")
cuda = ctypes.CDLL(sys.argv[3])

def allocate(n):
    address = ctypes.c_void_p()
    for size in range(n):
        cuda.cudaMalloc(ctypes.byref(address), ctypes.c_size_t(size + 1))

allocate(100)
if when == "late":
    faulthandler.enable()
if kept < 0:  # a bus error of its own
    with open("own", "wb+") as file:
        file.truncate(4096)
        memory = mmap.mmap(file.fileno(), 4096)
        file.truncate(0)
        print(memory[0])
os.truncate("t.mtap.tail", kept)
threads = [threading.Thread(target=allocate, args=(20000,)) for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
faulthandler.is_enabled() and print("went on")
"""


def run(*words):
    environment = {**os.environ, "LD_PRELOAD": shim, "MEMTAP_OUTPUT": "t.mtap", "ASAN_OPTIONS": "verify_asan_link_order=0"}
    for path in pathlib.Path().glob("t.mtap*"):
        path.unlink()
    return subprocess.run([sys.executable, "-c", PROGRAM, *map(str, words), library], env=environment, capture_output=True, text=True,
                          timeout=120, check=False)


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    for when in "early", "all", "late":
        for kept in () if when == "late" else (0, 4096, 100000, 1500000):  # late: not covered (docs/design/recording.md)
            done = run(when, kept)
            check(done.returncode == 0 and "went on" in done.stdout and "Fatal" not in done.stderr, f"{when}, {kept}", done)
            check(done.stderr.count("its tail was truncated") == 1, f"{when}, {kept}: is said once", done.stderr)
        done = run(when, -1)
        check(done.returncode == -signal.SIGBUS and "Fatal Python error: Bus error" in done.stderr and "line" in done.stderr,
              f"{when}: its own bus error", done)
finish()
