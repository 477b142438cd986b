# SPDX-License-Identifier: Apache-2.0
"""test-attach.py MEMTAP SHIM SWITCHED BUSY: memtap attach records a program that was started without memtap, and detach leaves it as it
was. `busy` notices whatever else changes."""
import atexit
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))
from checks import check, equal, finish, until

memtap, shim, switched, busy = (os.path.abspath(path) for path in sys.argv[1:])
os.environ["LD_LIBRARY_PATH"] = os.environ["MEMTAP_TEST_BUILD"]
os.environ["MEMTAP_QUIET"] = "1"
PR_SET_SECCOMP, STRICT, CLONE_NEWNS, PTRACE_TRACEME = 22, 1, 0x20000, 0

# Loads the runtime, and looks a function up, when it is attached.
LATER = """
import ctypes, os, time
print("ready", flush=True)
while not os.path.exists("go"):
    time.sleep(0.005)
runtime = ctypes.CDLL("libcudart.so.13")
address = ctypes.c_void_p()
for _ in range(10):
    assert not runtime.cudaMalloc(ctypes.byref(address), ctypes.c_size_t(512)) and not runtime.cudaFree(address)
while not os.path.exists("end"):
    time.sleep(0.005)
"""


def command(*arguments, **more):
    done = subprocess.run([memtap, *map(str, arguments)], capture_output=True, text=True, check=False, **more)
    return done.returncode, done.stdout + done.stderr


def start(*words, folder, **more):
    process = subprocess.Popen(words, cwd=folder, **more)
    atexit.register(process.kill)  # where a fault ends the test
    return process


def counts(trace):
    """Mallocs, frees, losses; None unless the trace is whole."""
    done = subprocess.run([memtap, "dump", trace], capture_output=True, text=True, check=False)
    whole = not done.returncode and not done.stderr
    return tuple(done.stdout.count(f" {kind} ") for kind in ("cuda_malloc", "cuda_free", "lost")) if whole else None


def threads(pid):
    return len(list(Path(f"/proc/{pid}/task").iterdir()))


def attach(process, folder, trace="t.mtap"):
    code, said = command("attach", "-o", trace, process.pid, cwd=folder)
    if "does not permit" in said:
        print("skipped:", said)
        sys.exit(77)
    return check(code == 0 and said == f"process {process.pid} is recorded in {folder}/{trace}\n", "attach", code, said)


def detach(process, folder, trace="t.mtap"):
    code, said = command("detach", process.pid)
    return check(code == 0 and said == f"process {process.pid} runs without memtap again; {folder}/{trace} is complete\n", "detach", code,
                 said)


def check_commands(folder):
    process = start(switched, "1", "1", "1", "wait", folder=folder)
    check(until(lambda: "libcudart" in Path(f"/proc/{process.pid}/maps").read_text()), "it runs")
    for trace in ("a.mtap", "b.mtap"):
        attach(process, folder, trace)
        code, said = command("attach", process.pid, cwd=folder)
        check(code == 2 and "attached already" in said, "attach again", said)
        check(until(lambda trace=trace: (folder / trace).stat().st_size > 500), "it writes")
        detach(process, folder, trace)
        check(until(lambda: threads(process.pid) == 1), "no thread is left")
        code, said = command("detach", process.pid)
        check(code == 2 and "is not attached" in said, "detach again", said)
        mallocs, frees, lost = counts(folder / trace) or (0, 0, 0)
        check(mallocs > 20 and abs(mallocs - frees) <= 1 and not lost, "each pair is recorded", mallocs, frees, lost)
    (folder / "end").touch()
    equal("the program's end", process.wait(), 0)


def check_unharmed(folder):
    process = start(busy, folder=folder, stdout=subprocess.PIPE, text=True)
    for number in range(6):
        with subprocess.Popen([memtap, "attach", "-o", "killed.mtap", str(process.pid)], cwd=folder, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL) as killed:
            time.sleep(0.01 * number)
            killed.kill()
        code, said = command("attach", "-o", f"{number}.mtap", process.pid, cwd=folder)
        check(code == 0 or "attached already" in said, "attach after a command that was killed", said)
        equal("detach", command("detach", process.pid)[0], 0)
    (folder / "end").touch()
    equal("the program's results", (process.wait(), process.stdout.read()), (0, "done\n"))


def check_later(folder):
    process = start(sys.executable, "-c", LATER, folder=folder, stdout=subprocess.PIPE, text=True)
    equal("it runs", process.stdout.readline(), "ready\n")
    attach(process, folder)
    (folder / "go").touch()
    check(until(lambda: (folder / "t.mtap").stat().st_size > 500), "it writes")
    detach(process, folder)
    (folder / "end").touch()
    equal("the program's end", process.wait(), 0)
    equal("what it loaded later", counts(folder / "t.mtap"), (10, 10, 0))


def refused(what, process, words, *, verb="attach", **more):
    code, said = command(verb, process.pid if hasattr(process, "pid") else process, **more)
    check(code == 2 and words in said and said.count("\n") == 1, what, code, said)


def sleeper(folder, before="", **more):
    """A process that waits, after a line of Python."""
    line = f"import ctypes, os, time; libc = ctypes.CDLL(None); {before}; print('ready', flush=True); os.read(0, 1)"
    process = start(sys.executable, "-c", line, folder=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **more)
    equal("it runs", process.stdout.readline(), "ready\n")
    return process


def check_refusals(folder):
    plain = sleeper(folder, "pass")
    refused("not attached", plain, "is not attached", verb="detach")
    if not os.geteuid():
        done = subprocess.run([memtap, "detach", str(plain.pid)], capture_output=True, text=True, check=False, user=65534)
        check(done.returncode == 2 and "belongs to another user" in done.stderr, "another user's", done)
        refused("setuid", sleeper(folder, "os.seteuid(65534)"), "another user's rights")
        refused("a container", sleeper(folder, f"libc.unshare({CLONE_NEWNS})"), "in a container")
    refused("seccomp", sleeper(folder, f"libc.prctl({PR_SET_SECCOMP}, {STRICT}, 0, 0, 0)"), "(seccomp)")
    refused("traced", sleeper(folder, f"libc.ptrace({PTRACE_TRACEME}, 0, 0, 0)"), "is traced by process")
    refused("with memtap", sleeper(folder, "pass", env={**os.environ, "LD_PRELOAD": shim}), "runs with memtap already")
    os.kill(plain.pid, signal.SIGSTOP)
    check(until(lambda: "T (stopped)" in Path(f"/proc/{plain.pid}/status").read_text()), "it is stopped")
    refused("stopped", plain, "is stopped")
    plain.kill()
    os.waitid(os.P_PID, plain.pid, os.WEXITED | os.WNOWAIT)
    refused("a zombie", plain, "has ended")
    plain.wait()
    refused("an ended process", plain, "no such process")
    refused("no number", "x", "not the number of another process")


for part in (check_commands, check_unharmed, check_later, check_refusals):
    with tempfile.TemporaryDirectory() as path:
        part(Path(path).resolve())
finish()
