# SPDX-License-Identifier: Apache-2.0
"""How a run ended is in its trace, whatever way it ended, and every command goes by it: a run that is not
whole is never good, no baseline, and does not make a budget."""
import json
import subprocess
from pathlib import Path

import harness
from harness import MEMTAP, PYTHON, check, equal, must_run, run

PROGRAM = Path(__file__).with_name("ends.py")
BASELINES = {way: "plain" for way in ("plain", "exit", "_exit", "abort", "killed", "crash", "exec")}  # of others: "well"
# The way, memtap run's exit code, the end's name, its words.
WAYS = [
    ("well", 0, "whole", "whole"),
    ("plain", 0, "whole", "whole"),
    ("caught", 0, "whole", "whole; memory ran out once, and the program continued"),
    ("caught_last", 0, "whole", "whole; memory ran out once, and the program continued"),
    ("caught_then_exit", 3, "exit", "exit code 3; memory ran out once, and the program continued"),
    ("oom", 1, "oom", "out of memory, not caught; exit code 1"),
    ("oom_signal", 134, "oom", "out of memory, not caught; killed by signal 6 (SIGABRT)"),
    ("raise", 1, "exit", "exit code 1"),
    ("exit", 3, "exit", "exit code 3"),
    ("_exit", 4, "exit", "exit code 4"),
    ("abort", 134, "killed", "killed by signal 6 (SIGABRT)"),
    ("kill", 137, "killed", "killed by signal 9 (SIGKILL)"),
    ("killed", 137, "killed", "killed by signal 9 (SIGKILL)"),
    ("crash", 139, "killed", "killed by signal 11 (SIGSEGV)"),
    ("exec", 0, "executed", "the process executed another program (/bin/sh)"),
]


def asked(*words):
    return json.loads(run([MEMTAP, *words]).stdout)


def record(work, way, code):
    trace = work / f"{way}.mtap"
    done = must_run([*harness.recorded(trace), PYTHON, PROGRAM, way], ends=code)
    return trace, done.stderr


def commands(trace, how, text):
    """What each command that reads it says first, and in JSON."""
    for name in "info", "report", "blocks", "stacks":
        equal(f"{name} of {trace.name}", asked(name, "-f", "json", trace)["ended"]["how"], how)
    out = run([MEMTAP, "info", trace]).stdout.splitlines()
    check(out[1].startswith(f"ended     {text}"), f"info of {trace.name}: {out[1]}")
    for name in "report", "blocks", "stacks", "dump":
        first = run([MEMTAP, name, trace]).stdout.splitlines()[0]
        check((text in first) == (how != "whole"), f"{name} of {trace.name} begins with: {first}")


def gate(trace, good, how, text):
    done = run([MEMTAP, "check", trace, "--against", good])
    equal(f"check of {trace.name}", done.returncode, how != "whole")
    said = " ".join(done.stdout.split())  # as it was before lines were broken
    check((f"{trace}: ended: {text}" in said) == (how != "whole"), done.stdout)
    if how == "whole":
        return
    check(done.stdout.splitlines()[0].startswith(f"{trace}: ended: "), f"it comes first: {done.stdout}")
    done = run([MEMTAP, "check", trace, "--against", good, "--allow-ended", how])
    equal(f"check of {trace.name}, asked to: {done.stdout}", done.returncode, 0)
    for command in ("check", good, "--against", trace), ("budget", trace):
        done = run([MEMTAP, *command])
        equal(f"{command[0]}: no baseline", (done.returncode, done.stdout), (2, ""))
        check(f"ended: {text}" in done.stderr and f"--allow-ended {how}" in done.stderr, done.stderr)
        equal(f"{command[0]}, asked to", run([MEMTAP, *command, "--allow-ended", how]).returncode, 0)
    done = run([MEMTAP, "diff", good, trace])
    check(" ".join(done.stdout.split()).startswith(f"Note: {trace}: ended: {text}"), f"diff: {done.stdout}")


def copies(work, trace, how, text):
    """A compact copy, and a recovered trace, keep saying it."""
    compact, whole = work / "compact.mtap", work / "recovered.mtap"
    must_run([MEMTAP, "compact", "-o", compact, trace])
    equal(f"compact copy of {trace.name}", asked("info", "-f", "json", compact)["ended"]["text"], text)
    if not asked("info", "-f", "json", trace)["complete"]:
        must_run([MEMTAP, "recover", "-o", whole, trace])
        told = asked("info", "-f", "json", whole)
        equal(f"recovered {trace.name}", (told["complete"], told["ended"]["how"], told["ended"]["recovered"]),
              (True, how, True))
        must_run([MEMTAP, "check", whole, "--against", whole], ends=2)
        whole.unlink()
    compact.unlink()


def history(work):
    """Bad nights are in the list with a mark, and the trend leaves them out."""
    db = work / "h.db"
    for way, _, how, text in WAYS:
        done = must_run([MEMTAP, "history", "add", "--db", db, work / f"{way}.mtap"])
        check((f"ended: {text}" in done.stdout) == (text != "whole"), done.stdout)
    runs = asked("history", "list", "-f", "json", "--db", db)["runs"]
    equal("runs", [(one["ended"], one["ended_text"]) for one in runs], [(how, text) for _, _, how, text in WAYS])
    trend = asked("history", "trend", "-f", "json", "--program", PROGRAM.name, "--db", db)
    equal("left out", trend["left_out"], len([bad for bad in runs if bad["program"] == PROGRAM.name and bad["ended"] != "whole"]))
    # What was killed, or became another program, so early may not say which it was.
    out = must_run([MEMTAP, "history", "trend", "--program", PROGRAM.name, "--db", db]).stdout
    check("left out: run 11" in out and "ended: killed by signal 6 (SIGABRT)" in out, out)
    every = asked("history", "trend", "-f", "json", "--program", PROGRAM.name, "--db", db, "--allow-ended", "any")
    equal("left out, asked to", every["left_out"], 0)


def running(work):
    """A trace that is being written is said to be so, and what is made of it keeps saying it."""
    trace, compact = work / "running.mtap", work / "c.mtap"
    command = [str(word) for word in [*harness.recorded(trace), PYTHON, PROGRAM, "wait"]]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        equal("it is ready", process.stdout.readline(), "ready\n")
        done = run([MEMTAP, "check", trace, "--against", work / "well.mtap"])
        equal("check of a running one", done.returncode, 1)
        said = " ".join(done.stdout.split())
        check(said.startswith(f"{trace}: ended: not yet; the program was still running"), done.stdout)
        must_run([MEMTAP, "check", work / "well.mtap", "--against", trace], ends=2)
        done = must_run([MEMTAP, "compact", "-o", compact, trace])
        check("ended: not yet; the program was still running" in done.stdout, done.stdout)
        done = must_run([MEMTAP, "history", "add", "--db", work / "r.db", trace])
        check("ended: not yet; the program was still running" in done.stdout, done.stdout)
        equal("recover in place", run([MEMTAP, "recover", trace]).returncode, 2)
        process.communicate("\n")
    equal("afterwards", asked("info", "-f", "json", trace)["ended"]["how"], "whole")
    equal("the copy", asked("info", "-f", "json", compact)["ended"]["how"], "running")
    must_run([MEMTAP, "check", compact, "--against", compact], ends=2)


def processes(work):
    """Children tell their ends by themselves; so does a program without memtap run."""
    done = must_run([*harness.recorded(work / "rank-%r.mtap"), PYTHON, PROGRAM, "ranks"], ends=1)
    for rank, text in enumerate(("whole", "out of memory, not caught; exit code 1")):
        equal(f"rank {rank}", asked("info", "-f", "json", work / f"rank-{rank}.mtap")["ended"]["text"], text)
    check(f"memtap oom {work}/rank-1.mtap" in done.stderr, done.stderr)
    env = {"LD_PRELOAD": must_run([MEMTAP, "lib"]).stdout.strip(), "MEMTAP_OUTPUT": str(work / "alone.mtap")}
    must_run([MEMTAP, "simulate", "--gpu", "h100", "--", PYTHON, PROGRAM, "caught_then_exit"], ends=3, env=env)
    equal("without memtap run", asked("info", "-f", "json", work / "alone.mtap")["ended"]["text"],
          "exit code 3; memory ran out once, and the program continued")


def main():
    harness.need_torch()
    with harness.folder() as name:
        work = Path(name)
        for way, code, how, text in WAYS:
            trace, said = record(work, way, code)
            commands(trace, how, text)
            gate(trace, work / f"{BASELINES.get(way, 'well')}.mtap", how, text)
            copies(work, trace, how, text)
            next_ = f"memtap {'oom' if how == 'oom' else 'report'} {trace}"
            check(next_ in said, f"memtap run: {said}")
            check((f"ended: {text}" in said) == (how != "whole"), f"memtap run: {said}")
        history(work)
        running(work)
        processes(work)
    harness.finish()


main()
