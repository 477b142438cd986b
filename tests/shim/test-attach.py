# SPDX-License-Identifier: Apache-2.0
"""test-attach.py MEMTAP SHIM SWITCHED BUSY: memtap attach records a program that was started without memtap, and detach leaves it as it
was. `busy` notices whatever else changes."""
import atexit
import contextlib
import os
import re
import shutil
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
PR_SET_SECCOMP, STRICT, CLONE_NEWNS, PTRACE_TRACEME, PTRACE_ATTACH, WALL = 22, 1, 0x20000, 0, 16, 0x40000000

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


def is_complete(trace):
    done = subprocess.run([memtap, "info", trace], capture_output=True, text=True, check=False)
    return "ended     whole" in done.stdout


def check_window(folder):
    """A recording that stops by itself; the processes are found by their ancestor."""
    shell = start("sh", "-c", f"'{switched}' 1 1 1 wait & '{switched}' 1 1 1 wait & wait", folder=folder)
    ranks = []

    def begun():
        ranks[:] = map(int, Path(f"/proc/{shell.pid}/task/{shell.pid}/children").read_text().split())
        return len(ranks) == 2 and all("libcudart" in Path(f"/proc/{rank}/maps").read_text() for rank in ranks)

    check(until(begun), "they run")
    code, said = command("attach", "--tree", "--seconds", 1, "-o", "%p.mtap", shell.pid, cwd=folder)
    equal("attached", (code, sorted(said.splitlines())), (0, sorted(f"process {rank} is recorded in {folder}/{rank}.mtap" for rank in ranks)))
    for rank in ranks:
        check(until(lambda rank=rank: is_complete(folder / f"{rank}.mtap")), "it stops by itself")
        check((counts(folder / f"{rank}.mtap") or [0])[0] > 1, "it has what was allocated")
    code, said = command("detach", "--tree", shell.pid)
    equal("detached", (code, sorted(said.splitlines())), (0, sorted(f"process {rank} runs without memtap again" for rank in ranks)))
    (folder / "end").touch()
    equal("the programs' end", shell.wait(), 0)


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


def refused(what, process, words, *options, verb="attach", **more):
    code, said = command(verb, *options, process.pid if hasattr(process, "pid") else process, **more)
    check(code == 2 and words in said and said.count("\n") == 1, what, code, said)


def sleeper(folder, before="", **more):
    """A process that waits, after a line of Python."""
    line = f"import ctypes, os, time; libc = ctypes.CDLL(None); {before}; print('ready', flush=True); os.read(0, 1)"
    process = start(sys.executable, "-c", line, folder=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **more)
    equal("it runs", process.stdout.readline(), "ready\n")
    return process


@contextlib.contextmanager
def traced(process):
    """A process that another one traces and has stopped, as a debugger does."""
    line = f"import ctypes, os, signal; libc = ctypes.CDLL(None); libc.ptrace({PTRACE_ATTACH}, {process.pid}, 0, 0);" \
           f"os.waitpid({process.pid}, {WALL}); print('ready', flush=True); os.read(0, 1)"
    with subprocess.Popen([sys.executable, "-c", line], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as debugger:
        equal("it is traced", debugger.stdout.readline(), "ready\n")
        yield
        debugger.stdin.close()


def check_machines(folder):
    """Programs that run without the C library's loader, or for another machine, where a compiler makes them."""
    (folder / "wait.c").write_text("int main(void) { for (;;) __asm__ volatile(\"\"); }\n")
    for compiler, words in (("gcc -static", "statically linked"), ("gcc -static-pie", "statically linked"), ("musl-gcc", "musl"),
                            ("gcc -m32 -nostdlib -static -e main", "another machine type")):
        if not shutil.which(compiler.split()[0]):
            continue
        if subprocess.run([*compiler.split(), "wait.c", "-o", "wait"], cwd=folder, capture_output=True, check=False).returncode:
            continue
        process = start(folder / "wait", folder=folder)
        check(until(lambda process=process: os.readlink(f"/proc/{process.pid}/exe") == str(folder / "wait")), "it runs")
        refused(compiler, process, words)
        process.kill()
        process.wait()


def check_ends(folder):
    """Processes that end while memtap attaches: one line, or an attached process."""
    for number in range(12):
        process = sleeper(folder, "pass")
        with subprocess.Popen([memtap, "attach", "-o", f"ends-{number}.mtap", str(process.pid)], cwd=folder, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True) as attaching:
            time.sleep(0.004 * number)
            process.kill()
            process.wait()
            said = attaching.communicate()[0]
            known = "is recorded in" in said if not attaching.returncode else re.search(r"has ended|no such process", said)
            check(known and said.count("\n") == 1, "a process that ends meanwhile", attaching.returncode, said)


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
    stopped = sleeper(folder, "pass")
    with traced(stopped):
        refused("stopped by a debugger", stopped, "is traced by process")
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
    refused("no CUDA in a tree", sleeper(folder, "pass"), "neither it nor a descendant uses CUDA", "--tree")


for part in (check_commands, check_window, check_unharmed, check_later, check_refusals, check_machines, check_ends):
    with tempfile.TemporaryDirectory() as path:
        part(Path(path).resolve())
finish()
