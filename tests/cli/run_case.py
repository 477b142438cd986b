# SPDX-License-Identifier: Apache-2.0
"""run_case.py [--record] MAKE-TRACES MEMTAP CASE...: runs the command lines of each case and
compares their output with what the case says, to the byte; --record writes it there instead.

A case is a text file: a line `$ COMMAND` for the shell, with `memtap` and commands/ in the PATH and the traces of
make-traces in the working directory; then its stdout, its stderr with `! ` before each line, and
`= N` where its exit code N is not 0. Lines before the first command and `#` lines between are
comments. A last line without a newline is followed by `\\ no newline`."""
import difflib
import os
import pathlib
import subprocess
import sys
import tempfile

COMMANDS = pathlib.Path(__file__).resolve().parent / "commands"
# On a machine with a GPU it is not said. (tests/others/test-no-device.py holds it.)
NO_GPU = "; this machine has no NVIDIA GPU: memtap run --simulate h100 runs the program on a simulated card"


def shown(text, before=""):
    lines = text.split("\n")
    last = lines.pop()
    lines = [before + line for line in lines]
    return lines + ([before + last, "\\ no newline"] if last else [])


def run(command, folder, memtap):
    path = os.pathsep.join((str(memtap.parent), str(COMMANDS), os.environ["PATH"]))
    environment = {"PATH": path, "LC_ALL": "C.UTF-8", "HOME": str(folder), "TMPDIR": str(folder),
                   "CUDASIM_PATIENCE": "100000"}
    environment |= {name: os.environ[name] for name in os.environ if name.endswith("SAN_OPTIONS")}
    done = subprocess.run(["sh", "-c", command], cwd=folder, env=environment, capture_output=True,
                          stdin=subprocess.DEVNULL, check=False)
    out, error = (text.decode(errors="replace").replace(str(folder), "FOLDER").replace(
        str(memtap.parent.parent), "BUILD").replace(NO_GPU, "") for text in (done.stdout, done.stderr))
    code = [f"= {done.returncode}"] if done.returncode else []
    return shown(out) + shown(error, "! ") + code


def replay(case, folder, memtap):
    """The case's lines as they are, and as they come out."""
    before = case.read_text().split("\n")
    after, seen_command = [], False
    for line in before:
        if line.startswith("$ "):
            seen_command = True
            after.append(line)
            after += run(line[2:], folder, memtap)
        elif line.startswith("#") or not seen_command:
            after.append(line)
    return before, after + [""]


def main():
    arguments = sys.argv[1:]
    record = arguments[0] == "--record"
    make_traces, memtap, *cases = (pathlib.Path(path).resolve() for path in arguments[record:])
    failed = False
    for case in cases:
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder).resolve()
            subprocess.run([make_traces], cwd=folder, check=True)
            before, after = replay(case, folder, memtap)
        if record:
            case.write_text("\n".join(after))
        elif before != after:
            failed = True
            print("\n".join(difflib.unified_diff(before, after, case.name, "as it is now", n=1)))
    sys.exit(failed)


main()
