# SPDX-License-Identifier: Apache-2.0
"""test_child_ends.py MEMTAP: how processes end that are children of memtap run's child: by themselves, by a signal
of the kernel's, by one of their parent's. Who killed the last two is known to the kernel alone, which tells it from
Linux 6.15 on; before, such a trace says that the process was killed, and no number."""
import json
import os
import pathlib
import platform
import re
import subprocess
import sys
import tempfile

memtap = os.path.realpath(sys.argv[1])
CHILD = """import ctypes, os, signal, sys, time
cuda, at = ctypes.CDLL("libcudart.so.13"), ctypes.c_void_p()
assert not cuda.cudaMalloc(ctypes.byref(at), ctypes.c_size_t(64 << 20))
print("ready", flush=True)
sys.stdin.readline()
{"exit": lambda: os._exit(3), "itself": lambda: os.kill(os.getpid(), 9), "crash": lambda: ctypes.string_at(0),
 "wait": lambda: time.sleep(600), "well": lambda: None}[sys.argv[1]]()
"""
PARENT = """import glob, os, subprocess, sys, time
def is_seen(pid):
    told = []
    for name in glob.glob(f"/proc/{os.getppid()}/fdinfo/*"):
        try:
            told += open(name).read().splitlines()
        except OSError:
            pass
    return f"Pid:\\t{pid}" in told
def child(how, signal=0):
    child = subprocess.Popen([sys.executable, "child.py", how], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             env={**os.environ, "MEMTAP_OUTPUT": f"{how}{signal}.mtap"})
    child.stdout.readline()
    while not is_seen(child.pid):
        time.sleep(0.01)
    if signal:
        child.send_signal(signal)
    child.communicate(b"go on\\n")
for how in "exit", "itself", "crash", "well":
    child(how)
for signal in 9, 15, 11:
    child("wait", signal)
for _ in range(50):
    os.waitpid(os.posix_spawn("/bin/true", ["true"], os.environ), 0)
"""
KNOWS = tuple(int(part) for part in re.findall(r"\d+", platform.release())[:2]) >= (6, 15)
NAMES = {6: "SIGABRT", 9: "SIGKILL", 11: "SIGSEGV", 15: "SIGTERM"}


def killed(number, is_known=KNOWS):
    return f"killed by signal {number} ({NAMES[number]})" if is_known else "killed"


WANTED = {"exit0": "exit code 3", "itself0": killed(9, True), "crash0": killed(11), "well0": "whole",
          "wait9": "terminated by process N, which started it (SIGKILL)", "wait15": killed(15), "wait11": killed(11)}


def unnumbered(text):
    return re.sub(r"process \d+", "process N", text)


def main():
    with tempfile.TemporaryDirectory() as folder:
        for name, text in {"child.py": CHILD, "parent.py": PARENT}.items():
            (pathlib.Path(folder) / name).write_text(text)
        done = subprocess.run([memtap, "run", "--simulate", "t4", "--", sys.executable, "parent.py"], cwd=folder,
                              capture_output=True, text=True, timeout=300, check=False)
        found = {}
        for trace in sorted(pathlib.Path(folder).glob("*.mtap")):
            shown = subprocess.run([memtap, "info", "-f", "json", trace], capture_output=True, text=True, check=True)
            found[trace.stem] = unnumbered(json.loads(shown.stdout)["ended"]["text"])
        for name, text in WANTED.items():
            if text != "whole" and f"{name}.mtap: " in done.stderr and f"ended: {text};" not in unnumbered(done.stderr):
                found[name] += ", but memtap run does not say so"
    if found != WANTED or done.returncode:
        sys.exit(f"exit code {done.returncode}\n{done.stdout}{done.stderr}\n{found}\nnot\n{WANTED}")


main()
