# SPDX-License-Identifier: Apache-2.0
"""test_progress.py MAKE-TRACES MEMTAP CLOCK: who waits for a second at a terminal sees how far it
is; the line is gone in the end, and never there else. How long it takes, a clock of ours says."""
import os
import pty
import re
import subprocess
import sys
import tempfile

make_traces, memtap, clock = map(os.path.abspath, sys.argv[1:])
LINE = rb"\rmemtap: +(\d+) % of the trace read\x1b\[K"


def read_all(terminal):
    data = b""
    while True:
        try:
            piece = os.read(terminal, 65536)
        except OSError:  # the other end is closed
            return data
        if not piece:
            return data
        data += piece


def report(step, stderr):
    env = dict(os.environ, LD_PRELOAD=clock, CLOCK_STEP=str(step))
    env["ASAN_OPTIONS"] = env.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"
    return subprocess.Popen([memtap, "report", "training.mtap"], stdout=subprocess.PIPE,
                            stderr=stderr, env=env)


def at_terminal(step):
    """What the report says, and what the terminal got meanwhile."""
    try:
        ours, theirs = pty.openpty()
    except OSError as error:
        print(f"skipped: there are no terminals here: {error}")
        sys.exit(77)
    process = report(step, theirs)
    os.close(theirs)
    shown = read_all(ours)
    os.close(ours)
    said = process.communicate()[0]
    assert process.returncode == 0, process.returncode
    return said, shown


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    subprocess.run([make_traces], check=True)
    plain, errors = report(10**9, subprocess.PIPE).communicate()
    assert plain and not errors, errors

    said, shown = at_terminal(10**9)
    assert said == plain
    parts = [int(part) for part in re.findall(LINE, shown)]
    assert parts and parts == sorted(parts) and 0 <= parts[0] and parts[-1] <= 100, shown
    assert re.fullmatch(rb"(?:" + LINE + rb")+\r\x1b\[K", shown), shown

    said, shown = at_terminal(0)
    assert said == plain and not shown, shown
