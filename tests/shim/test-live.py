# SPDX-License-Identifier: Apache-2.0
"""test-live.py [--kills N] [--seed N] MEMTAP SHIM ALLOC-THREADS FOLLOW-TRACE: a trace whose program is running is never
taken for one of a dead program, whatever the program does with its files; commands that read or rewrite
it meanwhile harm nothing; and SIGKILL at any moment loses nothing. A quarter of the kills falls into
shutil.copytree of the run's folder. The seed that is printed repeats a run."""
import argparse
import json
import os
import pathlib
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
from checks import until

arguments = argparse.ArgumentParser()
arguments.add_argument("--kills", type=int, default=4)
arguments.add_argument("--seed", type=int, default=random.randrange(1 << 32))
arguments.add_argument("paths", nargs=4)
options = arguments.parse_args()
memtap, shim, alloc_threads, follow_trace = (os.path.abspath(path) for path in options.paths)
copied = str(pathlib.Path(__file__).with_name("copied-program.py"))
CALLS = 400_000 if options.kills > 4 else 100_000  # at most, before a kill
faults = []
print(f"seed {options.seed}", flush=True)
chance = random.Random(options.seed)


def start(folder, command, **more):
    environment = {**os.environ, "LD_PRELOAD": shim, "MEMTAP_OUTPUT": "t.mtap", "MEMTAP_QUIET": "1",
                   "ALLOC_COUNTS": "counts", **more}
    return subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True)


def state(trace):
    info = subprocess.run([memtap, "info", "--format", "json", trace], stdout=subprocess.PIPE,
                          check=True)
    return json.loads(info.stdout)


def say(what, *found):
    faults.append(f"{what}: " + "; ".join(str(each) for each in found))


def counted(folder):
    """Mallocs and frees that had returned, and how many threads there may have been."""
    data = (folder / "counts").read_bytes() if (folder / "counts").exists() else b""
    numbers = struct.unpack(f"{len(data) // 8}Q", data)
    return sum(numbers[::2]), sum(numbers[1::2])


def use(folder, what):
    """What users do to the trace of a running program; all of it is to be harmless."""
    trace = folder / "t.mtap"
    commands = {"info": ["info", trace], "recover": ["recover", trace], "report": ["report", trace],
                "symbolize": ["symbolize", trace],
                "compact": ["compact", "-o", folder / f"c{chance.random()}.mtap", trace],
                "copy": ["recover", "-o", folder / f"r{chance.random()}.mtap", trace]}
    return subprocess.Popen([memtap, *commands[what]], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            text=True)


def is_whole(what, folder, ends):
    found = state(folder / "t.mtap")
    kinds = found["records"]
    mallocs, frees = counted(folder)
    has = kinds.get("cuda_malloc", 0), kinds.get("cuda_free", 0)
    most = found["lost"] + 4
    if not (mallocs <= has[0] + found["lost"] and has[0] <= mallocs + most
            and frees <= has[1] + found["lost"] and has[1] <= frees + most):
        say(what, f"{mallocs} and {frees} calls, {has} in the trace, {found['lost']} lost")
    if found["state"] not in ends:
        say(what, f"{found['state']}, not {' or '.join(ends)}")


def last_turns(trace):
    """How often each thread of alloc-threads has allocated, by the newest allocation that the trace has of it;
    and what was lost, from when on this says less."""
    said = subprocess.run([follow_trace, trace, "turns"], stdout=subprocess.PIPE, check=True, text=True).stdout
    lost, *turns = map(int, said.split())
    return turns, lost


def kill_bounded(number, folder):
    """A trace that is kept short: what its end must have, before and after it was recovered."""
    program = start(folder, [alloc_threads, "2", "100000000"], MEMTAP_KEEP="1M", ALLOC_COPIES="1" if number % 2 else "")
    wanted = chance.randrange(1, 3_000_000)
    until(lambda: sum(counted(folder)) >= wanted)
    use(folder, "recover").communicate()
    program.send_signal(signal.SIGKILL)
    program.wait()
    data = (folder / "counts").read_bytes()
    mallocs = dict(enumerate(struct.unpack(f"{len(data) // 8}Q", data)[::2]))
    for which in ("killed", "closed"):
        found = state(folder / "t.mtap")
        turns, lost = last_turns(folder / "t.mtap")
        gone = {thread: n for thread, n in mallocs.items() if n and not n <= turns[thread] <= n + 1}
        if found["state"] != which or (gone and not lost):
            say(f"bounded, kill {number}, {which}", found["state"], mallocs, turns)
        if which == "killed":
            output, errors = use(folder, "recover").communicate()
    # a kill may come when the next segment has been begun and is not yet in its place
    names = sorted(path.name for path in folder.glob("t.mtap*") if path.name != "t.mtap.new")
    if names not in (["t.mtap"], ["t.mtap", "t.mtap.0"]):
        say(f"bounded, kill {number}", output, errors, sorted(folder.glob("t.mtap*")))


def change_meanwhile(folder):
    """recover writes a new file and puts it in the place of the trace: not where that has changed since it was
    read. A library that is preloaded into recover appends to the trace before the new file is synchronized."""
    source, library = folder / "changes.c", folder / "changes.so"
    source.write_text('''#include <fcntl.h>
#include <unistd.h>
int fdatasync(int fd)
{
    int trace = open("t.mtap", O_WRONLY | O_APPEND);
    return trace < 0 || write(trace, "more", 4) != 4 || close(trace) || fsync(fd);
}
''')
    compiler = shutil.which("cc") or shutil.which("gcc")
    if not compiler:
        print("skipped: a trace that changes while it is recovered (there is no C compiler)")
        return
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source], check=True)
    program = start(folder, [alloc_threads, "1", "100000000"])
    until(lambda: sum(counted(folder)) >= 1000)
    program.kill()
    program.wait()
    before = (folder / "t.mtap").read_bytes()
    done = subprocess.run([memtap, "recover", folder / "t.mtap"], cwd=folder, text=True, capture_output=True,
                          env={**os.environ, "LD_PRELOAD": str(library)}, check=False)
    names = sorted(path.name for path in folder.glob("t.mtap*"))
    if done.returncode != 2 or "changed" not in done.stderr or names != ["t.mtap", "t.mtap.tail"] \
            or (folder / "t.mtap").read_bytes() != before + b"more":
        say("changed meanwhile", done.returncode, done.stdout, done.stderr, names)


def kill_at_random(number, folder):
    """One in four in the middle of copytree or tar, of which the others do without."""
    is_copy = number % 4 == 0
    way = "tar" if number % 8 == 4 else "copytree"
    what = f"kill {number}" + (f" during {way}" if is_copy else "")
    command = ([sys.executable, "-S", copied, way] if is_copy
               else [alloc_threads, str(1 + number % 3), "100000000"])
    program = start(folder, command, ALLOC_COPIES="1" if number % 4 == 1 else "")
    wanted = chance.randrange(200, 3000) if is_copy else chance.randrange(1, CALLS)
    until(lambda: sum(counted(folder)) >= wanted)
    refused = use(folder, "recover"), use(folder, "symbolize")
    for done in refused:
        errors = done.communicate()[1]
        if "still running" not in errors:
            say(what, done.args, done.returncode, errors)
    others = [use(folder, each) for each in chance.sample(["info", "recover", "report", "compact",
                                                           "copy"], 2)]
    time.sleep(chance.random() / 20)
    program.send_signal(signal.SIGKILL)
    program.wait()
    for other in others:
        other.communicate()
    is_recovered = any("recover" in other.args and not other.returncode and "-o" not in other.args
                       for other in others)  # it came when the program had just gone
    is_whole(what, folder, ["closed"] if is_recovered else ["killed"])
    recovered = use(folder, "recover")
    output, errors = recovered.communicate()
    rest = sorted(path.name for path in folder.glob("t.mtap*"))
    if recovered.returncode or rest != ["t.mtap"] or state(folder / "t.mtap")["state"] != "closed":
        say(what, "recovered", output, errors, rest)


def in_a_folder(act, *more):
    with tempfile.TemporaryDirectory() as top:
        folder = pathlib.Path(top) / "run"
        folder.mkdir()
        act(*more, folder)


def be_idle(what, alive, dead, folder):
    """Its state while the program waits, and when it was killed."""
    program = start(folder, [sys.executable, "-S", copied, what])
    if what != "exec":
        program.stdout.readline()
    trace = folder / "t.mtap"
    until(lambda: trace.exists() and trace.stat().st_size and state(trace)["state"] == alive)
    before = state(folder / "t.mtap")["state"]
    content, file = trace.read_bytes(), trace.stat().st_ino
    done = use(folder, "recover") if alive == "running" else None
    errors = done.communicate()[1] if done else ""
    is_kept = trace.stat().st_ino == file and trace.read_bytes().startswith(content)  # memtap may append to it
    program.send_signal(signal.SIGKILL)
    program.wait()
    end = state(folder / "t.mtap")["state"]
    if (before, end) != (alive, dead):
        say(what, f"{before} and then {end}, not {alive} and {dead}")
    if done and (done.returncode != 2 or not is_kept or "still running" not in errors):
        say(what, "recover", done.returncode, errors)


def seen_from_elsewhere(folder):
    """A container of its own sees the lock, and the machine sees into it."""
    unshare = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"]
    if not shutil.which("unshare") or subprocess.run([*unshare, "true"], check=False,
                                                     stderr=subprocess.DEVNULL).returncode:
        print("skipped: processes in a namespace of their own")
        return
    for writer, reader in ((unshare, []), ([], unshare), (unshare, unshare)):
        for path in folder.glob("*"):
            path.unlink()
        program = start(folder, [*writer, sys.executable, "-S", copied, "idle"])
        program.stdout.readline()
        info = subprocess.run([*reader, memtap, "info", folder / "t.mtap"], stdout=subprocess.PIPE,
                              text=True, check=True).stdout
        if "still running" not in info:
            say("namespaces", writer, reader, info)
        program.kill()
        program.wait()
        until(lambda: state(folder / "t.mtap")["state"] != "running")
        if state(folder / "t.mtap")["state"] != "killed":
            say("namespaces, killed", writer, reader, state(folder / "t.mtap")["state"])


def is_no_output(folder):
    """No command writes onto a trace that a program is writing, nor onto its tail, even by --force."""
    done = start(folder, [alloc_threads, "1", "1000"], MEMTAP_OUTPUT="done.mtap", ALLOC_COUNTS="done-counts")
    done.communicate()
    program = start(folder, [alloc_threads, "1", "100000000"])
    until(lambda: sum(counted(folder)) >= 100_000)
    commands = [["export", "-f", "csv", "-o"], ["export", "-f", "arrow", "-o"], ["metrics", "-o"], ["symbolize", "-o"],
                ["compact", "-o"], ["recover", "-o"], ["diff", "done.mtap", "--flame"], ["view", "-o"]]
    for words in commands:
        force = [] if words[0] in ("compact", "recover") else ["--force"]
        for name, why in (("t.mtap", "that a program is writing"), ("t.mtap.tail", "belongs to a trace")):
            tried = subprocess.run([memtap, words[0], *force, *words[1:], name, "done.mtap"], cwd=folder, text=True, check=False,
                                   capture_output=True)
            if tried.returncode != 2 or not (why in tried.stderr or "exists" in tried.stderr or "without its page" in tried.stderr):
                say(f"{words} onto {name}", tried.returncode, tried.stderr)
    program.kill()
    program.wait()
    is_whole("after outputs onto it", folder, ["killed"])


for case in (("idle", "running", "killed"), ("fork", "running", "killed"),
             ("_Fork", "running", "killed"), ("close", "stopped", "stopped"),
             ("exec", "executed", "executed")):
    in_a_folder(be_idle, *case)
in_a_folder(seen_from_elsewhere)
in_a_folder(change_meanwhile)
in_a_folder(is_no_output)
for kill in range(options.kills):
    in_a_folder(kill_at_random, kill)
for kill in range(max(2, options.kills // 10)):
    in_a_folder(kill_bounded, kill)
print("\n".join(faults) or f"{options.kills} kills, nothing lost")
sys.exit(bool(faults))
