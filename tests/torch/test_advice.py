# SPDX-License-Identifier: Apache-2.0
"""What memtap oom says of its advice, against runs with that advice: evaluation/advice, some of its cases. A replayed answer
has to be right; of the modelled ones, those of these cases, too."""
import json
import re
import sys
import tempfile

import harness
from harness import MEMTAP, ROOT, check

sys.path.insert(0, str(ROOT / "evaluation" / "advice"))
import campaign
from cases import CASES

TRIED = ["attention 60 %", "attention 83 %", "dense 70 %", "pictures 35 %", "keeps data", "changing lengths 75 %", "evaluation 75 %"]


def keeps_settings(recorded, folder):
    """The run's own settings are those of the replay, and are no advice."""
    options = next(case[1] for case in CASES if case[0] == "attention 60 %")
    case = campaign.Case("own settings", options, 0, folder)
    first = case.run(recorded, 1000 << 20, case.words(), env={"PYTORCH_ALLOC_CONF": "expandable_segments:True"})
    found = case.advice()
    check(first["ended"] == "oom" and found["more_needed"], f"expandable segments: {first}, {found['more_needed']}")
    check(all(advice["set"] != "expandable_segments:True" for advice in found["suggestions"]), "advice that is in force")
    case.trace.unlink()


def says_what_is_not_known(recorded, folder):
    """In a first forward whose rest is not known (one layer), a setting stands behind what lets less be live, and nothing fits for certain."""
    case = campaign.Case("one layer", "--batch 24 --length 192 --layers 1", 0, folder)
    first = case.run(recorded, 646 << 20, case.words())
    lines = harness.must_run([MEMTAP, "oom", case.trace]).stdout.split("\n\n")[0]
    check(first["ended"] == "oom" and first["at"][:2] == [0, 1] and re.search(r"\nDo: .*?\(modelled:\s+serves\s+this\s+request", lines, re.S),
          f"one layer: {first}, {lines}")
    done = harness.run([MEMTAP, "plan", "--format", "json", case.trace])
    answer = json.loads(done.stdout)["answer"]
    check(done.returncode == 1 and answer["ways"] and not any(way["fits"] for way in answer["ways"]), f"one layer: {done.returncode}, {answer}")
    case.trace.unlink()


def agrees_with_plan(case):
    """Of the advice that both models give, oom and plan name the same first."""
    told = [advice["change"] for advice in case.advice()["suggestions"] if advice["fits"] and not advice["set"]]
    ways = [way["changes"] for way in case.advice("plan")["answer"]["ways"] if way["fits"] and not way["conf"]]
    planned = [change for (change, *more) in filter(None, ways) for change in (change, change.split(":")[0]) if change in told and not more]
    check(len(planned) > 1 and planned == [change for change in told if change in planned], f"{case.name}: {told}, but plan {planned}")


def counts_handles(case):
    """Backward's thread takes handles, too: as large as forward's, or memtap says that it does not know."""
    told = case.advice()["rest"]["handles"], case.advice("plan")["answer"]["handles"]
    cublas = 64 * campaign.MIB + 128 * 1024 + 1024
    wanted = {"attention 60 %": {"bytes": cublas, "lacks_cublas": False},
              "pictures 35 %": {"bytes": 10 * campaign.MIB + 25344 + 4, "lacks_cublas": True}}
    if case.name in wanted:
        check(told == (wanted[case.name],) * 2, f"{case.name}: handles to come: {told}")


def fits_in_largest_batch(case, plain, memory):
    """Return whether memtap says the largest batch that fits: the run comes through with it, and not with a batch that is two of its steps
    larger."""
    found = [advice["largest_batch"] for advice in case.advice()["suggestions"] if advice["largest_batch"]]
    if not found:
        return False
    about = found[0]["about"]
    text = " ".join(harness.must_run([MEMTAP, "oom", case.trace]).stdout.split())
    check(len(found) == 1 and text.count("the largest batch that ") == 1 and found[0]["least"] <= about, f"{case.name}: {found}, {text}")
    for part, ended in (about, "whole"), (about + 0.25, "oom"):
        if part < 1:
            again = case.run(plain, memory, [*case.words(), "--batch-scale", str(part)])
            check(again["ended"] == ended, f"{case.name}: with {part} of the batch it {again['ended']}; {found}")
    return True


def main():
    program = campaign.HERE / "program.py"
    simulate = [MEMTAP, "simulate", "--gpu", harness.GPU, "--"]
    replayed = said = 0
    with tempfile.TemporaryDirectory() as folder, harness.Forks(program) as recorded, \
            harness.Forks(program, before=simulate) as plain:
        for case in (campaign.Case(*case, folder) for case in CASES if case[0] in TRIED):
            case.compare(recorded, plain)
            check(len(case.rows) > 1, f"{case.name}: {case.rows}")
            for row in case.rows:
                check(row[5], f"{case.name}: of {row[1]} memtap says {row[2]} ({row[3]}); it {row[4]}")
                replayed += row[3] == "replayed"
            counts_handles(case)
            said += fits_in_largest_batch(case, plain, case.memory)
            if case.name == TRIED[0]:
                agrees_with_plan(case)
            case.trace.unlink()
        keeps_settings(recorded, folder)
        says_what_is_not_known(recorded, folder)
    check(said >= 2, f"only {said} say the largest batch")
    check(replayed >= len(TRIED), f"only {replayed} answers are replayed")
    harness.finish()


if harness.ON_GPU:
    harness.skip("the card's size is simulated")
harness.need_torch()
main()
