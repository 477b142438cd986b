# SPDX-License-Identifier: Apache-2.0
"""A comparison names the line that newly saves a result for backward, not the line whose result it is; so does a check, whose
annotation is at that line. A line more among equal ones is named. Of a larger result, and of two equal runs, no line is said to save it."""
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "torch"))
from harness import MEMTAP, Forks, check, equal, finish, folder, marked, must_run, need_torch

PROGRAM = Path(__file__).with_name("savers.py")
BUDGET = '[limits]\npeak = "+0 B"\n'


def line_of(mark):
    return marked(PROGRAM, "#", mark)


def main():
    need_torch()
    with folder() as work, Forks(PROGRAM) as forks:
        work = Path(work)
        (work / "budget.toml").write_text(BUDGET)
        for way in ("none", "again", "gain", "norm", "own", "equal", "scaled"):
            code, output = forks.run(work / f"{way}.mtap", PROGRAM, way)
            check(code == 0, f"{way} runs: {output[-2000:]}")
        for way in ("gain", "norm", "own"):
            pair = (work / "none.mtap", work / f"{way}.mtap")
            diff = json.loads(must_run([MEMTAP, "diff", "-f", "json", *pair]).stdout)
            site = diff["devices"][diff["main"]]["sites"][0]
            equal(f"{way}: line that allocates", site["line"], line_of("allocates"))
            saver = site["saver"] or {"line": None}
            equal(f"{way}: line that saves", saver["line"], line_of(way))
            where = f"now saved for backward at savers.py:{line_of(way)} "
            check(where in diff["verdict"], f"{way}: {diff['verdict']}")
            text = must_run([MEMTAP, "diff", *pair]).stdout
            check(f"now saved by savers.py:{line_of(way)} " in text, f"{way}: {text}")
            done = must_run([MEMTAP, "check", pair[1], "--against", pair[0], "--budget", work / "budget.toml",
                             "--format", "json"], ends=1)
            blame = next(limit["blame"] for limit in json.loads(done.stdout)["limits"] if not limit["holds"])
            equal(f"{way}: check's line that saves", blame["saver"], saver)
        diff = json.loads(must_run([MEMTAP, "diff", "-f", "json", work / "equal.mtap", work / "scaled.mtap"]).stdout)
        site = diff["devices"][diff["main"]]["sites"][0]
        equal("the line more among equal ones", (site["line"], site["kind"]), (line_of("scaled"), "new"))
        for old, new in (("none", "again"), ("gain", "none")):
            done = must_run([MEMTAP, "diff", "-f", "json", work / f"{old}.mtap", work / f"{new}.mtap"])
            sites = json.loads(done.stdout)["devices"][0]["sites"]
            equal(f"{old} to {new}: lines that save", [s["saver"] for s in sites if s["saver"]], [])
    finish()


main()
