# SPDX-License-Identifier: Apache-2.0
"""test-silent.py LIBMEMTAP.SO: programs that have nothing to do with CUDA say and do the same with
the library preloaded, and leave no file."""
import os
import shutil
import subprocess
import sys
import tempfile

library = os.path.abspath(sys.argv[1])
SOURCE = "int main(void) { return 3; }\n"
COMMANDS = [
    ["bash", "-c", "echo out; echo err >&2; (exit 4) | cat; exit 5"],
    ["sh", "-c", "ls -d / | wc -l; kill -TERM $$"],
    ["git", "--version"],
    ["git", "init", "--quiet", "there"],
    ["gcc", "-o", "three", "three.c"],
    ["./three"],
    ["pip", "--version"],
    ["python3", "-c", "import subprocess, threading; print(subprocess.run(['true']).returncode)"],
    ["python3", "-c", "import os; os.fork(); os._exit(6)"],
    ["python3", "-c", "import ctypes; print(ctypes.CDLL(None).strlen(b'five!'))"],
    ["perl", "-e", "print 1 + 1"],
    ["tar", "cf", "archive.tar", "three.c"],
]
SECONDS = 300


def outcome(command, environment):
    """Exit code, output, errors and the files that there are afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "three.c"), "w", encoding="ascii") as source:
            source.write(SOURCE)
        if command == ["./three"]:
            subprocess.run(["gcc", "-o", "three", "three.c"], cwd=folder, check=True)
        ran = subprocess.run(command, cwd=folder, env=environment, timeout=SECONDS, check=False,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        files = sorted(os.listdir(folder))
    return ran.returncode, ran.stdout, ran.stderr, files


plain = {**os.environ, "LC_ALL": "C"}
faults = tried = 0
for command in COMMANDS:
    if command[0] != "./three" and not shutil.which(command[0]):
        print(f"not here: {command[0]}")
        continue
    tried += 1
    alone, preloaded = outcome(command, plain), outcome(command, {**plain, "LD_PRELOAD": library})
    if alone != preloaded:
        faults += 1
        print(f"{command}: {preloaded}, but without memtap {alone}")
print(f"{tried} commands, {faults} differ")
sys.exit(bool(faults) or tried < 4)
