# SPDX-License-Identifier: Apache-2.0
"""test_compact.py MEMTAP MAKE-TRACES MAKE-LONG GOLDEN...: reports of a compact copy say what those of the
whole trace do: of every made trace, of the golden ones of each format version, and of a long one, whose
copy is at most 2 % of its size. test_compact.py MEMTAP --of TRACE...: the same of other traces."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

QUESTIONS = ["oom", "blocks --format csv", "blocks --format json", "blocks --at end --format csv",
             "blocks --at oom --format csv", "blocks --no-labels --format csv", "stacks --format folded",
             "stacks --at end --format json"]
REPORTS = ["report", "report --by stack", "report --by operator --no-labels", "report --at end"]
DRAWN = 200  # events of a trace whose chart has no fewer points in a copy
LONG, SHORTER = 8_000_000, 300_000  # events
PART = 0.02


def run(*command):
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)


def answer(memtap, question, trace):
    """What is said, without the trace's name and what has to differ: numbers of events."""
    command, *options = question.split()
    done = run(memtap, command, *options, trace)
    text = (done.stdout + done.stderr).replace(str(trace), "TRACE")
    return done.returncode, re.sub(r" \(compact: [0-9,]+\)", "", re.sub(r'"event": ?[0-9]+', "", text))


def report(memtap, question, trace):
    """As JSON, and so without the chart, which has fewer points."""
    done = run(memtap, *question.split(), "--format", "json", trace)

    def clean(value):
        if isinstance(value, list):
            return [clean(item) for item in value]
        if isinstance(value, dict):
            return {name: clean(item) for name, item in value.items() if name not in ("event", "most_event", "compact")}
        return value
    found = clean(json.loads(done.stdout))
    del found["events"], found["bytes"]
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


def compare(memtap, trace, folder):
    """Every difference in words, and the copy's part of the size."""
    copy, done = make_copy(memtap, trace, folder)
    if done.returncode:
        return [f"{trace}: {done.stderr}"], 0
    faults = []
    for ask, questions in (answer, QUESTIONS), (report, REPORTS):
        for question in questions:
            whole, kept = ask(memtap, question, trace), ask(memtap, question, copy)
            if whole != kept:
                faults.append(show(f"{trace}: {question}", whole, kept))
    if json.loads(run(memtap, "report", "--format", "json", trace).stdout)["events"] <= DRAWN and not (
            "not closed" in run(memtap, "report", copy).stdout):  # how it ended is not in the copy
        whole, kept = answer(memtap, "report", trace), answer(memtap, "report", copy)
        if whole != kept:
            faults.append(show(f"{trace}: report as text", whole, kept))
    different = run(memtap, "diff", trace, copy)
    first = [line for line in different.stdout.split("\n") if line and not line.startswith("Note")][:1]
    if different.returncode or not first or not re.match("no difference|no device memory", first[0]):
        faults.append(show(f"{trace}: diff", different.stdout, different.stderr))
    for new, old in (trace, copy), (copy, trace):
        checked = run(memtap, "check", new, "--against", old)
        if checked.returncode != run(memtap, "check", trace, "--against", trace).returncode:
            faults.append(show(f"{trace}: check", checked.stdout, checked.stderr))
    again = run(memtap, "compact", "-o", copy.with_suffix(".again"), copy)
    if again.returncode != 2 or "compact already" not in again.stderr:
        faults.append(f"{trace}: compact once more: {again}")
    return faults, copy.stat().st_size / os.path.getsize(trace)


def explained(memtap, trace, folder):
    """Every block at the peak for the same reasons; how many others were at its address is not known."""
    copy, _ = make_copy(memtap, trace, folder)
    faults = []
    for line in run(memtap, "blocks", "--format", "csv", trace).stdout.splitlines()[1:]:
        address = hex(int(line.split(",")[1]))
        whole, kept = (run(memtap, "explain", path, address) for path in (trace, copy))
        whole, kept = ((done.returncode, re.sub("in all: [0-9]+", "", done.stdout))
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
        for item in found["sites"]:
            del item["device"]
    return [] if runs[0] == runs[1] else [show(f"{trace}: history", *runs)]


def refusals(memtap, folder):
    """What cannot be made a copy of, and where."""
    whole, cut = folder / "training.mtap", folder / "cut.mtap"
    cut.write_bytes(whole.read_bytes()[:300])
    asked = {("training.mtap", "-o", "oom.mtap"): "oom.mtap: cannot be made: File exists",
             ("cut.mtap",): "cut.mtap: the trace is cut", ("none.mtap",): "none.mtap: No such file",
             (): "no trace given", ("training.mtap", "oom.mtap"): "'oom.mtap' is one too many"}
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


def size(memtap, make_long, folder):
    """Of a long run."""
    subprocess.run([make_long, folder / "long", str(LONG)], check=True)
    copy, done = make_copy(memtap, folder / "long", folder)
    print(done.stdout)
    if done.returncode or copy.stat().st_size > PART * os.path.getsize(folder / "long"):
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
            make_traces, make_long, *traces = rest
            subprocess.run([os.path.abspath(make_traces)], cwd=folder, check=True)
            traces += sorted(folder.glob("*.mtap"))
            faults += refusals(os.path.abspath(memtap), folder)
            faults += size(memtap, make_long, folder)
            subprocess.run([make_long, folder / "shorter.mtap", str(SHORTER)], check=True)
            traces += [folder / "shorter.mtap"]
        for trace in traces:
            more, part = compare(memtap, trace, folder)
            faults += more + history(memtap, trace, folder)
            if os.path.getsize(trace) < 10_000:
                faults += explained(memtap, trace, folder)
            print(f"{trace}: {part:.1%}")
    print(*faults, sep="\n")
    sys.exit(bool(faults) or not traces)


main()
