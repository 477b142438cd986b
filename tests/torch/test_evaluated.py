# SPDX-License-Identifier: Apache-2.0
"""A program's own loop of evaluation, which no framework runs, is an evaluation in every output; what trains is none,
also where no backward follows it at once."""
import csv
import io
import json
import pickle
import sys
from pathlib import Path

import harness
from harness import MEMTAP, check, equal, must_run

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import wire

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


def exported(trace, form):
    picture = trace.with_suffix(".out")
    must_run([MEMTAP, "export", "-f", form, "-o", picture, trace])
    data = picture.read_bytes()
    picture.unlink()
    return data


def names_of_viz(trace):
    noted = pickle.loads(exported(trace, "memory_viz"))["external_annotations"]
    return [one["name"] for one in noted if one["stage"] == "START"]


def slices_of(picture, track):
    """The slices on a track of Perfetto's, none inside another: [(name, begin, end)]."""
    events = [event for event in picture.events if event[1] in ("begin", "end") and picture.tracks[event[2]].endswith(f" / {track}")]
    return [(begin[3], begin[0], end[0]) for begin, end in zip(events[::2], events[1::2])]


def page_says(trace):
    """The page's words for the peak, and its spans; None: this build has no page."""
    said = harness.page_says(trace)
    if not said:
        return None
    peak = said["devices"][0]["time_ns"]
    return [span for span in said["spans"] if span["time_ns"] <= peak][-1], said["spans"]


def others_agree(trace, way, where, found):
    """Exports and the page: found are the phases of the table."""
    evaluated = sum(part == "evaluation" for _, part in found)
    words = where.removeprefix("the ").partition(" of ")[0]
    names = names_of_viz(trace)
    check(words in names, f"{way}: memory_viz has {words}: {sorted(set(names))}")
    equal(f"{way}: evaluations of memory_viz", sum("evaluation" in name for name in names), evaluated)
    picture = wire.Perfetto(exported(trace, "perfetto"))
    phases, iterations = slices_of(picture, "phases"), slices_of(picture, "iterations")
    equal(f"{way}: evaluations of Perfetto", sum(name == "evaluation" for name, _, _ in phases), evaluated)
    inside = {name for name, begin, end in iterations for other, since, until in phases
              if other == "evaluation" and begin <= since and until <= end}
    equal(f"{way}: iterations of Perfetto that have an evaluation", inside, set())
    page = page_says(trace)
    if page:
        at_peak, spans = page
        equal(f"{way}: the page's words", at_peak["where"], where.partition(" of ")[0])
        equal(f"{way}: evaluations of the page", sum(span["evaluates"] for span in spans), evaluated)


def evaluates(trace, way):
    after, times = EVALUATE[way]
    iterations = OTHERS.get(way, 12)
    moment = told("report", trace)["peak"]
    equal(f"{way}: the peak", (moment["part"], moment["iteration"]), ("evaluation", after))
    where = f"after iteration {after} of {iterations}" if after else "before training"
    report = " ".join(must_run([MEMTAP, "report", trace]).stdout.split())
    loop = harness.marked(PROGRAM, "LOOP", way)
    check(f" in the evaluation {where}{f' (steps in the loop at evaluated.py:{loop})' if after else ''} PyTorch" in report,
          f"{way}: in words", report[:800])
    said, peak = must_run([MEMTAP, "diff", trace, trace]).stdout, where.partition(" of ")[0]
    check(f"The peak is in the evaluation {peak}." in said, f"{way}: diff says where:\n{said[:400]}")
    found = parts(trace)
    others_agree(trace, way, f"the evaluation {where}", found)
    equal(f"{way}: iterations", max(iteration for iteration, _ in found), iterations)
    equal(f"{way}: evaluations", len({iteration for iteration, part in found if part == "evaluation"}), times)


def runs_out(forks, trace):
    """Of an evaluation that runs out of memory."""
    code, _ = forks.run(trace, PROGRAM, "epochs", env={"CUDASIM_MEMORY": str(701 << 20)})
    equal("exit code without memory", code, 1)
    moment = told("report", trace, "--at", "oom")["devices"][0]["peak"]
    equal("where memory ran out", (moment["part"], moment["iteration"]), ("evaluation", 4))
    for command in "oom", "plan":
        said = " ".join(must_run([MEMTAP, command, trace]).stdout.split())
        check("in the evaluation after iteration 4" in said, f"{command} says where:\n{said}")
    check(", evaluation after iteration 4: " in must_run([MEMTAP, "oom", trace]).stdout.splitlines()[0], "so does the first line of oom")


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
        if not harness.ON_GPU:  # whose memory is of another size
            runs_out(forks, trace)
    harness.finish()


main()
