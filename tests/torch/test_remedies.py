# SPDX-License-Identifier: Apache-2.0
"""What stands first in memtap oom carries the run through when it is followed; so does the memory that it says is missing."""
import json
import re
import tempfile
from pathlib import Path

import harness
from harness import MEMTAP, check, must_run

MIB = 1 << 20
BESIDE = 650 * MIB  # what the context and two handles of cuBLAS take beside PyTorch
PROGRAM = Path(__file__).with_name("dead_jobs.py")
# (job, part of what it reserves on a card that is large enough, what is to stand first)
JOBS = [
    ("validation_sums", 0.5, "no-grad"),
    ("validation_at_once", 0.6, "no-grad"),
    ("scoring", 0.5, "no-grad"),
    ("wide", 0.9, "optimizer:adamw-fused"),
    ("wide_adam", 0.9, "optimizer:adamw-fused"),
    ("embeddings", 0.9, "optimizer:adamw-fused"),
    ("retry", 0.75, "drop-exception"),
    ("retry_kept", 0.75, "drop-exception"),
    ("retry_encoder", 0.5, "drop-exception"),
    ("threads", 0.5, "keep-nothing"),
    ("loaded", 0.85, "host-copies"),
    ("best_clones", 0.85, "host-copies"),
    ("best_modules", 0.85, "host-copies"),
    ("whole", 0.75, "checkpoint-each"),
    ("whole_encoder", 0.75, "checkpoint-each"),
]
PROMISES = [("whole", 0.8), ("no_optimizer", 0.6), ("squares", 0.6)]
# What is promised, by how the run went on.
FAR = {"forward": "forward", "backward": "backward", "step": "step", "next": "step"}


class Jobs:
    def __init__(self, recorded, plain, folder):
        self.recorded, self.plain, self.folder = recorded, plain, folder
        self.trace = Path(folder) / "job.mtap"

    def run(self, job, memory, *remedies, trace=None, env=None):
        """(exit code, what it printed)."""
        forks = self.recorded if trace else self.plain
        return forks.run(trace or self.trace, PROGRAM, job, *remedies, env={"CUDASIM_MEMORY": str(memory), **(env or {})}, cwd=self.folder)

    def reserved(self, job):
        code, output = self.run(job, 80 << 30)
        check(code == 0, f"{job}: {output[-300:]}")
        return int(output.split()[-1])

    def die(self, job, part):
        """(card, what it printed, memtap oom's JSON)."""
        memory = BESIDE + int(self.reserved(job) * part) // (2 * MIB) * 2 * MIB
        self.trace.unlink(missing_ok=True)
        code, output = self.run(job, memory, trace=self.trace)
        check(code and "OutOfMemoryError" in output, f"{job}: {code}, {output[-300:]}")
        return memory, output, json.loads(must_run([MEMTAP, "oom", "--format", "json", self.trace]).stdout)


def follow(jobs, job, part, wanted):
    """Whether a promise was kept; see keeps_promise."""
    memory, before, found = jobs.die(job, part)
    first = found["suggestions"][0]
    text = must_run([MEMTAP, "oom", jobs.trace]).stdout.split("\n\n")[0]
    check(first["change"] == wanted and first["fits"], f"{job}: {[(one['change'], one['fits'], one['through']) for one in found['suggestions']]}\n{text}")
    check("\nDo: " in text or "\nTry: " in text, f"{job}: {text}")
    code, output = jobs.run(job, memory, wanted)
    check(code == 0, f"{job} with {wanted}: {output[-300:]}")
    ways = json.loads(harness.run([MEMTAP, "plan", "--format", "json", jobs.trace]).stdout)["answer"]["ways"]
    told = [one["change"] for one in found["suggestions"] if one["change"] not in ("set", "checkpoint")]
    planned = ["+".join(way["changes"]) for way in ways if way["changes"] and not way["changes"][0].startswith("checkpoint:")]
    check(planned[:len(told)] == told, f"{job}: oom {told}, plan {planned}")
    return keeps_promise(jobs, job, memory, before, found)


def trains_nothing(jobs, job, part):
    """Where nothing was ever trained, nothing for training is advised."""
    memory, before, found = jobs.die(job, part)
    told = must_run([MEMTAP, "oom", jobs.trace]).stdout
    check("a batch of 1/2" in told and not re.search("gradient|optimizer|checkpoint", told), f"{job}: {told}")
    keeps_promise(jobs, job, memory, before, found)


def goes_on(jobs, job, part):
    """Where a smaller attempt goes on well after the only one that failed, that one is no evaluation, and no exception holds anything."""
    memory, _, _ = jobs.die(job, part)
    jobs.trace.unlink()
    code, output = jobs.run(job, memory, "drop-exception", trace=jobs.trace)
    check(code == 0, f"{job} with smaller attempts: {output[-300:]}")
    text = must_run([MEMTAP, "oom", jobs.trace]).stdout
    check("Out of memory in forward, iteration 1:" in text and "except block" not in text, f"{job} went on: {text}")


def keeps_promise(jobs, job, memory, before, found):
    """With the memory that is said to be missing, the run comes as far as it says. Whether any is."""
    rest = found["rest"]
    if not rest or not rest["more_needed"]:
        return False
    code, output = jobs.run(job, memory + rest["more_needed"])
    mark = "came " + FAR[rest["through"]]
    is_kept = code == 0 or output.count(mark) > before.count(mark) or (rest["evaluates"] and output.count("came evaluation"))
    check(is_kept, f"{job}: {rest}: {output[-300:]}")
    return True


def is_bounded(jobs, job, remedy):
    """What a change saves is within the bound that is given, or none is given."""
    jobs.trace.unlink(missing_ok=True)
    jobs.run(job, 80 << 30, trace=jobs.trace)
    done = must_run([MEMTAP, "plan", "--change", remedy, "--format", "json", jobs.trace])
    change = json.loads(done.stdout)["changes"][0]
    peak = int(jobs.run(job, 80 << 30, remedy)[1].split()[-2])
    bound = change["error_per_thousand"]
    check(bound is None or abs(change["new_peak"] - peak) <= peak * bound / 1000 + MIB, f"{job}: {change}, real {peak}")


def main():
    simulate = [MEMTAP, "simulate", "--gpu", harness.GPU, "--"]
    with tempfile.TemporaryDirectory() as folder, harness.Forks(PROGRAM) as recorded, harness.Forks(PROGRAM, before=simulate) as plain:
        jobs = Jobs(recorded, plain, folder)
        kept = sum(follow(jobs, *job) for job in JOBS)
        kept += sum(keeps_promise(jobs, job, *jobs.die(job, part)) for job, part in PROMISES)
        goes_on(jobs, "retry", 0.75)
        trains_nothing(jobs, "generates", 0.12)
        check(kept > 3, f"only {kept} promises")
        for job in ("squares", "cached_casts", "half_copies", "no_optimizer", "table", "mask", "distances", "penalty"):
            is_bounded(jobs, job, "batch:1/2")
        for job in ("whole", "whole_encoder"):
            is_bounded(jobs, job, "checkpoint-each")
        for job in ("loaded", "best"):
            is_bounded(jobs, job, "host-copies")
    harness.finish()


if harness.ON_GPU:
    harness.skip("the card's size is simulated")
harness.need_torch()
main()
