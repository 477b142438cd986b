# SPDX-License-Identifier: Apache-2.0
"""A comparison says what now holds the blocks of lines that have grown, where the new trace knows it; of no other line."""
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "torch"))
from harness import MEMTAP, Forks, check, equal, finish, folder, marked, must_run, need_torch

PROGRAM = Path(__file__).with_name("held.py")
HELD = {"list": "now held by local variable `losses` of main() at held.py:",
        "attribute": "now held by local variable `net` of main() at held.py:", "garbage": "now garbage: "}


def line_of(mark):
    return marked(PROGRAM, "#", mark)


def main():
    need_torch()
    with folder() as work, Forks(PROGRAM) as forks:
        work = Path(work)
        for way in ("none", "kept"):
            code, output = forks.run(work / f"{way}.mtap", PROGRAM, way)
            check(code == 0, f"{way} runs: {output[-2000:]}")
        pair = (work / "none.mtap", work / "kept.mtap")
        sites = json.loads(must_run([MEMTAP, "diff", "-f", "json", *pair]).stdout)["devices"][0]["sites"]
        text, markdown = (must_run([MEMTAP, "diff", "-f", form, *pair]).stdout for form in ("text", "markdown"))
        for mark, words in HELD.items():
            site = next((one for one in sites if one["line"] == line_of(mark) and one["bytes"]["change"] > 0), None)
            if not check(site is not None, f"{mark} has grown: {sites}"):
                continue
            held = site["held_by"] or {"text": "", "bytes": 0}
            check(held["text"].startswith(words), f"{mark} is {held}")
            check(0 < held["bytes"] <= site["bytes"]["new"], f"{mark}: {held['bytes']} of {site['bytes']['new']} bytes are held")
            check(f"\n              {words[:50]}" in text, f"{mark}: {text}")
            check(f", {words[:11]}" in markdown, f"{mark}: {markdown}")
        known = {one["line"] for one in sites if one["held_by"]}
        equal("lines with holders", known, {line_of(mark) for mark in HELD})
        back = json.loads(must_run([MEMTAP, "diff", "-f", "json", *reversed(pair)]).stdout)["devices"][0]["sites"]
        equal("of lines that shrank, with holders", [one["line"] for one in back if one["held_by"]], [])
    finish()


main()
