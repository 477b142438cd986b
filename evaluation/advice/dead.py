# SPDX-License-Identifier: Apache-2.0
"""dead.py [-k PART] [--save]: is what `memtap oom` promises of its first remedy kept? Runs program.py in 12 ways out of memory, and the
jobs of tests/torch/dead_jobs.py, on cards so small that they die in forward, in the loss, in backward, in the first step of the optimizer,
in the second iteration or in an evaluation; follows the remedy that stands first as a user would paste it, and looks how far the run
comes: "promised and died" is to be none. Takes half an hour; MEMTAP and MEMTAP_TEST_PYTHON as in tests/torch. --save writes
evaluation/results/dead.csv."""
import argparse
import itertools
import json
import re
import sys
import tempfile
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / "tests" / "torch"), str(HERE.parent)]
import campaign  # noqa: E402
import harness  # noqa: E402
import results  # noqa: E402
from cases import DENSE, PHASES, PICTURES  # noqa: E402

ATTENTION = "--batch 24 --length 192 --layers 6 --steps 3"
LANGUAGE = "--model language --classes 16384 --width 256 --layers 4 --length 128 --steps 3"
PROGRAMS = [
    ("attention", ATTENTION),
    ("language", LANGUAGE),
    ("language, autocast", LANGUAGE + " --autocast"),
    ("dense", DENSE + " --steps 3"),
    ("dense, SGD", DENSE + " --optimizer sgd --steps 3"),
    ("half with masters", DENSE + " --dtype bfloat16 --masters --steps 3"),
    ("pictures", PICTURES + " --steps 3"),
    ("recurrent", "--model recurrent --width 512 --length 64 --batch 256 --steps 3"),
    ("mixer", "--model mixer --width 256 --length 256 --batch 16 --layers 6 --steps 3"),
    ("accumulating", ATTENTION + " --accumulate 2"),
    ("evaluating", ATTENTION + " --evaluate 12 --no-grad"),
    ("longer each step", "--batch 16 --layers 6 --length 96 --longer 32 --steps 4"),
]
# Of tests/torch/dead_jobs.py.
JOBS = ["validation_sums", "validation_at_once", "scoring", "wide", "wide_adam", "embeddings", "retry", "retry_kept", "retry_encoder", "loaded", "best",
        "best_clones", "best_modules", "whole", "whole_encoder", "outputs", "losses", "kept_gradients", "decode", "cache", "ddp", "deep", "tower",
        "vocabulary", "vocabulary_tied"]
FOLLOWED = ("no-grad", "optimizer:adamw-fused", "optimizer:adamw-for-loop", "drop-exception", "host-copies", "checkpoint-each", "keep-nothing", "zero-grad",
            "bucket-views", "batch:1/2", "batch:1/4", "batch:1/8", "offload:optimizer", "offload:activations", "offload:parameters", "precision:autocast", "precision:bf16",
            "optimizer:adafactor", "optimizer:sgd", "lora:16", "chunked-loss:16")
# Of what the same run reserves on a card that is large enough.
PARTS = (0.35, 0.6, 0.8, 0.95)
ENDS = {"this forward": "backward", "this backward": "optimizer", "this iteration": "evaluation"}


def first_remedy(case):
    """(what to do, as campaign.OF_PROGRAM or a setting; what is promised), of the three lines that stand first."""
    lines = harness.must_run([harness.MEMTAP, "oom", case.trace]).stdout.split("\n\n")[0]
    found = re.search(r"\n(?:Do|Try): (.*?)\s\(([^()]*)\)(?:\nOr: |$)", lines, re.S)
    if not found:
        return None, "nothing"
    what, said = (" ".join(part.split()) for part in found.groups())
    promised = said.partition(": ")[2]
    suggestions = case.advice()["suggestions"]
    if what.startswith("export ") and ", and " not in what:
        return ("set", what.partition("=")[2], what.partition("=")[2]), promised
    advice = next(one for one in suggestions if one["change"] != "set" and what.startswith(one["what"]))
    return (advice["change"], advice["modules"], advice["set"]), promised


def is_kept(promised, first, again, same_calls):
    """Whether the run came as far as promised; None: nothing was. An iteration ends with the optimizer's step, as in all reports: what is
    evaluated after it is not promised."""
    step, at = first["at"][0], tuple(again["at"])
    if promised.startswith("serves this request"):
        is_unknown = not same_calls and again["ended"] != "whole" and again["at"] == first["at"]
        return None if is_unknown else campaign.further(again, first, same_calls)
    if promised == "may be served":
        return None
    if again["ended"] == "whole":
        return True
    far = promised.removeprefix("through ")
    if far == "2 such iterations":
        return at >= (step + 1, PHASES.index("optimizer"), 0)
    if PHASES[first["at"][1]] == "evaluation":
        return at >= (step + 1, 0, 0)
    return at >= (step, PHASES.index(ENDS[far]), 0)


def place(run):
    return "to the end" if run["ended"] == "whole" else f"{PHASES[run['at'][1]]} of step {run['at'][0] + 1}"


class Dead(campaign.Case):
    def words(self, change=None):
        """The program's, with all parts of a change; None: there is no way to follow one of them."""
        words = list(self.options)
        for part in (change or "").split("+"):
            kind, _, more = part.partition(":")
            if kind == "checkpoint" and more:
                words += ["--checkpoint-modules", more]
            elif part and part not in campaign.OF_PROGRAM:
                return None
            if part == "precision:bf16":  # instead of autocast
                words = [word for word in words if word != "--autocast"]
            words += campaign.OF_PROGRAM.get(part, [])
        return words

    def follow_first(self, plain, memory, first):
        """[what to do, what is promised, how it ended, whether that was kept]."""
        remedy, promised = first_remedy(self)
        if not remedy:
            return ["-", promised, "", ""]
        change, more, setting = remedy
        parts = "" if change == "set" else f"{change}:{more}" if change == "checkpoint" and more else change
        words, name = self.words(parts), "+".join(filter(None, [setting, parts]))
        if words is None:
            return [name, promised, "not tried", ""]
        again = self.run(plain, memory, words, env={"PYTORCH_ALLOC_CONF": setting} if setting else {})
        kept = is_kept(promised, first, again, change == "set" or change.startswith("batch:"))
        return [name, promised, place(again), "" if kept is None else "yes" if kept else "NO"]


def rows(recorded, plain, part_of_name, folder):
    for name, options in PROGRAMS:
        case = Dead(name, options, 0, folder)
        if not any(part in name for part in part_of_name.split("|")):
            continue
        reserved = case.run(plain, 80 << 30, case.words())["reserved"]
        for part in PARTS:
            memory = campaign.BESIDE + int(reserved * part) // (2 * campaign.MIB) * 2 * campaign.MIB
            case.trace.unlink(missing_ok=True)
            first = case.run(recorded, memory, case.words())
            if harness.check(first["ended"] in ("oom", "whole"), f"{name}, {part:.0%}: {first['ended']}") and first["ended"] == "oom":
                yield [name, f"{part:.0%}", place(first), *case.follow_first(plain, memory, first)]


class Job:
    """One of dead_jobs.py."""
    program = HERE.parents[1] / "tests" / "torch" / "dead_jobs.py"

    def __init__(self, name, folder):
        self.name, self.trace, self.folder = name, Path(folder) / "job.mtap", folder

    def run(self, forks, memory, remedies=(), setting=None):
        """(exit code, what it printed)."""
        env = {"CUDASIM_MEMORY": str(memory), **({"PYTORCH_ALLOC_CONF": setting} if setting else {})}
        return forks.run(self.trace, self.program, self.name, *remedies, env=env, cwd=self.folder)

    def advice(self):
        return json.loads(harness.must_run([harness.MEMTAP, "oom", "--format", "json", self.trace]).stdout)

    def follow_first(self, plain, memory, before):
        remedy, promised = first_remedy(self)
        if not remedy:
            return ["-", promised, "", ""]
        change, more, setting = remedy
        parts = [] if change == "set" else [f"checkpoint:{more}"] if change == "checkpoint" else change.split("+")
        name = "+".join([*([setting] if setting else []), *parts])
        is_left = self.name == "ddp" and "offload:parameters" in parts  # instead of DDP
        is_left |= "lora:16" in parts and self.name not in ("ddp", "embeddings")
        if is_left or any(part not in FOLLOWED and not part.startswith("checkpoint:") for part in parts):
            return [name, promised, "not tried", ""]
        code, output = self.run(plain, memory, parts, setting)
        same_calls = not parts or parts[0].startswith("batch:") and not parts[1:]
        return [name, promised, came(code, output), self.is_kept(promised, before, code, output, same_calls)]

    @staticmethod
    def is_kept(promised, before, code, output, same_calls):
        if promised == "may be served":
            return ""
        if promised.startswith("serves this request") and code:
            made = [int(re.search(r"^allocations (\d+)", text, re.M)[1]) for text in (before, output)]
            times = made[1] - made[0] if same_calls else output.count("came ") - before.count("came ")
            return "yes" if times > 0 else "NO" if same_calls or times < 0 else ""
        far = {"this forward": "forward", "this backward": "backward", "this iteration": "step", "2 such iterations": "step"}
        mark = far.get(promised.removeprefix("through "), "")
        times = output.count("came " + mark) - before.count("came " + mark)
        least = 2 if promised == "through 2 such iterations" else 1
        return "yes" if code == 0 or times >= least or (mark and output.count("came evaluation") > before.count("came evaluation")) else "NO"


def came(code, output):
    last = re.findall(r"^came (\w+)", output, re.M)
    return "to the end" if code == 0 else f"after {last[-1]} {last.count(last[-1])}" if last else "nowhere"


def job_rows(recorded, plain, part_of_name, folder):
    for name in JOBS:
        job = Job(name, folder)
        if not any(part in name for part in part_of_name.split("|")):
            continue
        code, output = job.run(plain, 80 << 30)
        if not harness.check(code == 0, f"{name}: {output[-300:]}"):
            continue
        for part in PARTS:
            memory = campaign.BESIDE + int(int(output.split()[-1]) * part) // (2 * campaign.MIB) * 2 * campaign.MIB
            job.trace.unlink(missing_ok=True)
            code, before = job.run(recorded, memory)
            if code and re.search("OutOfMemoryError|ALLOC_FAILED", before):  # of PyTorch's, of a library's
                yield [name, f"{part:.0%}", came(code, before), *job.follow_first(plain, memory, before)]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-k", default="", help="only programs whose names have this; several with | between")
    parser.add_argument("--save", action="store_true", help="write the rows into evaluation/results/dead.csv")
    args = parser.parse_args()
    harness.need_torch()
    found, program, of_jobs = [], HERE / "program.py", Job.program
    simulate = [harness.MEMTAP, "simulate", "--gpu", harness.GPU, "--"]
    with tempfile.TemporaryDirectory() as folder, harness.Forks(program, of_jobs) as recorded, harness.Forks(
            program, of_jobs, before=simulate) as plain:
        for row in itertools.chain(job_rows(recorded, plain, args.k, folder), rows(recorded, plain, args.k, folder)):
            found.append(row)
            print("| " + " | ".join(row) + " |", flush=True)
    kept = Counter(row[6] for row in found)
    print(f"{len(found)} dead jobs: {kept['yes']} promises kept, {kept['NO']} promised and died, {kept['']} without a promise; "
          f"{sum(row[5] == 'to the end' for row in found)} ran to the end")
    harness.equal("promised and died", kept["NO"], 0)
    if args.save:
        results.save("dead", ["program", "card", "died_in", "first_remedy", "promised", "ended", "kept"], found, harness.MEMTAP, harness.PYTHON)
    harness.finish()


if __name__ == "__main__":
    main()
