# SPDX-License-Identifier: Apache-2.0
"""test_redact.py MAKE-TRACES MEMTAP: what --redact writes has none of the folders and host names of its trace, and says
the same otherwise."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
from checks import check, finish

make_traces, memtap = map(os.path.abspath, sys.argv[1:3])
TRACES = ("training.mtap", "native.mtap", "c-program.mtap", "rank0.mtap")
FORMATS = ("csv", "arrow", "perfetto", "memory_viz", "speedscope", "folded")
OF_PYTORCH = ("training.mtap", "rank0.mtap")


def run(*words):
    return subprocess.run([memtap, *words], capture_output=True, timeout=300, check=False)


def dumped(trace):
    return run("dump", trace).stdout.decode(errors="surrogateescape")


def secrets_of(trace):
    """Its host, and its folders but those below a library of Python."""
    text = dumped(trace)
    paths = re.findall(r"(?:^string \d+ |[ =])(/[^ \n]+)", text, re.MULTILINE)
    folders = {re.split("/(?:site-packages|dist-packages|lib/python3)", os.path.dirname(path) + "/")[0] for path in paths}
    hosts = re.findall(r"^info host=(.+)", text, re.MULTILINE)
    return {folder.rstrip("/") for folder in folders if len(folder) > 2} | set(hosts)


def without_names(text):
    return re.sub(r"host \w+", "host", re.sub(r"\S*(/|\.mtap)[^\s:]*", "path", text))


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    subprocess.run([make_traces], check=True, stdout=subprocess.DEVNULL)
    found = 0
    for trace in TRACES:
        secrets = secrets_of(trace)
        found += len(secrets)
        formats = [form for form in FORMATS if form != "memory_viz" or trace in OF_PYTORCH]
        for name, words in [("compact", ["compact", "--redact", "-o", f"r-{trace}", trace]),
                            *((f"export {form}", ["export", "--redact", "-f", form, "-o", f"{form}-{trace}", trace])
                              for form in formats)]:
            done = run(*words)
            check(done.returncode == 0, f"{name} of {trace}", done.returncode, done.stderr)
        shown = {f"r-{trace}": dumped(f"r-{trace}").encode()}
        shown |= {f"{form}-{trace}": pathlib.Path(f"{form}-{trace}").read_bytes() for form in formats}
        for name, data in shown.items():
            left = [secret for secret in secrets if secret.encode() in data]
            check(not left, f"{name} has", left)
        run("compact", "-o", f"p-{trace}", trace)
        plain, redacted = (run("report", f"{sort}-{trace}").stdout.decode() for sort in "pr")
        check(without_names(plain) == without_names(redacted) and len(plain) > 300, f"report of {trace}", plain, redacted)
    check(found > 5, "folders and hosts in the traces", found)

    # Files of one folder stay together, and equal names of two apart.
    names = re.findall(r"^string \d+ /([0-9a-f]{4})/(\S+)", dumped("r-training.mtap"), re.MULTILINE)
    check(len({folder for folder, name in names if name == "train.py"}) == 1, "one folder", names)
finish()
