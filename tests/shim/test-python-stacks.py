# SPDX-License-Identifier: Apache-2.0
"""Python stacks in a trace against Python's own traceback, for each Python that is found (pythons.py);
also those of sub-interpreters, and of a program that was killed before its definitions were written, and ran machine code that
Python made of its functions, where that can."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import pythons

MOST_FRAMES, OUTER, INNER = 1024, 60, 900  # of deeper stacks, so many at least are there
here = pathlib.Path(__file__).resolve().parent


def read_trace(path):
    """Stacks, outermost frame first, by the size of the allocation."""
    listing = subprocess.run([os.environ["MEMTAP"], "dump", "--format", "json", path], check=True,
                             stdout=subprocess.PIPE)
    strings, frames, stacks, found = {0: ""}, {}, {0: []}, {}
    for line in listing.stdout.decode().splitlines():
        record = json.loads(line)
        kind = record["record"]
        if kind == "string":
            strings[record["id"]] = record["text"]
        elif kind == "frame":
            frames[record["id"]] = [strings[record["file"]], strings[record["function"]],
                                    record["line"]]
        elif kind == "stack":
            stacks[record["id"]] = stacks[record["parent"]] + [frames[record["frame"]]]
        elif kind == "cuda_malloc":
            found[record["size"]] = stacks[record["stack"]]
    return found


def same(frame, expected):
    """The trace has qualified names where Python (3.11 on) keeps them."""
    return (frame[0], frame[2]) == (expected[0], expected[2]) and \
        frame[1].rpartition(".")[2] == expected[1]


def test(minor, python, work, end):
    trace = work / f"{minor}{end}.mtap"
    folder = work / f"größe 大 😀 {minor}"
    folder.mkdir(exist_ok=True)
    program = shutil.copy(here / "stacks-program.py", folder / "program.py")
    process = subprocess.run(
        [python, program, end], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env={**os.environ, "LD_PRELOAD": os.environ["MEMTAP_TEST_SHIM"],
             "MEMTAP_OUTPUT": str(trace), "MEMTAP_QUIET": "1", "PYTHONUTF8": "1",
             "PYTHON_JIT": "1" if end else "0"})
    if process.returncode != (-9 if end else 0) or process.stderr:
        print(f"3.{minor}: exit code {process.returncode}: {process.stderr.decode()}")
        return 1
    found, faults = read_trace(trace), 0
    expected = [json.loads(line) for line in process.stdout.decode().splitlines()]
    for n, stack in enumerate(expected):
        have = found.get(n, [])
        if len(stack) > MOST_FRAMES:
            left_out, gaps = len(stack) - MOST_FRAMES, [frame[1] for frame in have if not frame[0]]
            least = 1 << left_out.bit_length() - 1
            named = f"... {least} to {2 * least - 1} frames left out" if left_out > 1 else "... 1 frame left out"
            if gaps != [named]:
                faults += 1
                print(f"3.{minor}: allocation {n}: {gaps}, not {named}")
            stack, have = ([*all[:OUTER], *all[-INNER:]] for all in (stack, have))
        if len(have) != len(stack) or not all(map(same, have, stack)):
            faults += 1
            print(f"3.{minor}: allocation {n}:\n  trace     {have[-5:]}\n  traceback {stack[-5:]}")
    print(f"Python 3.{minor} {end}: {len(expected)} stacks, {faults} wrong")
    return faults + (len(expected) < 1500)


# Allocates by ctypes without the GIL and with it; then the main interpreter does.
SUB_INTERPRETERS = '''
import ctypes, os, sys
try:
    import _xxsubinterpreters as interpreters
except ImportError:
    import _interpreters as interpreters
INNER = """
import ctypes
def allocate(library, size):
    library(None).cudaMalloc(ctypes.byref(ctypes.c_void_p()), ctypes.c_size_t(size))
def in_{name}():
    allocate(ctypes.CDLL, {size} + 1)
    allocate(ctypes.PyDLL, {size} + 2)
in_{name}()
"""
exec(INNER.format(name="main", size=10))
for n in range(2):
    one = (interpreters.create("legacy") if sys.version_info >= (3, 13) else interpreters.create(isolated=False)
           if sys.version_info >= (3, 9) else interpreters.create())
    interpreters.run_string(one, INNER.format(name=f"sub{n}", size=100 * (n + 1)))
exec(INNER.format(name="main", size=1000))
'''


def test_interpreters(minor, python, work):
    """Each allocation is the interpreter's in which it happened."""
    trace = work / f"{minor}-interpreters.mtap"
    library = os.path.join(os.environ["MEMTAP_TEST_BUILD"], "libcudart.so.13")
    load = f"import ctypes; ctypes.CDLL({library!r}, ctypes.RTLD_GLOBAL)\n"
    environment = {**os.environ, "LD_PRELOAD": os.environ["MEMTAP_TEST_SHIM"], "MEMTAP_OUTPUT": str(trace), "MEMTAP_QUIET": "1"}
    process = subprocess.run([python, "-c", load + SUB_INTERPRETERS], stderr=subprocess.PIPE, env=environment)
    if process.returncode or process.stderr:
        print(f"3.{minor}, interpreters: exit code {process.returncode}: {process.stderr.decode()}")
        return 1
    found = read_trace(trace)
    wanted = {size + by: f"in_{name}" for name, size in (("main", 10), ("sub0", 100), ("sub1", 200), ("main", 1000)) for by in (1, 2)}
    have = {size: [frame[1].rpartition(".")[2] for frame in found.get(size, [])][-2:] for size in wanted}
    wrong = {size: have[size] for size in wanted if have[size] != [wanted[size], "allocate"]}
    print(f"Python 3.{minor}: {len(wanted)} allocations in three interpreters, {len(wrong)} wrong {wrong or ''}")
    return len(wrong)


def main():
    faults, versions = 0, pythons.found()
    with tempfile.TemporaryDirectory(prefix="memtap-test-") as work:
        for minor, python in versions:
            faults += test_interpreters(minor, python, pathlib.Path(work))
            for end in ("", "killed"):
                faults += test(minor, python, pathlib.Path(work), end)
    if not versions:
        print("no Python 3.8 to 3.15 was found")
    sys.exit(faults != 0 or not versions)


main()
