# SPDX-License-Identifier: Apache-2.0
"""test_compact.py MEMTAP MAKE-TRACES MAKE-LONG MAKE-C-RUN GOLDEN...: reports of a compact copy say what those of the
whole trace do: of every made trace, of the golden ones of each format version, of made-up programs in C, and of long runs of
both, whose copies are at most 2 % of their size. test_compact.py MEMTAP --of TRACE...: the same of other traces."""
import csv
import itertools
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

QUESTIONS = ["oom", "oom --no-labels", "blocks", "blocks --format csv", "blocks --format json",
             "blocks --at end --format csv", "blocks --at oom --format csv", "blocks --no-labels --format csv",
             "stacks", "stacks --bottom-up", "stacks --format folded", "stacks --at end --format json",
             "stacks --at oom --format folded", "budget"]
REPORTS = ["report", "report --at end", "report --at oom", "report --at begin:1", "report --at begin:2",
           "report --at step:1", "report --by operator --no-labels", "oom",
           *(f"report --by {what}" for what in ("dtype", "file", "function", "module", "name", "operator", "range",
                                                "rule", "stack"))]
DRAWN = 200  # events of a trace whose chart has no fewer points in a copy
LONG, SHORTER, LONG_C = 8_000_000, 100_000, 2_000_000  # events
C_RUNS = 30, 100, 400, 1000, 3000, 10_000, 30_000
PART = 0.02
EVERY = 1  # one of so many traces,
EVERY_QUESTION = 3  # and of so many questions, others of the next trace; --of asks all of all
if "ASAN_OPTIONS" in os.environ:  # takes ten times as long, and sizes are the same
    LONG, SHORTER, LONG_C, C_RUNS, PART, EVERY, EVERY_QUESTION = 100_000, 30_000, 50_000, C_RUNS[:5], 1, 9, 6
turn = itertools.count()


def run(*command):
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)


def answer(memtap, question, trace):
    """What is said, without the trace's name and what has to differ: numbers of events."""
    command, *options = question.split()
    done = run(memtap, command, *options, trace)
    text = (done.stdout + done.stderr).replace(str(trace), "TRACE")
    if "csv" in options and not done.returncode:
        return done.returncode, [{name: cell for name, cell in row.items() if name not in ("event", "end_event")}
                                 for row in csv.DictReader(text.splitlines())]
    if command == "oom":  # a copy has not the requests, so nothing can be replayed
        text = re.sub(r"What each change achieves.*\n(  .*\n)+"
                      r"|What the program would have requested next.*\n|  With .* more .*\n|    (modelled|and|the opt).*\n"
                      r"|^(Do|Or|Try): .*\n([a-z].*\n)*|memtap assumes that this forward is an evaluation.*\ncalled the model.*\n", "", text, flags=re.M).rstrip("\n")
    if "csv" in question.split() and done.returncode == 0:  # a copy has fewer events, and not all ends
        rows = csv.DictReader(text.splitlines())
        text = "\n".join(str({key: row[key] for key in row if "event" not in key and key != "end_ns"}) for row in rows)
    return done.returncode, re.sub(r" \(compact: [0-9,]+\)", "", re.sub(r'"event": ?[0-9]+', "", text))


def report(memtap, question, trace):
    """As JSON, and so without the chart, which has fewer points."""
    done = run(memtap, *question.split(), "--format", "json", trace)
    if done.returncode:
        return answer(memtap, question, trace)

    def clean(value):
        if isinstance(value, list):
            return [clean(item) for item in value]
        if isinstance(value, dict):
            return {name: clean(item) for name, item in value.items() if name not in ("event", "most_event", "compact")}
        return value
    found = clean(json.loads(done.stdout))
    for name in "events", "bytes", "suggestions", "rest", "more_needed", "would_fit_expandable":
        found.pop(name, None)
    return done.returncode, found


def show(name, whole, kept):
    """The first difference, with what is around it."""
    whole, kept = str(whole), str(kept)
    at = max(len(os.path.commonprefix([whole, kept])) - 60, 0)
    return f"{name}\n  whole:   {whole[at:at + 200]}\n  compact: {kept[at:at + 200]}"


def make_copy(memtap, trace, folder):
    copy = pathlib.Path(folder) / "copy.mtap"
    copy.unlink(missing_ok=True)
    return copy, run(memtap, "compact", "-o", copy, trace)


def itself(memtap, trace, copy, folder):
    """What a copy says of how it ended, and that it can be handled as other traces can."""
    faults = []
    whole, kept = (json.loads(run(memtap, "info", "--format", "json", path).stdout) for path in (trace, copy))
    for name in "lost", "complete", "state", "length_ns":
        if whole[name] != kept[name]:
            faults.append(show(f"{trace}: info: {name}", whole[name], kept[name]))
    diff = json.loads(run(memtap, "diff", "--format", "json", trace, copy).stdout)
    if not diff["same"] or diff["other_changes"] or any(device["sites"] for device in diff["devices"]):
        faults.append(f"{trace}: diff: {diff['verdict']}, {diff['other_changes']}")
    other = pathlib.Path(folder) / "other.mtap"
    for command in (["dump", copy], ["dump", "--format", "json", copy], ["symbolize", "-o", other, copy],
                    ["recover", "-o", other.with_suffix(".recovered"), copy], ["report", other]):
        done = run(memtap, *command)
        if done.returncode:
            faults.append(f"{trace}: {command}: {done.stderr}")
    for path in folder.glob("other*"):
        path.unlink()
    return faults


def compare(memtap, trace, folder, every):
    """Every difference in words, and the copy's part of the size."""
    copy, done = make_copy(memtap, trace, folder)
    if done.returncode:
        return [f"{trace}: {done.stderr}"], 0
    faults = []
    for ask, questions in (answer, QUESTIONS), (report, REPORTS):
        for question in questions[next(turn) % every::every]:
            whole, kept = ask(memtap, question, trace), ask(memtap, question, copy)
            if whole != kept:
                faults.append(show(f"{trace}: {question}", whole, kept))
    if json.loads(run(memtap, "report", "--format", "json", trace).stdout)["events"] <= DRAWN:
        whole, kept = answer(memtap, "report", trace), answer(memtap, "report", copy)
        if whole != kept:
            faults.append(show(f"{trace}: report as text", whole, kept))
    different = run(memtap, "diff", trace, copy)
    first = [line for line in different.stdout.split("\n") if line and not line.startswith(("Note", "  "))][:1]
    wanted = 2 if "was not closed and has no tail" in different.stderr else 0
    if different.returncode != wanted or not first or not re.match("no difference|neither run", first[0]):
        faults.append(show(f"{trace}: diff", different.stdout, different.stderr))
    for new, old in (trace, copy), (copy, trace):
        checked = run(memtap, "check", new, "--against", old)
        if checked.returncode != run(memtap, "check", trace, "--against", trace).returncode:
            faults.append(show(f"{trace}: check", checked.stdout, checked.stderr))
    faults += itself(memtap, trace, copy, folder)
    again = run(memtap, "compact", "-o", copy.with_suffix(".again"), copy)
    if again.returncode != 2 or "already compact" not in again.stderr:
        faults.append(f"{trace}: compact once more: {again}")
    return faults, copy.stat().st_size / os.path.getsize(trace)


def explained(memtap, trace, folder):
    """Every block at the peak for the same reasons; how many others were at its address is not known."""
    copy, _ = make_copy(memtap, trace, folder)
    faults = []
    for row in csv.DictReader(run(memtap, "blocks", "--format", "csv", trace).stdout.splitlines()):
        address = hex(int(row["address"]))
        whole, kept = (run(memtap, "explain", path, address) for path in (trace, copy))
        whole, kept = ((done.returncode, re.sub("in the whole run: [0-9]+", "", done.stdout))
                       for done in (whole, kept))
        if whole != kept:
            faults.append(show(f"{trace}: explain {address}", whole, kept))
    return faults


def history(memtap, trace, folder):
    """The history keeps the same of both."""
    copy, _ = make_copy(memtap, trace, folder)
    base = pathlib.Path(folder) / "h.db"
    base.unlink(missing_ok=True)
    run(memtap, "history", "add", "--db", base, "--commit", "", "--branch", "", trace, copy)
    runs = [json.loads(run(memtap, "history", "show", "--db", base, "--format", "json", number).stdout)
            for number in ("1", "2")]
    for found in runs:
        for name in ("run", "traces", "events", "started_unix_ns"):
            del found[name]
        for item in found["devices"]:
            del item["id"]
        for item in found["sites"] + found["certainty"]:
            del item["device"]
    return [] if runs[0] == runs[1] else [show(f"{trace}: history", *runs)]


def refusals(memtap, folder):
    """What cannot be made a copy of, and where."""
    whole, cut = folder / "training.mtap", folder / "cut.mtap"
    cut.write_bytes(whole.read_bytes()[:300])
    asked = {("training.mtap", "-o", "oom.mtap"): "oom.mtap: cannot create: File exists",
             ("cut.mtap",): "cut.mtap: the trace is truncated", ("none.mtap",): "none.mtap: No such file",
             (): "no trace given", ("training.mtap", "oom.mtap"): "unexpected argument 'oom.mtap'"}
    faults = []
    for arguments, words in asked.items():
        done = subprocess.run([memtap, "compact", *arguments], cwd=folder, capture_output=True, text=True,
                              check=False)
        if done.returncode != 2 or words not in done.stderr or done.stderr.count("\n") != 1:
            faults.append(f"{arguments}: {done}")
    if (folder / "cut.compact.mtap").exists():
        faults.append("a copy of a cut trace was left")
    moment = run(memtap, "compact", whole)
    said = run(memtap, "blocks", "--at", "event:30", folder / "training.compact.mtap").stderr
    if moment.returncode or not (folder / "training.compact.mtap").exists():
        faults.append(f"no name chosen: {moment}")
    return faults + ([] if "\n" not in said or "compact" in said else [said])


def size(memtap, trace, folder):
    """Of a long run."""
    copy, done = make_copy(memtap, trace, folder)
    print(done.stdout)
    if done.returncode or copy.stat().st_size > PART * os.path.getsize(trace):
        return [f"the copy of a long run: {done.stdout}{done.stderr}"]
    return []


def main():
    memtap, *rest = sys.argv[1:]
    faults = []
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        if rest[0] == "--of":
            traces = rest[1:]
        else:
            make_traces, make_long, make_c_run, *traces = rest
            subprocess.run([os.path.abspath(make_traces)], cwd=folder, check=True)
            traces += sorted(folder.glob("*.mtap"))
            faults += refusals(os.path.abspath(memtap), folder)
            for number, events in enumerate(C_RUNS):
                traces.append(folder / f"c-run-{number}.mtap")
                subprocess.run([make_c_run, traces[-1], str(events), str(number)], check=True)
            subprocess.run([make_long, folder / "long", str(LONG)], check=True)
            subprocess.run([make_c_run, folder / "long-c", str(LONG_C), "9"], check=True)
            faults += size(memtap, folder / "long", folder) + size(memtap, folder / "long-c", folder)
            subprocess.run([make_long, folder / "shorter.mtap", str(SHORTER)], check=True)
            traces += [folder / "shorter.mtap"]
        for trace in traces[::EVERY]:
            more, part = compare(memtap, trace, folder, 1 if rest[0] == "--of" else EVERY_QUESTION)
            faults += more + history(memtap, trace, folder)
            if os.path.getsize(trace) < 10_000:
                faults += explained(memtap, trace, folder)
            print(f"{trace}: {part:.1%}")
    print(*faults, sep="\n")
    sys.exit(bool(faults) or not traces)


main()
