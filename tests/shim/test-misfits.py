# SPDX-License-Identifier: Apache-2.0
"""test-misfits.py MEMTAP SHIM HANDS-OVER ALLOC-THREADS [READINGS CSV]: a trace whose tail or older segment is another trace's, from
another moment, there twice, cut or missing: every command names it and fails, or answers as before, and memtap recover removes no file
that is not the trace's."""
import json
import os
import pathlib
import random
import shutil
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
from checks import check, finish, until
from gaps import COMMANDS, Readings

memtap, shim, hands_over, alloc_threads = (os.path.abspath(path) for path in sys.argv[1:5])
readings, table = (int(sys.argv[5]), os.path.abspath(sys.argv[6])) if len(sys.argv) > 5 else (0, "")
RINGS, RING = 4096 + (1 << 20), 4096 + (1 << 21)  # of the tail, in bytes: trace-format/tail.h
TRACE = pathlib.Path("t.mtap")
PARTS = "", ".tail", ".0"
# What is wrong, and the words for it; none: the answer is the same.
MISFITS = {
    "no tail": "the recording was not closed",
    "tail of another": "is that of another trace",
    "older tail": "is older than the trace",
    "later tail": "its tail begins at",
    "rings exchanged": "",
    "ring repeated": "duplicate ring",
    "no segment": "is missing",
    "segment of another": "is of another trace",
    "segment cut": "is incomplete",
    "segment repeated": "is a copy of the trace itself",
}


def settings(name, **more):
    return {**os.environ, "LD_PRELOAD": shim, "MEMTAP_OUTPUT": f"{name}.mtap", "MEMTAP_QUIET": "1", "MEMTAP_STACKS": "none", **more}


def kill(name, early=None):
    """Record until the process is killed; before that, copy trace and tail as `early`."""
    program = subprocess.Popen([hands_over, "4", "5000"], env=settings(name))
    trace = pathlib.Path(f"{name}.mtap")
    until(lambda: trace.exists() and trace.stat().st_size > 5000)
    if early:
        copy(name, early)
        copy(name, early, ".tail")
        size = trace.stat().st_size
        until(lambda: trace.stat().st_size > 4 * size)
    program.kill()
    program.wait()


def copy(name, to, suffix=""):
    shutil.copy(f"{name}.mtap{suffix}", f"{to}.mtap{suffix}")


def rings_of(tail):
    """The rings of a tail that threads use: where each begins."""
    at = range(RINGS, len(tail) - RING + 1, RING)
    return [start for start in at if struct.unpack_from("<QII", tail, start)[2]]


def make(misfit):
    for part in PARTS:
        pathlib.Path(f"t.mtap{part}").unlink(missing_ok=True)
    source = "kept" if "segment" in misfit else "early" if misfit == "later tail" else "killed"
    copy(source, "t")
    if misfit == "segment cut":
        whole = pathlib.Path("kept.mtap.0").read_bytes()
        pathlib.Path("t.mtap.0").write_bytes(whole[:len(whole) // 2])
    elif misfit == "segment repeated":
        copy("kept", "t", ".0")
        shutil.copy("kept.mtap", "t.mtap.0")
    elif misfit == "segment of another":
        copy("kept2", "t", ".0")
    elif "ring" in misfit:
        tail = bytearray(pathlib.Path("killed.mtap.tail").read_bytes())
        first, second = rings_of(tail)[:2]
        a, b = bytes(tail[first:first + RING]), bytes(tail[second:second + RING])
        tail[second:second + RING] = a
        if misfit == "rings exchanged":
            tail[first:first + RING] = b
        pathlib.Path("t.mtap.tail").write_bytes(tail)
    elif "no " not in misfit:
        copy({"tail of another": "other", "older tail": "early", "later tail": "killed"}[misfit], "t", ".tail")


def check_words(gaps, misfit, words):
    """The words are in the answers of all kinds, and in the JSON."""
    for command in ("info", "check", "diff", "plan") if words else ():
        code, said, _ = gaps.run(command, TRACE.absolute())
        check((code or command == "info" and misfit == "no tail") and words in said, f"{command}: {misfit}", code, said[:300])
    report = subprocess.run([memtap, "report", "--format", "json", TRACE], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    ended = json.loads(report.stdout)["ended"]
    check(not words or words in ended["text"], misfit, ended)


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    kill("killed", early="early")
    kill("other")
    for name in ("kept", "kept2"):
        subprocess.run([alloc_threads, "2", "250000"], env=settings(name, MEMTAP_KEEP="1M"), check=False, stdout=subprocess.DEVNULL)
    subprocess.run([memtap, "recover", "-o", "whole.mtap", "killed.mtap"], stdout=subprocess.DEVNULL, check=True)
    gaps = Readings(memtap, folder, pathlib.Path("whole.mtap").absolute(), COMMANDS if table else ("info", "check", "diff", "plan", "export", "recover", "nightly"))
    right = {}
    for source, parts in ("killed", ("", ".tail")), ("kept", ("", ".0")):
        for part in parts:
            copy(source, "t", part)
        right[source] = {command: gaps.run(command, TRACE.absolute()) for command in gaps.names}
        for part in parts:
            pathlib.Path(f"t.mtap{part}").unlink()
    check("complete up to that moment" in right["killed"]["info"][1], "killed", right["killed"]["info"])
    check(right["kept"]["info"][0] == 0 and rings_of(pathlib.Path("killed.mtap.tail").read_bytes())[1:], "what was recorded")
    random_ = random.Random(4711)
    for misfit, words in MISFITS.items():
        make(misfit)
        check_words(gaps, misfit, words)
    for i in range(readings or len(gaps.names) * len(MISFITS)):
        misfit, command = random_.choice(list(MISFITS)), gaps.command(i)
        make(misfit)
        gaps.read(command, misfit, TRACE.absolute(), right["kept" if "segment" in misfit else "killed"])
    gaps.print()
    check(not gaps.silent, "silent")
    make("tail of another")
    before = pathlib.Path("t.mtap.tail").read_bytes()
    code, said, _ = gaps.run("recover", TRACE.absolute())
    done = subprocess.run([memtap, "recover", TRACE], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    same = pathlib.Path("t.mtap.tail").read_bytes() == before
    check(done.returncode == 2 and "that of another trace" in done.stdout and same, "recover", done)
    if table:
        gaps.save(table)
finish()
