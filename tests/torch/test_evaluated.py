# SPDX-License-Identifier: Apache-2.0
"""A program's own loop of evaluation, which no framework runs, is an evaluation in every output; what trains is none,
also where no backward follows it at once."""
import csv
import io
import json
from pathlib import Path

import harness
from harness import MEMTAP, check, equal, must_run

PROGRAM = Path(__file__).resolve().with_name("evaluated.py")
# The iteration after which the peak's evaluation is, and how often the program evaluates; None: it does not.
EVALUATE = {"epochs": (4, 3), "one_line": (3, 4), "functional": (6, 1), "each": (1, 12), "after": (12, 1), "before": (0, 1),
            "microbatches": (4, 3), "accumulated": (3, 4), "teacher_too": (12, 1)}
TRAIN = ("teacher", "adversaries", "recurrent")
OTHERS = {"teacher_too": 24}


def parts(trace):
    """(iteration, part) of each phase."""
    rows = csv.DictReader(io.StringIO(must_run([MEMTAP, "export", "-f", "csv", "--table", "phases", trace]).stdout))
    return [(int(row["iteration"] or 0), row["part"]) for row in rows]


def told(command, trace, *options):
    return json.loads(must_run([MEMTAP, command, "--format", "json", *options, trace]).stdout)


def evaluates(trace, way):
    after, times = EVALUATE[way]
    iterations = OTHERS.get(way, 12)
    moment = told("report", trace)["peak"]
    equal(f"{way}: the peak", (moment["part"], moment["iteration"]), ("evaluation", after))
    where = f"after iteration {after} of {iterations}" if after else "before training"
    report = must_run([MEMTAP, "report", trace]).stdout
    equal(f"{way}: in words", [line for line in report.splitlines() if line.startswith("  in ")][:1],
          [f"  in the evaluation {where}"])
    found = parts(trace)
    equal(f"{way}: iterations", max(iteration for iteration, _ in found), iterations)
    equal(f"{way}: evaluations", len({iteration for iteration, part in found if part == "evaluation"}), times)


def runs_out(forks, trace):
    """Of an evaluation that runs out of memory."""
    code, _ = forks.run(trace, PROGRAM, "epochs", env={"CUDASIM_MEMORY": str(560 << 20)})
    equal("exit code without memory", code, 1)
    moment = told("report", trace, "--at", "oom")["devices"][0]["peak"]
    equal("where memory ran out", (moment["part"], moment["iteration"]), ("evaluation", 4))
    said = " ".join(must_run([MEMTAP, "oom", trace]).stdout.split())
    check("in the evaluation after iteration 4" in said, f"oom says where:\n{said}")


def main():
    harness.need_torch()
    with harness.folder() as folder, harness.Forks(PROGRAM) as forks:
        trace = Path(folder) / "t.mtap"
        for way in (*EVALUATE, *TRAIN):
            code, output = forks.run(trace, PROGRAM, way)
            if not equal(f"{way}: exit code", code, 0):
                print(output)
            elif way in TRAIN:
                equal(f"{way}: evaluations", {part for _, part in parts(trace)}, {"run"})
            else:
                evaluates(trace, way)
                small = trace.with_name("small.mtap")
                must_run([MEMTAP, "compact", "-o", small, trace])
                equal(f"{way}: phases of a compact copy", parts(small), parts(trace))
            trace.unlink()
            trace.with_name("small.mtap").unlink(missing_ok=True)
        runs_out(forks, trace)
    harness.finish()


main()
