# SPDX-License-Identifier: Apache-2.0
"""test-unknown.py MEMTAP PROGRAM: where memtap does not know this Python or this PyTorch, it records
without, says why in one line and in the trace, and the program goes on."""
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
from checks import check, finish

memtap, program = sys.argv[1], os.path.abspath(sys.argv[2])
CASES = [
    # What Py_GetVersion says, the trace's python_stacks, what the message has.
    ("3.99.1 (main, Jan  1 2030) [GCC]", "no: this version of Python is not supported", "Python 3.99"),
    ("4.0.0 (main)", "no: this version of Python is not supported", "Python 4.0"),
    ("3.13.0 experimental free-threading build (main)", "no: this Python is built without the GIL",
     "without the GIL"),
    ("3.14.3 free-threading build (main)", "no: this Python is built without the GIL",
     "without the GIL"),
    ("nonsense", "no: there is no Python in this process", ""),
] + [(f"3.{minor}.2 (main)", "no: the frame layout of this Python is unknown", "the frame layout")
     for minor in range(8, 16)] + [
    ("3.11.2 (main)|read-only", "no: Python's code type is read-only",
     "is read-only")]
MISSING = ("all but report_oom set_requires_grad set_data saved_tensor leaf accumulate mutable_grad node_new "
           "node_run")


for version, status, message in CASES:
    with tempfile.TemporaryDirectory() as directory:
        trace = os.path.join(directory, "t.mtap")
        ran = subprocess.run([memtap, "run", "--output", trace, "--", program,
                              *version.split("|")],
                             text=True, capture_output=True, check=False)
        check(ran.returncode == 0, f"{version}: exit code {ran.returncode}: {ran.stderr}")
        lines = [line for line in ran.stderr.splitlines() if "Python" in line]
        check(len(lines) == bool(message) and all(message in line for line in lines),
              f"{version}: {ran.stderr!r}")
        dump = subprocess.run([memtap, "dump", trace], text=True, capture_output=True, check=True)
        info = dict(line[5:].split("=", 1) for line in dump.stdout.splitlines()
                    if line.startswith("info "))
        check(info["python_stacks"] == status, f"{version}: python_stacks={info['python_stacks']}")
        check(info["native_stacks"] == "no: switched off", f"{version}: native stacks beside Python")
        check(info["torch_hooks"] == MISSING, f"{version}: torch_hooks={info['torch_hooks']}")
        check(" 512 " in dump.stdout or "size=512" in dump.stdout, f"{version}: no event")
finish()
