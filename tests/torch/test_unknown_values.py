# SPDX-License-Identifier: Apache-2.0
"""No answer is too small in silence: where sizes depend on values that are not simulated, every
command says so first, with the line, and those that judge refuse."""
import json
from pathlib import Path

import harness
from harness import PYTHON, check, equal

PROGRAM = Path(__file__).resolve().parent / "unknown_values.py"
LINE = "17 sizes at unknown_values.py:15 selected depend on values that are not simulated; the real peak may be higher"


def said(done):
    return " ".join(done.stdout.split())


def main():
    harness.need_torch()
    with harness.folder() as work:
        path, known = Path(work) / "unknown.mtap", Path(work) / "known.mtap"
        done = harness.must_run([*harness.recorded(path), PYTHON, PROGRAM, "large"])
        check("17 sizes or conditions depend on values that are not simulated" in done.stderr, done.stderr)
        for command in ("report", "plan"):
            text = said(harness.run([harness.MEMTAP, command, path]))
            check(LINE in text[:400], f"{command} begins with {text[:400]}")
        equal("numbers", [event["what"] for event in harness.Trace(path).of("unknown_value")],
              [4] + [1] * 17 + [4, 3, 4])
        told = json.loads(harness.must_run([harness.MEMTAP, "report", "--format", "json", path]).stdout)
        equal("JSON", [told["not_computed"][what] for what in ("sizes", "integers", "reals")], [17, 1, 3])
        line = told["not_computed"]["lines"][1]
        equal("line in JSON", [line["line"]["line"], line["sizes"]], [15, 17])
        check("1 integer read at unknown_values.py:47" in said(harness.run([harness.MEMTAP, "report", path])),
              "the integer is not told")
        compact = Path(work) / "compact.mtap"
        harness.must_run([harness.MEMTAP, "compact", "-o", compact, path])
        check(LINE in said(harness.run([harness.MEMTAP, "report", compact]))[:400], "compact copy")

        done = harness.must_run([harness.MEMTAP, "check", path, "--against", path], ends=2)
        check(LINE in done.stderr and "--allow-unknown" in done.stderr, done.stderr)
        harness.must_run([harness.MEMTAP, "check", path, "--allow-unknown", "--against", path])

        fit = [harness.MEMTAP, "fit", "--quiet", "--simulate", "t4", "--steps", "all", "--vary", "n=large"]
        done = harness.must_run([*fit, "--", PYTHON, PROGRAM, "{n}"], ends=2)
        check(LINE in done.stderr and not done.stdout, done.stderr + done.stdout)
        done = harness.must_run([*fit, "--allow-unknown", "--", PYTHON, PROGRAM, "{n}"])
        check(LINE in done.stderr and "yes" in done.stdout, done.stderr + done.stdout)

        done = harness.must_run([*harness.recorded(Path(work) / "waits.mtap", "--limit-events", 30000), PYTHON, PROGRAM, "waits"],
                                ends=128 + 15)
        check("unknown_values.py:22 loss_of read a value that is not simulated 1000 times" in done.stderr,
              done.stderr)
        check("the run reached --limit-events 30000, at unknown_values.py:" in done.stderr, done.stderr)

        done = harness.must_run([*harness.recorded(Path(work) / "prints.mtap"), PYTHON, PROGRAM, "prints"])
        check("1000 times" not in done.stderr, done.stderr)

        done = harness.must_run([*harness.recorded(Path(work) / "saves.mtap"), PYTHON, PROGRAM, "saves"])
        equal("what is printed and saved", harness.Trace(Path(work) / "saves.mtap").of("unknown_value")[1:], [])
        done = harness.must_run([*harness.recorded(Path(work) / "divides.mtap"), PYTHON, PROGRAM, "divides"], ends=1)
        check("the program read 1 value that is not simulated; its error may follow from it" in done.stderr, done.stderr)

        harness.must_run([*harness.recorded(known), PYTHON, PROGRAM, "small"])
        equal("events of the small one", harness.Trace(known).of("unknown_value"), [])
        harness.must_run([harness.MEMTAP, "check", known, "--against", known])
    harness.finish()


main()
