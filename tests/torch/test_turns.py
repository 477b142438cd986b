# SPDX-License-Identifier: Apache-2.0
"""Iterations are the turns of the program's loop, and what stays from turn to turn is growth: count, line of the loop, bytes a turn
and the line that requested them, in text and in JSON."""
import json
from pathlib import Path

import harness
from harness import MEMTAP, check, equal, must_run

PROGRAM = Path(__file__).resolve().with_name("turns.py")
MIB = 1 << 20
# Turns, and bytes that each leaves behind; None: nothing. -1: the reference only has the line.
WAYS = {"evaluate": (9, None), "losses": (11, -1), "build": (7, 4 * MIB), "trials": (8, 4 * MIB), "requests": (3, None), "layers": (5, None),
        "epochs": (4, None), "generator": (10, 2 * MIB), "previous": (6, None), "sometimes": (20, MIB),
        "comprehension": (9, 2 * MIB), "threads": (10, 2 * MIB), "little": (30, None), "few": (3, 8 * MIB), "many": (5000, None),
        "one_line": (20, None), "one_line_epochs": (60, None), "generation": (5, None), "recursion": (10, None), "varying": (10, None),
        "built_first": (30, None), "conditional": (20, None), "parallel": (30, None), "adversaries": (8, None), "lengths": (4, None),
        "lengths_functional": (12, None), "lengths_of_two": (8, None), "concatenated": (12, None), "doubled": (6, None),
        "growing": (8, None), "decoding": (16, None)}
# What counts where turns do not, or are not known.
OTHERS = {"train": (12, "optimizer steps"), "steps": (10, "optimizer steps"), "whole_epochs": (12, "optimizer steps"),
          "accumulation": (3, "optimizer steps"), "microbatches": (5, "optimizer steps"), "trainer": (9, "optimizer steps"),
          "unlooped": (2, "optimizer steps"), "trainers": (12, "optimizer steps"), "segments": (12, "optimizer steps"), "bare": (7, "backward passes"), "once": (1, "forward passes"), "in_a_row": (0, "none"),
          "called_twice": (0, "none")}
# Loops that several threads run, some of them more often.
THREADS = {"parallel", "trainers"}
# What only a loop around the iterations leaves: after how many of them, bytes each time.
EPOCHS = {"epoch_history": (8, 16 * MIB), "epoch_scores": (6, 16 * MIB), "epoch_copies": (5, 4 * (MIB + 2048))}


def told(command, trace, *options):
    return json.loads(must_run([MEMTAP, command, "--format", "json", *options, trace]).stdout)


def in_threads(way):
    return ", in the busiest of 2 threads" if way in THREADS else ""


def record(forks, folder, way, ends=0):
    trace = Path(folder) / f"{way}.mtap"
    code, output = forks.run(trace, PROGRAM, way)
    if not equal(f"exit code of turns.py {way}", code, ends):
        print(output)
        harness.finish()
    return trace


def one(forks, folder, way, turns, left):
    trace = record(forks, folder, way)
    device = told("report", trace)["devices"][0]
    text = " ".join(must_run([MEMTAP, "report", trace]).stdout.split())
    growth = device["growth"]
    equal(f"{way}: iterations", device["iterations"], turns)
    equal(f"{way}: counted by", device["counted_by"], "turns of a loop")
    if device["loop"]:
        equal(f"{way}: loop", (Path(device["loop"]["file"]).name, device["loop"]["line"]), (PROGRAM.name, harness.marked(PROGRAM, "LOOP", way)))
    check(f"(turns of turns.py:{harness.marked(PROGRAM, 'LOOP', way)}{in_threads(way)})" in text, f"{way}: the report says how it counted")
    if left is None:
        equal(f"{way}: growth", growth["per_iteration"], 0)
        check("behind" not in text, f"{way}: no word of growth")
        return
    check(growth["per_iteration"] > MIB // 2 if left < 0 else abs(growth["per_iteration"] - left) <= left // 16,
          f"{way}: growth of {growth['per_iteration']} bytes, {left} expected")
    if check(len(growth["sites"]) > 0, f"{way}: growth has a line"):
        equal(f"{way}: line", growth["sites"][0]["line"]["line"], harness.marked(PROGRAM, "LINE", way))
    check("behind" in text and "from unknown" not in text, f"{way}: the report says that it grows")
    last = told("report", trace, "--at", "last-turn")
    check(last["devices"][0]["growth"]["sites"], f"{way}: the last turn has what is left")
    trace.unlink()


def other(trace, way, count, by):
    """What is counted, and the loop that it is in, if any."""
    device = told("report", trace)["devices"][0]
    text = " ".join(must_run([MEMTAP, "report", trace]).stdout.split())
    equal(f"{way}: iterations", (device["iterations"], device["counted_by"]), (count, by))
    line, loop = harness.marked(PROGRAM, "LOOP", way), device["loop"]
    named = loop and (loop["called_from"] or loop)
    if not equal(f"{way}: loop", named and (Path(named["file"]).name, named["line"]), line and (PROGRAM.name, line)) or not line:
        return
    where = f"a loop called from turns.py:{line}" if loop["called_from"] else f"the loop at turns.py:{line}"
    check(f"({by.removeprefix('optimizer ')} in {where}{in_threads(way)})" in text, f"{way}: the report names the loop", text[:800])


def main():
    harness.need_torch()
    with harness.folder() as folder, harness.Forks(PROGRAM) as forks:
        for way, (turns, left) in WAYS.items():
            one(forks, folder, way, turns, left)
        growth = told("report", record(forks, folder, "few"))["devices"][0]["growth"]
        check(growth["likely"], "three turns may show growth")
        for way, left in ("two", 8 * MIB), ("two_passing", 0):
            device = told("report", record(forks, folder, way))["devices"][0]
            equal(f"{way}: what the first left", (device["iterations"], device["growth"]["undecided"], device["growth"]["per_iteration"]),
                  (2, left, 0))
            text = " ".join(must_run([MEMTAP, "report", Path(folder) / f"{way}.mtap"]).stdout.split())
            said = f"tell whether memory grows; the first left 8.00 MiB, the largest of it from turns.py:{harness.marked(PROGRAM, 'LINE', 'two')} two."
            equal(f"{way}: says that two are too few", (said in text, "too few" in text), (left > 0, left > 0))
        device = told("report", record(forks, folder, "validation"))["devices"][0]
        equal("validation: iterations are steps", (device["iterations"], device["counted_by"]), (6, "optimizer steps"))
        loop = device["growth"]["loop"] or {}
        equal("validation: its own turns", (loop.get("line"), loop.get("turns")), (harness.marked(PROGRAM, "LOOP", "validation"), 8))
        check(device["growth"]["per_iteration"] >= 16 * MIB, "validation: each turn leaves its graph")
        text = " ".join(must_run([MEMTAP, "report", record(forks, folder, "collection")]).stdout.split())
        line = harness.marked(PROGRAM, "LINE", "collection")
        check(f"until that loop ends: results from turns.py:{line} collection that the program keeps." in text,
              "collection: the report says that results are kept", text[:400])
        text = " ".join(must_run([MEMTAP, "report", Path(folder) / "validation.mtap"]).stdout.split())
        check("saved for a backward that never comes" in text, "validation: the report says that its graphs are kept", text[:400])
        device = told("report", record(forks, folder, "named"))["devices"][0]
        equal("named: iterations are ranges", (device["iterations"], device["counted_by"], device["loop"]["range"]),
              (6, "ranges", "iteration"))
        equal("named: growth", device["growth"]["per_iteration"], 4 * MIB)
        device = told("report", record(forks, folder, "cached"))["devices"][0]
        equal("cached: turns", (device["iterations"], device["counted_by"]), (60, "turns of a loop"))
        for way, (count, by) in OTHERS.items():
            other(record(forks, folder, way), way, count, by)
        equal("train: growth", told("report", Path(folder) / "train.mtap")["devices"][0]["growth"]["per_iteration"], 2 * MIB)
        for way, (every, left) in EPOCHS.items():
            trace = record(forks, folder, way)
            growth = told("report", trace)["devices"][0]["growth"]
            equal(f"{way}: growth", (growth["every"], growth["left"]), (every, left))
            text = " ".join(must_run([MEMTAP, "report", trace]).stdout.split())
            check(f"Every {every} iterations leave {left / MIB:.2f} MiB behind" in text, f"{way}: the report says how often it grows", text[:400])
            trace.unlink()
        device = told("report", record(forks, folder, "runs_out", ends=1))["devices"][0]
        equal("runs_out: the loop where memory ran out", device["loop"]["line"], harness.marked(PROGRAM, "LOOP", "runs_out"))
    harness.finish()


main()
