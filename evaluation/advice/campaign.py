# SPDX-License-Identifier: Apache-2.0
"""Does what `memtap oom` advises help? campaign.py [-k PART] [--save] [--public FOLDER]: runs program.py out of memory in
each of cases.py's ways, and public.py's scripts from a folder with their check-outs, on the simulated device, asks memtap, then runs it
again with each piece of advice, and compares how far it gets. Takes some minutes, on any machine with PyTorch; MEMTAP and
MEMTAP_TEST_PYTHON as in tests/torch."""
import argparse
import json
import os
import re
import shlex
import shutil
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / "tests" / "torch"), str(HERE.parent)]
import harness  # noqa: E402
import public  # noqa: E402
import results  # noqa: E402
from cases import CASES  # noqa: E402

MIB = 1 << 20
SIMULATE = [harness.MEMTAP, "simulate", "--gpu", harness.GPU, "--"]
BESIDE = 650 * MIB  # what the context and two handles of cuBLAS take beside PyTorch
# What a user does about a piece of advice: options of program.py. Settings of the allocator are in the advice.
OPTIONS = {
    "batch:1/2": ["--batch-scale", "0.5"],
    "checkpoint": ["--checkpoint"],
    "optimizer:adam8bit": ["--optimizer", "adam8"],
    "zero-grad": ["--set-to-none", "1"],
    "keep-nothing": ["--forget"],
}
# What program.py can follow, too, and observed.py cannot.
OF_PROGRAM = {
    **OPTIONS,
    "batch:1/4": ["--batch-scale", "0.25"],
    "batch:1/8": ["--batch-scale", "0.125"],
    "offload:activations": ["--offload", "activations"],
    "offload:optimizer": ["--offload", "optimizer"],
    "offload:parameters": ["--offload", "parameters"],
    "optimizer:adamw-fused": ["--optimizer", "adamw-fused"],
    "optimizer:adamw-for-loop": ["--one-by-one"],
    "optimizer:adafactor": ["--optimizer", "adafactor"],
    "optimizer:sgd": ["--optimizer", "sgd-plain"],
    "precision:autocast": ["--autocast"],
    "precision:bf16": ["--dtype", "bfloat16"],
    "sequence:1/2": ["--length-scale", "0.5"],
    "no-grad": ["--no-grad"],
    "chunked-loss:16": ["--loss-chunks", "16"],
}


class Case:
    """program.py in one of its ways."""
    program = HERE / "program.py"

    def __init__(self, name, options, part, folder):
        self.name, self.options, self.part = name, shlex.split(options), part
        self.trace, self.place = Path(folder) / "case.mtap", folder
        self.memory, self.rows = 0, []

    def words(self, change=None):
        """The program's, with a piece of advice; None: there is no way to follow it."""
        if change and change not in OF_PROGRAM:
            return None
        return [*(word for word in self.options if change != "precision:bf16" or word != "--autocast"), *OF_PROGRAM.get(change, [])]

    def run(self, forks, memory, words, env=None):
        """What the program says of itself."""
        env = {"CUDASIM_MEMORY": str(memory), **(env or {})}
        if "backend:" in env.get("PYTORCH_ALLOC_CONF", ""):  # PyTorch chooses its allocator when it is imported
            done = harness.run([*SIMULATE, harness.PYTHON, self.program, *words], env=env, cwd=self.place)
            output = done.stdout + done.stderr
        else:
            _, output = forks.run(self.trace, self.program, *words, env=env, cwd=self.place)
        said = [line for line in output.splitlines() if line.startswith('{"ended"')]
        if said:
            return json.loads(said[-1])
        return {"ended": f"failed: {output.strip().splitlines()[-1:]}", "at": [-1, 0, 0], "allocations": 0, "reserved": 0}

    def advice(self, command="oom"):
        done = harness.run([harness.MEMTAP, command, "--format", "json", self.trace])
        return json.loads(done.stdout) if done.returncode in (0, 1) else {"suggestions": [], "failed": done.stderr}

    def compare(self, recorded, plain):
        large = self.run(plain, 80 << 30, self.words())
        memory = BESIDE + int(large["reserved"] * self.part) // (2 * MIB) * 2 * MIB
        self.memory = memory
        first = self.run(recorded, memory, self.words())
        if large["ended"] != "whole" or first["ended"] != "oom":
            self.rows.append((self.name, "-", f"did not run out: {large['ended']}, {first['ended']}", "", "", False))
            return
        for advice in self.advice()["suggestions"]:
            self.rows.append(self.follow(advice, plain, memory, first))

    def follow(self, advice, plain, memory, first):
        """A row: one piece of advice, what memtap says of it, and what happens."""
        change, setting = advice.get("change", "?"), advice.get("set")
        words = self.words(None if setting else change)
        said = {True: "fits", False: "does not fit", None: "not known"}[advice.get("fits")]
        if words is None:
            return self.name, change, said, advice.get("how", "?"), "not tried", True
        again = self.run(plain, memory, words, env={"PYTORCH_ALLOC_CONF": setting} if setting else {})
        has_same_calls = "backend:" not in setting if setting else change.startswith("batch:")  # another allocator counts otherwise
        helps = further(again, first, has_same_calls)
        got = "whole" if again["ended"] == "whole" else "further" if helps else again["ended"]
        right = said == "not known" or (said == "fits") == helps
        return self.name, setting or change, said, advice.get("how", "?"), got, right


class PublicCase(Case):
    """A public script, which observed.py runs."""
    program = HERE / "observed.py"

    def __init__(self, row, folder, work):
        name, self.script, options, self.batch, observer, part = row
        super().__init__(name, options, part, folder)
        self.observer = observer.split()
        self.place = work / public.SCRIPTS[self.script][0]

    def words(self, change=None):
        batch, changes = self.batch, OPTIONS.get(change, [])
        if change == "batch:1/2":
            batch, changes = batch // 2, []
        if change and (change not in OPTIONS or (change == "batch:1/2" and not batch)):
            return None
        script, blocks = public.command(self.script, self.options, batch)
        if change == "checkpoint" and not blocks:
            return None
        return [*blocks, *self.observer, *changes, *script]


def further(again, first, same_calls):
    """Whether it got past the request that failed first. With the same calls, their number tells; else the place."""
    if again["ended"] == "whole":
        return True
    if same_calls:
        return again["allocations"] > first["allocations"]
    return again["at"] > first["at"]


def find_cases(args, folder):
    """Those asked for; and the public scripts that are not there."""
    def is_asked(name):
        return any(part in name for part in args.k.split("|"))

    cases = [Case(*row, folder) for row in CASES if is_asked(row[0])]
    if not args.public:
        return cases, "--public names no folder"
    work = Path(folder) / "work"
    missing = public.prepare(args.public.resolve(), work, harness.PYTHON)
    cases += [PublicCase(row, folder, work) for row in public.CASES if is_asked(row[0]) and row[1] not in missing]
    return cases, missing and "not there: " + ", ".join(missing)


def count(rows):
    """Lines that say how many claims agree."""
    for how in ("replayed", "modelled"):
        mine = [row for row in rows if row[3] == how and row[4] != "not tried"]
        claims = [row for row in mine if row[2] != "not known"]
        part = f" ({100 * sum(row[5] for row in claims) / len(claims):.1f} %)" if claims else ""
        yield (f"\n{how}: {sum(row[5] for row in claims)} of {len(claims)} claims agree{part}; "
               f"{len(mine) - len(claims)} times memtap says that it does not know.")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-k", default="", help="only cases whose names have this, or one of these: a|b")
    parser.add_argument("--save", action="store_true", help="write the rows into evaluation/results/advice.csv")
    parser.add_argument("--public", type=Path, default=os.environ.get("MEMTAP_PUBLIC_SCRIPTS"),
                        help="folder with check-outs of nanoGPT, minGPT, llama2.c, examples and pytorch-image-models; "
                             "by default what MEMTAP_PUBLIC_SCRIPTS names")
    parser.add_argument("--keep", type=Path, help="folder for the traces of cases with a claim that is wrong")
    args = parser.parse_args()
    args.public = args.public and Path(args.public)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        cases, skipped = find_cases(args, folder)
        programs = sorted({str(case.program) for case in cases})
        with harness.Forks(*programs) as recorded, harness.Forks(*programs, before=SIMULATE) as plain:
            for case in cases:
                case.compare(recorded, plain)
                if args.keep and not all(row[5] for row in case.rows):
                    shutil.copy(case.trace, args.keep / (re.sub(r"\W+", "-", case.name) + ".mtap"))
                for row in case.rows:
                    rows.append(row)
                    print(*row, sep=", ", flush=True)
                case.trace.unlink(missing_ok=True)
    print(*count(rows), sep="\n")
    if skipped:
        print(f"\nPublic scripts left out: {skipped}.")
    if args.save:
        results.save("advice", ["case", "advice", "says", "how", "happens", "agrees"],
                     ([*row[:5], "yes" if row[5] else "no"] for row in rows), harness.MEMTAP, harness.PYTHON)
    sys.exit(any(not row[5] and row[3] != "modelled" for row in rows))


if __name__ == "__main__":
    main()
