# SPDX-License-Identifier: Apache-2.0
"""test-misfits.py MEMTAP SHIM HANDS-OVER ALLOC-THREADS: a trace whose tail or older segment is another trace's, from
another moment, cut or missing: every command names it and fails, and memtap recover removes no file that is not the trace's."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
from checks import check, finish, until

memtap, shim, hands_over, alloc_threads = (os.path.abspath(path) for path in sys.argv[1:])
COMMANDS = {
    "info": ["info", "{}"],
    "info json": ["info", "--format", "json", "{}"],
    "report": ["report", "{}"],
    "report json": ["report", "--format", "json", "{}"],
    "blocks": ["blocks", "{}"],
    "stacks": ["stacks", "{}"],
    "dump": ["dump", "{}"],
    "check": ["check", "--budget", "budget.toml", "{}"],
    "budget": ["budget", "{}"],
    "diff": ["diff", "whole.mtap", "{}"],
    "diff back": ["diff", "{}", "whole.mtap"],
    "compact": ["compact", "-o", "made-c.mtap", "{}"],
    "export": ["export", "-f", "csv", "-o", "made.csv", "{}"],
    "metrics": ["metrics", "{}"],
}
FEW = ("info", "check", "diff", "diff back")  # of traces with many events


def settings(name, **more):
    return {**os.environ, "LD_PRELOAD": shim, "MEMTAP_OUTPUT": f"{name}.mtap", "MEMTAP_QUIET": "1", "MEMTAP_STACKS": "none", **more}


def kill(name, early=None):
    """Record until the process is killed; before that, copy trace and tail as `early`."""
    program = subprocess.Popen([hands_over, "4"], env=settings(name))
    trace = pathlib.Path(f"{name}.mtap")
    until(lambda: trace.exists() and trace.stat().st_size > 5000)
    if early:
        copy(name, early)
        copy(name, early, ".tail")
        size = trace.stat().st_size
        until(lambda: trace.stat().st_size > 4 * size)
    program.kill()
    program.wait()


def copy(name, to, suffix="", of=""):
    shutil.copy(f"{name}.mtap{of or suffix}", f"{to}.mtap{suffix}")


def memtap_says(words, path):
    done = subprocess.run([memtap, *[word.format(path) for word in words]], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    for made in pathlib.Path().glob("made*"):
        made.unlink()
    return done.returncode, " ".join(done.stdout.decode(errors="replace").split())


def fails(what, words, commands=tuple(COMMANDS)):
    for command in commands:
        code, said = memtap_says(COMMANDS[command], f"{what}.mtap")
        check(code and words in said, f"{command} of {what}", code, said[:300])
    report = subprocess.run([memtap, "report", "--format", "json", f"{what}.mtap"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    ended = json.loads(report.stdout)["ended"]
    check(ended["how"] == "cut" and words in ended["text"], what, ended)


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    pathlib.Path("budget.toml").write_text('[limits]\npeak = "1 TiB"\n')
    kill("killed", early="early")
    kill("other")
    subprocess.run([memtap, "recover", "-o", "whole.mtap", "killed.mtap"], stdout=subprocess.DEVNULL, check=True)
    check(memtap_says(["info", "{}"], "killed.mtap")[1].count("complete up to that moment") == 1, "killed")
    copy("killed", "foreign")
    copy("other", "foreign", ".tail")
    copy("killed", "stale")
    copy("early", "stale", ".tail")
    copy("early", "ahead")
    copy("killed", "ahead", ".tail")
    fails("foreign", "is that of another trace")
    fails("stale", "is older than the trace")
    fails("ahead", "its tail begins at")
    before = pathlib.Path("foreign.mtap.tail").read_bytes()
    code, said = memtap_says(["recover", "{}"], "foreign.mtap")
    check(code == 2 and "that of another trace" in said and pathlib.Path("foreign.mtap.tail").read_bytes() == before, "recover", code, said)

    for name in ("kept", "kept2"):
        subprocess.run([alloc_threads, "2", "500000"], env=settings(name, MEMTAP_KEEP="1M"), check=False, stdout=subprocess.DEVNULL)
    check(os.path.exists("kept.mtap.0") and memtap_says(["info", "{}"], "kept.mtap")[0] == 0, "kept", os.listdir())
    for name in ("gone", "exchanged", "cut"):
        copy("kept", name)
    copy("kept2", "exchanged", ".0")
    segment = pathlib.Path("kept.mtap.0").read_bytes()
    pathlib.Path("cut.mtap.0").write_bytes(segment[:len(segment) // 2])
    fails("gone", "is missing", FEW)
    fails("exchanged", "is of another trace", FEW)
    fails("cut", "is incomplete", FEW)
finish()
