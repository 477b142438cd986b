# SPDX-License-Identifier: Apache-2.0
"""counts.py [--write] [--step MARKS] SHIM PROGRAMS LIBRARIES: what an event costs, in numbers that do not depend on the machine. Each
number stands in counts.csv, and one that grows is a failure: who lets it grow edits the table, and says why. PROGRAMS: the folder of
the loops; LIBRARIES: the path of what they are linked with; --step: only the rows of a PyTorch training step, in which MARKS says
where to count; --write makes these rows anew.

instructions    an event costs the program's own thread, by two runs of different lengths under callgrind; or a training step, those
                of libmemtap.so in all threads of the program but memtap's own
locked          instructions with a lock prefix, exchanges with memory and fences, in the functions that take part in every event, or in
                every step
code lines,
data lines      of 64 bytes that a pair of an allocation and a free touches, the program's own lines included: each has to come back
                into a cache that the program has filled with its own
system calls    of ours in a training step, in all threads of the program but memtap's own
written bytes   that the loader maps writable for libmemtap.so in each process
live bytes      of memory that is no file's, and that was written to, which a program has more of with memtap after 20,000 events by 1,024
                ways with native stacks. memtap works in turns then: what its thread would have done by a moment depends on the machine

Another compiler or another PyTorch gives other numbers: then the test is skipped."""

import argparse
import csv
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "torch"))
import harness

TABLE = Path(__file__).with_name("counts.csv")
MAY_VARY = 1.03
MAY_BE_MORE = 1  # system calls a step, of some 4: what a few steps share falls into one of them
MAY_MOVE = 1.15  # lines: where the linker puts a function depends on all others
LOOPS = {  # stacks, program, arguments before the number, numbers of two runs, events of one
    "allocation or free": ("none", "threads-loop", ["1"], (4000, 12000), 1),
    "driver, python": ("python", "driver-loop", [], (10000, 40000), 1),
    "driver, native stack": ("native", "driver-loop", [], (10000, 40000), 1),
    "runtime, native stack": ("native", "native-loop", [], (10000, 40000), 1),
}
STEP = Path(__file__).with_name("counted_step.py")
STEPS = 4
KINDS_OF_STEPS = {"python": ["--stacks", "python"], "both": ["--stacks", "both"], "light": ["--light"]}
OFTEN = 1000  # instructions a step: of functions that run in each
PAIRS = 1009  # whose lines are looked at: nothing else runs so often
LINE = 64
# Addresses decide which places of a cache two stacks share.
FIXED = ["setarch", "-R"] if subprocess.run(["setarch", "-R", "true"], stderr=subprocess.DEVNULL).returncode == 0 else []
VALGRIND = ["valgrind", "-q", "--fair-sched=yes"]
LOCKED = re.compile(r"\t(lock |mfence|xchg .*\()")


def run(options, folder, loop, number, *valgrind):
    stacks, program, words, _, _ = LOOPS[loop]
    environment = {**os.environ, "LD_PRELOAD": options.shim, "LD_LIBRARY_PATH": options.libraries, "MEMTAP_QUIET": "1",
                   "MEMTAP_OUTPUT": f"{folder}/{program}-{stacks}-{number}.mtap", "MEMTAP_STACKS": stacks}
    subprocess.run([*FIXED, *VALGRIND, *valgrind, f"{options.programs}/{program}", *words, str(number)],
                   env=environment, check=True, stdout=subprocess.DEVNULL)


def profile_of(options, folder, loop, number):
    """The callgrind profile of the program's first thread."""
    stacks, program, words, _, _ = LOOPS[loop]
    out = Path(folder, f"{program}-{stacks}-{number}")
    run(options, folder, loop, number, "--tool=callgrind", "--separate-threads=yes", f"--callgrind-out-file={out}")
    # threads-loop's first thread only waits for its second one.
    thread = "02" if words else "01"
    return Path(f"{out}-{thread}").read_text()


def total(profile):
    return int(re.search(r"^totals: (\d+)", profile, re.MULTILINE).group(1))


def costs(profile, calls=None):
    """The instructions that each function of libmemtap.so took itself. calls: to count in what these functions call, by name."""
    names, cost, current, is_call, is_ours = {}, {}, None, False, False
    objects = {}
    callee = None
    for line in profile.splitlines():
        found = re.match(r"(fn|ob|cfn|cob)=\((\d+)\)(?: (.*))?", line)
        if found:
            kind, number, name = found.groups()
            known = objects if kind.endswith("ob") else names
            if name:
                known[number] = name
            if kind == "ob":
                is_ours = "libmemtap.so" in objects[number]
            elif kind == "fn":
                current = (names[number], is_ours)
            elif kind == "cfn":
                callee = names[number].split("'")[0]
        elif line.startswith("calls="):
            is_call = True
            if calls is not None and current and current[1]:
                calls[callee] += int(line[6:].split()[0])
        elif re.match(r"[+\-*\d]", line):
            if not is_call and current and current[1]:
                cost[current[0]] = cost.get(current[0], 0) + int(line.split()[1])
            is_call = False
    return cost


def functions_of_every_event(profile, events):
    """The functions of libmemtap.so that take at least an instruction an event."""
    return {name.split("'")[0] for name, instructions in costs(profile).items() if instructions >= events}


def locked_in(shim, functions):
    """Instructions of these functions that other processors' caches have to know of."""
    said = subprocess.run(["objdump", "-d", "--no-show-raw-insn", shim], check=True, capture_output=True, text=True).stdout
    count, is_wanted = 0, False
    for line in said.splitlines():
        begins = re.match(r"[0-9a-f]+ <(.*)>:", line)
        if begins:
            is_wanted = begins.group(1) in functions
        elif is_wanted and LOCKED.search(line):
            count += 1
    return count


def system_calls():
    """The functions of the C library that make one. The time comes without."""
    libc = re.search(r"/\S*/libc\.so\.6", Path("/proc/self/maps").read_text()).group(0)
    said = {tool: subprocess.run([*tool, libc], check=True, capture_output=True, text=True).stdout.splitlines()
            for tool in (("nm", "-D", "--defined-only"), ("objdump", "-d", "--no-show-raw-insn"))}
    names, making, at = {}, set(), None
    for address, _, name in map(str.split, said["nm", "-D", "--defined-only"]):
        names.setdefault(int(address, 16), set()).add(name.split("@")[0])
    for line in said["objdump", "-d", "--no-show-raw-insn"]:
        if line.endswith(">:"):
            at = int(line.split()[0], 16)
        elif line.rstrip().endswith("\tsyscall"):
            making |= names.get(at, set())
    return making - {"clock_gettime"}


def lines_of_a_pair(options, folder):
    """Lines of code and of data between two turns of the loop; medians."""
    log = Path(folder, "accesses")
    run(options, folder, "allocation or free", 2 * PAIRS, "--tool=lackey", "--trace-mem=yes", f"--log-file={log}")
    accesses = [line for line in log.read_text().splitlines() if line[2:3] == " "]  # "I  04889d49,4" or " L 04889d49,4"
    often = Counter(line for line in accesses if line[0] == "I")
    mark = next(line for line in accesses if often[line] == PAIRS)
    begins = [i for i, line in enumerate(accesses) if line == mark]
    found = {"code": [], "data": []}
    for begin, end in zip(begins, begins[1:]):
        lines = {"code": set(), "data": set()}
        for access in accesses[begin:end]:
            address, size = access[3:].split(",")
            at = int(address, 16)
            lines["code" if access[0] == "I" else "data"] |= {at // LINE, (at + int(size) - 1) // LINE}
        for kind, touched in lines.items():
            found[kind].append(len(touched))
    return {kind: statistics.median(counts) for kind, counts in found.items()}


def written_bytes(shim):
    said = subprocess.run(["readelf", "-lW", shim], check=True, capture_output=True, text=True).stdout
    return sum(int(words[5], 16) for words in map(str.split, said.splitlines()) if words[:1] == ["LOAD"] and "W" in "".join(words[6:-1]))


def live_bytes(options, folder):
    """Compared with the program alone."""
    said = []
    for recording in ({}, {"LD_PRELOAD": options.shim, "MEMTAP_QUIET": "1", "MEMTAP_THREAD": "0", "MEMTAP_STACKS": "native",
                           "MEMTAP_OUTPUT": f"{folder}/live.mtap"}):
        done = subprocess.run([*FIXED, f"{options.programs}/live-bytes"], check=True, capture_output=True, text=True,
                              env={**os.environ, "LD_LIBRARY_PATH": options.libraries, **recording})
        said.append(int(done.stdout))
    return said[1] - said[0]


def profiles_of_a_step(options, folder, kind):
    """What the functions take in each thread that records, memtap's own ones never do; and what they call how often."""
    out = Path(folder, f"step-{kind}")
    harness.must_run([*harness.recorded(f"{out}.mtap", "-q", *KINDS_OF_STEPS[kind]), *FIXED, *VALGRIND, "--tool=callgrind",
                      "--instr-atstart=no", "--separate-threads=yes", f"--callgrind-out-file={out}", harness.PYTHON, STEP, options.step,
                      STEPS])
    of_threads, called = [], Counter()
    for path in Path(folder).glob(f"{out.name}-*"):
        calls = Counter()
        cost = costs(path.read_text(), calls)
        if any("reportMemoryUsageToProfiler" in name for name in cost):
            of_threads.append(cost)
            called += calls
    return of_threads, called


def measure_step(options):
    making = system_calls()
    with tempfile.TemporaryDirectory() as folder:
        for kind in KINDS_OF_STEPS:
            of_threads, called = profiles_of_a_step(options, folder, kind)
            often = {name.split("'")[0] for cost in of_threads for name, instructions in cost.items() if instructions >= OFTEN * STEPS}
            yield f"training step, {kind}", "instructions", round(sum(sum(cost.values()) for cost in of_threads) / STEPS)
            yield f"training step, {kind}", "locked", locked_in(options.shim, often)
            yield f"training step, {kind}", "system calls", sum(count for name, count in called.items() if name in making) / STEPS


def measure(options):
    if options.step:
        yield from measure_step(options)
        return
    with tempfile.TemporaryDirectory() as folder:
        for loop, (_, _, _, (few, many), events) in LOOPS.items():
            profiles = [profile_of(options, folder, loop, number) for number in (few, many)]
            yield loop, "instructions", round((total(profiles[1]) - total(profiles[0])) / (many - few) / events, 1)
            yield loop, "locked", locked_in(options.shim, functions_of_every_event(profiles[1], many * events))
        for kind, lines in lines_of_a_pair(options, folder).items():
            yield "a pair", f"{kind} lines", lines
        yield "libmemtap.so", "live bytes", live_bytes(options, folder)
    yield "libmemtap.so", "written bytes", written_bytes(options.shim)


def made_by(options):
    """The compiler, and the PyTorch whose step is counted."""
    compiler = re.search(r"GCC: \(.*?\) (\d+)", Path(options.shim).read_bytes().decode("latin-1"))
    words = [f"gcc {compiler.group(1)}" if compiler else "another compiler"]
    if options.step:
        harness.need_torch()
        words.append("PyTorch " + harness.must_run([harness.PYTHON, "-c", "from importlib.metadata import version; print(version('torch'))"]).stdout.strip().split("+")[0])
    return ", ".join(words)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--step")
    for name in ("shim", "programs", "libraries"):
        parser.add_argument(name)
    options = parser.parse_args()
    if not shutil.which("valgrind"):
        print("counts.py: valgrind is missing")
        return 77
    compiler = made_by(options)
    with TABLE.open(newline="") as file:
        rows = list(csv.DictReader(file))
    table = {(row["of"], row["what"]): row for row in rows if row["of"].startswith("training step") == bool(options.step)}
    if options.write:
        others = [row for row in rows if (row["of"], row["what"]) not in table]
        rows = [dict(zip(rows[0], (*row, compiler))) for row in measure(options)]
        with TABLE.open("w", newline="") as file:
            writer = csv.DictWriter(file, rows[0], lineterminator="\n")
            writer.writeheader()
            writer.writerows(sorted(others + rows, key=lambda row: row["of"].startswith("training step")))
        return 0
    if any(row["compiler"] != compiler for row in table.values()):
        print(f"counts.csv was measured with another compiler, or PyTorch, than {compiler}")
        return 77
    grown = 0
    measured = {(of, what): number for of, what, number in measure(options)}
    for key in sorted(measured.keys() | table.keys()):
        number, told = measured.get(key), float(table[key]["number"]) if key in table else None
        may = MAY_MOVE if key[1].endswith("lines") else MAY_VARY
        most = 0 if told is None else told + MAY_BE_MORE if key[1] == "system calls" else told * may
        is_more = number is None or number > most
        grown += is_more
        print(f"{'GREW' if is_more else 'ok':6}{key[0]:24}{key[1]:16}{number} (table: {told})")
    return 1 if grown else 0


sys.exit(main())
