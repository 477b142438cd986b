# SPDX-License-Identifier: Apache-2.0
"""test-out-of-sight.py MEMTAP PROGRAM LIBRARY: memtap run of a program that leaves its root, or uses CUDA in a namespace of the loader's, does
not say that no process used CUDA, and the program finds what it would find alone."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
from checks import check, finish

memtap, program, library = map(os.path.abspath, sys.argv[1:])


def run(*words):
    done = subprocess.run([memtap, "run", "-o", "t.mtap", *words], capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    jail = pathlib.Path(f"jail{os.getcwd()}")  # memtap run names the trace by an absolute path
    jail.mkdir(parents=True)
    code, said = run(program, "chroot", "jail")
    if code != 77:
        check(code == 0 and "1 events in " in said and "a process changed its root directory (chroot)" in said, "chroot", code, said)
        check(os.listdir(jail) == ["t.mtap"] and "used CUDA" not in said, "chroot: the trace", os.listdir(jail), said)
    code, said = run(program, "chroot", "no such folder")
    check(code == 77 and "chroot" not in said and "no process used CUDA" in said, "a chroot that fails", code, said)
    # The loader looks for the library where the program's own path leads.
    shutil.copy(program, "here")
    shutil.copy(library, pathlib.Path(library).name)
    for name in library, os.path.basename(library):
        code, said = run("./here", "dlmopen", name)
        check(code == 0 and f"{os.path.basename(library)} was loaded by dlmopen into a namespace of its own" in said, f"dlmopen of {name}", code, said)
        check("used CUDA" not in said and not os.path.exists("t.mtap"), "dlmopen: no trace", said)
finish()
