# SPDX-License-Identifier: Apache-2.0
"""test_regressions.py SCRIPT|more: what a comparison says of regressions that were made in a reference
script, and of two runs of the script as it is. more: of the regressions of other kinds."""
import json
import sys
from pathlib import Path

import regressions
from harness import MEMTAP, ZOO, Forks, check, equal, finish, folder, must_run, need_torch


def compare(old, new, *options):
    done = must_run([MEMTAP, "diff", *options, "--format", "json", *old, "--to", *new])
    return json.loads(done.stdout)


def check_same(diff, what):
    """Not even noise."""
    check(diff["same"] and not diff["doubts"], f"{what}: {diff['verdict']}; {diff['doubts']}")
    for device in diff["devices"]:
        equal(f"{what}: sites that differ", device["sites"], [])
        equal(f"{what}: operators that differ", device["operators"], [])


def check_allocator(regression, diff):
    check("with other allocator settings" in diff["verdict"],
          f"{regression.name}: the verdict is {diff['verdict']!r}")
    check(any(line.startswith("allocator settings: none before") for line in diff["other_changes"]),
          f"{regression.name}: the settings are not told: {diff['other_changes']}")


def check_blame(regression, diff):
    device = diff["devices"][diff["main"]]
    if not check(device["sites"], f"{regression.name}: {diff['verdict']}"):
        return
    first, number = device["sites"][0], regressions.line_of(regression)
    place = (Path(first["file"]).name, first["line"]) if number else first["function"]
    wanted = (f"{regression.script}.py", number) if number else regression.at
    equal(f"{regression.name}: place of {diff['verdict']!r}", place, wanted)
    equal(f"{regression.name}: category of {diff['verdict']!r}", first["category"],
          regression.category)
    check(device["compared"]["change"] > 0, f"{regression.name}: nothing has grown")
    if regression.gate:
        check(device["allocated"]["change"] > 0, f"{regression.name}: the peak has not grown")


GATE = '''ignore = "0 B"
[limits]
peak = "+0 B"
growth = "+0 B"
'''


def gate(work, old, new, ends):
    """memtap check of the new runs: its limits."""
    budget = work / "gate.toml"
    budget.write_text(GATE)
    done = must_run([MEMTAP, "check", *new, "--against", *old, "--budget", budget, "--format", "json"], ends=ends)
    return json.loads(done.stdout)["limits"]


def check_gate(regression, work, old, new):
    """It fails, and one of its lines is that of the regression."""
    broken = [limit for limit in gate(work, old, new, 1) if not limit["holds"] and limit["blame"]]
    number = regressions.line_of(regression)
    found = {(Path(limit["blame"]["file"]).name, limit["blame"]["line"]) if number
             else limit["blame"]["function"] for limit in broken}
    wanted = (f"{regression.script}.py", number) if number else regression.at
    check(wanted in found, f"{regression.name}: check blames {found}, not {wanted}")


def main():
    script = None if sys.argv[1] == "more" else sys.argv[1]
    chosen = regressions.of(script) if script else regressions.MORE
    scripts = sorted({regression.script for regression in chosen})
    need_torch(*{module for name in scripts for module in regressions.SCRIPTS[name].modules})
    with folder() as work, Forks(*(ZOO / f"{name}.py" for name in scripts)) as forks:
        work = Path(work)
        if script and regressions.SCRIPTS[script].compiles:
            regressions.record(work / "first", script, forks=forks)
        traces = {}  # of scripts before regressions, by their edits
        for count, regression in enumerate(chosen):
            key = regression.script, regression.before
            old = traces.get(key)
            if not old:
                old = traces[key] = regressions.record(work / f"before-{count}", *key, forks=forks)
            new = regressions.record(work / f"now-{count}", regression.script,
                                     (*regression.before, *regression.change),
                                     regression.environment, forks=forks)
            diff = compare(old, new)
            print(f"{regression.name}: {diff['verdict']}", flush=True)
            if regression.what == "allocator":
                check_allocator(regression, diff)
            else:
                check_blame(regression, diff)
                if regression.gate:
                    check_gate(regression, work, old, new)
        if script:
            again, first = regressions.record(work / "again", script, forks=forks), traces[script, ()]
            gate(work, first, again, 0)
            check_same(compare(first, again), f"{script} run again")
    finish()


main()
