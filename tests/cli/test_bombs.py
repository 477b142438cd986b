# SPDX-License-Identifier: Apache-2.0
"""test_bombs.py MAKE-BOMBS MEMTAP: small traces that stand for much go through every command. Each stays
within the memory and the output that it may take, says in one line where it stopped, and ends by itself."""

import os
import resource
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

make_bombs, memtap = map(os.path.abspath, sys.argv[1:3])
only = sys.argv[3:]  # bombs
MEMORY, OUTPUT = 160 << 20, 4 << 20
COMMANDS = [
    ["report"],
    ["report", "-f", "json"],
    ["report", "--by", "module"],
    ["report", "--by", "stack"],
    ["blocks"],
    ["blocks", "-f", "csv"],
    ["blocks", "-f", "json"],
    ["stacks"],
    ["stacks", "-f", "folded"],
    ["stacks", "-f", "json"],
    ["oom"],
    ["info"],
    ["info", "-f", "json"],
    ["dump"],
    ["budget"],
    ["compact", "-o", "{}.compact"],
    ["recover", "-o", "{}.recovered"],
    ["symbolize", "-o", "{}.named"],
    ["explain", "{}", "8192"],
    ["explain", "{}", "200000"],
    ["diff", "{}"],
    ["diff", "-f", "json", "{}"],
    ["diff", "--flame", "{}.flame", "{}"],
    ["check", "--against", "{}", "--"],
    ["history", "add", "--db", "{}.db"],
    ["plan"],
    ["export", "-f", "perfetto", "-o", "{}.perfetto"],
    ["export", "-f", "csv", "-o", "{}.csv"],
    ["export", "-f", "speedscope", "-o", "{}.speedscope"],
    ["export", "-f", "folded", "-o", "{}.folded"],
]
STOPS = [  # and says so
    ("live.mtap", "report"),
    ("names.mtap", "report"),
    ("shared.mtap", "stacks -f folded"),
    ("shared.mtap", "stacks -f json"),
    ("live.mtap", "dump"),
    ("recursion.mtap", "export -f folded -o {}.folded"),
    ("recursion.mtap", "export -f speedscope -o {}.speedscope"),
]
faults, figures = [], []


def asked_of(number, bomb):
    """All commands of a bomb that is named, else every sixth, and those that stop."""
    for at, command in enumerate(COMMANDS):
        if only or (at + number) % 6 == 0 or (bomb, " ".join(command)) in STOPS:
            yield command


def limit():
    resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def run(folder, bomb, command):
    words = [word.format(bomb) for word in command]
    if "explain" not in command and "--" not in command:
        words.append(bomb)
    words = [bomb if word == "--" else word for word in words]
    with open(os.path.join(folder, f"{bomb}.{'-'.join(command).replace('/', '')}.out"), "wb") as out:
        child = subprocess.Popen(
            [memtap, "--most-memory", f"{MEMORY >> 20} MiB", "--most-output", f"{OUTPUT >> 20} MiB", *words],
            cwd=folder,
            stdout=out,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            preexec_fn=limit,
        )
        errors = child.stderr.read().decode()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = 0
        size = os.fstat(out.fileno()).st_size
    code, memory, where = os.waitstatus_to_exitcode(status), usage.ru_maxrss << 10, f"{' '.join(words)}"
    figures.append((memory >> 20, size >> 10, where))
    if code not in (0, 1, 2):
        faults.append(f"{where}: exit code {code}: {errors[-300:]}")
    if memory > MEMORY + (64 << 20) or size > OUTPUT:
        faults.append(f"{where}: {memory >> 20} MiB of memory, {size >> 10} KiB of output")
    lines = errors.splitlines()
    is_told = any("--most-" in line or "out of memory" in line for line in lines)
    if any(not line.startswith("memtap") for line in lines) or len(lines) > 3 or (size == OUTPUT and not is_told):
        faults.append(f"{where}: {errors[:600]}")
    if any(line.endswith("out of memory") for line in lines):
        faults.append(f"{where} does not say what allows more: {errors}")
    os.unlink(out.name)
    made = os.path.join(folder, words[words.index("-o") + 1]) if "-o" in words else ""
    if os.path.exists(made):
        if os.path.getsize(made) > OUTPUT:
            faults.append(f"{where}: a file of {os.path.getsize(made) >> 10} KiB")
        os.unlink(made)
    return errors


def check_events(folder):
    """Without limits of its own a command expands what a file of that size may stand for, and says how to raise it."""

    def report(*options):
        done = subprocess.run(
            [memtap, *options, "report", "pairs.mtap"], cwd=folder, capture_output=True, text=True, check=False
        )
        return done.returncode, done.stderr

    code, errors = report()
    if code != 2 or errors.count("\n") != 1 or "--most-events" not in errors:
        faults.append(f"report pairs.mtap: {code}: {errors}")
    code, errors = report("--most-events", "30000000")
    if code or errors:
        faults.append(f"--most-events 30000000 report pairs.mtap: {code}: {errors}")
    done = subprocess.run(
        [memtap, "--most-events", "30000000", "--most-memory", "64 MiB", "oom", "pairs.mtap"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.stderr.count("\n") != 1 or "never ran out" not in done.stderr:
        faults.append(f"oom pairs.mtap keeps requests although nothing ran out: {done.stderr}")
    for wrong in ("0", "-1", "many", "1x", "99999999999999999999"):
        code, errors = report("--most-events", wrong)
        if code != 2 or "not a number of events" not in errors:
            faults.append(f"--most-events {wrong}: {code}: {errors}")


def check_memory(folder):
    """Where no trace is at fault, the line names the option all the same."""
    done = subprocess.run(
        [memtap, "--most-memory", "64 MiB", "diff", "-f", "json", "names.mtap", "modules.mtap"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 2 or "--most-memory" not in done.stderr.splitlines()[-1]:
        faults.append(f"diff names.mtap modules.mtap: {done.returncode}: {done.stderr}")


def check_night(folder):
    """A night is read within the limits, too."""
    copy = ["sh", "-c", 'cp names.mtap "$MEMTAP_OUTPUT"']
    done = subprocess.run(
        [memtap, "--most-memory", "64 MiB", "nightly", "--folder", "nights", "--", *copy],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 1 or "--most-memory" not in done.stderr:
        faults.append(f"nightly with names.mtap: {done.returncode}: {done.stderr}")


def main():
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([make_bombs], cwd=folder, check=True)
        bombs = only or sorted(name for name in os.listdir(folder) if name.endswith(".mtap"))
        if "pairs.mtap" in bombs:
            check_events(folder)
        if {"names.mtap", "modules.mtap"} <= set(bombs):
            check_memory(folder)
            check_night(folder)
        with ThreadPoolExecutor(2) as pool:
            jobs = [
                (bomb, command, pool.submit(run, folder, bomb, command))
                for number, bomb in enumerate(bombs)
                for command in asked_of(number, bomb)
            ]
        errors = {(bomb, " ".join(command)): job.result() for bomb, command, job in jobs}
    for bomb, command in STOPS:
        if bomb in bombs and "--most-" not in errors[bomb, command]:
            faults.append(f"{command} {bomb} does not say that it stopped: {errors[bomb, command]}")
    for (bomb, command), said in errors.items():
        if bomb == "recursion.mtap" and command.startswith(("diff", "check", "budget", "history")) and "out of memory" in said:
            faults.append(f"{command} recursion.mtap: {said}")
    for memory, size, where in sorted(figures, reverse=True)[:8]:
        print(f"{memory:6} MiB {size:8} KiB  {where}")
    print(len(figures), "runs", *faults, sep="\n")
    sys.exit(bool(faults))


main()
