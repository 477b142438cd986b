# SPDX-License-Identifier: Apache-2.0
"""answers.py [NAME]... [--save]: does what `memtap plan` answers make a program fit? Records each of PROGRAMS on a card that is large enough, asks for smaller
ones (--memory), makes each of the ways that memtap names in the program, a whole pair where it names two, and runs that on such
a card. With --save it writes evaluation/results/answers.csv; with names ("gpt", "lstm") it runs the programs that have one of them. MEMTAP
and MEMTAP_TEST_PYTHON as in tests/torch."""
import argparse
import json
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
TESTS = HERE.parents[1] / "tests"
sys.path[:0] = [str(TESTS / "torch"), str(HERE.parent)]
import harness  # noqa: E402
import results  # noqa: E402

CHANGED = TESTS / "planner" / "changed.py"
MIB = 1 << 20
PROGRAMS = [
    "gpt", "gpt-small", "llama", "scores", "experts", "vit", "conv", "diffusion", "lstm", "perceptron",
    "gpt-small --accumulate 2", "gpt-small --autocast", "llama --bf16", "gpt --checkpoint layers.*", "conv --optimizer sgd-momentum",
]
# The card's part next to its context, of what PyTorch reserved on one that was large enough.
PARTS = 0.9, 0.6, 0.4, 0.25
CONTEXT = 657 << 20  # the simulated H100's, and a handle of cuBLAS each for the program's thread and for backward's
FLAGS = {"precision:autocast": "--autocast", "precision:bf16": "--bf16", "offload:activations": "--save-on-cpu",
         "offload:optimizer": "--optimizer cpu", "offload:parameters": "--offload-parameters 1"}
SINGLES = 4  # ways of one thing that are followed on each card; of pairs all


def options(change):
    """Those of changed.py that make the change; None: it has none."""
    kind, _, argument = change.partition(":")
    if change in FLAGS:
        return FLAGS[change].split()
    if kind in ("batch", "sequence"):
        return [f"--{kind}-part", argument]
    if kind in ("optimizer", "checkpoint", "lora", "zero1", "zero2", "zero3"):
        return ["--" + kind, argument]
    return None


def run(forks, trace, program, memory=None, way=None):
    """Whether it ran to its end, and what was reserved at most."""
    words = program.split()
    for change in way["changes"] if way else []:
        words += options(change)
    environment = {}
    if memory:
        environment["CUDASIM_MEMORY"] = str(memory)
    if way and way["conf"] is not None:
        environment["PYTORCH_ALLOC_CONF"] = way["conf"]
    trace.unlink(missing_ok=True)
    if "cudaMallocAsync" in environment.get("PYTORCH_ALLOC_CONF", ""):  # PyTorch chooses its allocator when it is imported
        done = harness.run([harness.MEMTAP, "simulate", "--gpu", harness.GPU, "--memory", memory, "--", harness.PYTHON, CHANGED, *words],
                           env=environment)
        code, output = done.returncode, done.stdout + done.stderr
    else:
        code, output = forks.run(trace, CHANGED, *words, env=environment)
    peaks = [int(line.split()[1]) for line in output.splitlines() if line.startswith("reserved ")]
    if "OutOfMemoryError" in output or "out of memory" in output:
        return "oom", 0
    return ("whole", peaks[0]) if not code and len(peaks) == 1 else ("not tried", 0)  # changed.py cannot make it there


def answer(trace, memory):
    done = harness.run([harness.MEMTAP, "plan", "--format", "json", "--memory", memory, trace])
    return json.loads(done.stdout)["answer"], done.returncode


def is_pair(way):
    return len(way["changes"]) + (way["conf"] is not None) > 1


def chosen(ways):
    """Those to follow."""
    able = [way for way in ways if all(options(change) for change in way["changes"])]
    pairs = [way for way in able if is_pair(way)]
    return [way for way in able if not is_pair(way)][:SINGLES] + pairs


def name(way):
    return " and ".join(([way["conf"] or "PyTorch's defaults"] if way["conf"] is not None else []) + way["changes"])


def compare(program, recorded, plain, trace):
    """Rows: program, card, way, memtap's answer, how, what happens, predicted and actual reserved memory."""
    ended, reserved = run(recorded, trace, program)
    if not harness.check(ended == "whole", f"{program}: {ended}"):
        return
    for part in PARTS:
        memory = CONTEXT + int(reserved * part) // (2 * MIB) * (2 * MIB)
        told, code = answer(trace, memory)
        harness.equal(f"{program} at {part:.0%}: exit code", code, 0 if told["found"] else 1)
        got, peak = run(plain, trace.with_suffix(".plain"), program, memory)
        said = {True: "fits", False: "does not fit", None: "may fit"}[told["fits"]]
        yield program, part, "as it is", said, told["how"], got, 0, peak
        for way in chosen(told["ways"]):
            got, peak = run(plain, trace.with_suffix(".plain"), program, memory, way)
            said = "fits" if way["fits"] else "may fit"
            yield program, part, name(way), said, way["how"], got, way["peak_reserved"], peak


def agrees(row):
    return row[3] == "may fit" or row[5] == "not tried" or (row[3] == "fits") == (row[5] == "whole")


def line(row):
    program, part, way, said, how, got, told, peak = row
    sizes = (f"{size / MIB:.0f}" if size else "" for size in (told, peak))
    return [program, f"{part:.0%}", way, said, how, got, *sizes, "yes" if agrees(row) else "no"]


def counts(rows):
    groups = (("as it is", [row for row in rows if row[2] == "as it is"]),
              ("one thing", [row for row in rows if row[2] != "as it is" and " and " not in row[2]]),
              ("pairs", [row for row in rows if " and " in row[2]]))
    for title, some in groups:
        for how in ("replayed", "modelled"):
            mine = [row for row in some if row[4] == how and row[5] != "not tried"]
            claims = [row for row in mine if row[3] != "may fit"]
            if not mine:
                continue
            doubtful = [row for row in mine if row[3] == "may fit"]
            programs = len({row[0] for row in mine})
            yield (f"{title}, {how}: {programs} programs, {len(claims)} claims, {sum(map(agrees, claims))} agree; {len(doubtful)} "
                   f"times it may fit, {sum(row[5] == 'whole' for row in doubtful)} of these fit")


COLUMNS = ["program", "card", "way", "says", "how", "happens", "told_mib", "reserved_mib", "agrees"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--save", action="store_true", help="write the rows into evaluation/results/answers.csv")
    args = parser.parse_args()
    harness.need_torch()
    rows = []
    simulate = [harness.MEMTAP, "simulate", "--gpu", harness.GPU, "--"]
    with harness.folder() as work, harness.Forks(CHANGED) as recorded, harness.Forks(CHANGED, before=simulate) as plain:
        for program in PROGRAMS:
            if args.names and not set(args.names) & set(program.split()):
                continue
            for row in compare(program, recorded, plain, Path(work) / "program.mtap"):
                rows.append(row)
                print(*line(row), sep=", ", flush=True)
                harness.check(agrees(row) or row[4] == "modelled", f"{row[0]}: a replayed answer is wrong")
    print(*counts(rows), sep="\n")
    if args.save:
        results.save("answers", COLUMNS, map(line, rows), harness.MEMTAP, harness.PYTHON)
    harness.finish()


if __name__ == "__main__":
    main()
