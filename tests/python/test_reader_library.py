# SPDX-License-Identifier: Apache-2.0
"""test_reader_library.py READ-TABLES MAKE-TRACES MAKE-BOMBS: a C program reads every table of every made trace, and of damaged copies;
then those of small traces that stand for much, within limits."""
import os
import pathlib
import subprocess
import sys
import tempfile

BOMBS, EVERY = ["chain", "keys", "names"], 6
if "ASAN_OPTIONS" not in os.environ:  # which takes half a minute for those with the most rows, and two seconds a trace
    BOMBS, EVERY = [*BOMBS, "live", "pairs"], 1
read_tables, make_traces, make_bombs = map(os.path.abspath, sys.argv[1:])
with tempfile.TemporaryDirectory() as folder:
    subprocess.run([make_traces, "."], cwd=folder, check=True)
    traces = sorted(str(path) for path in pathlib.Path(folder).glob("*.mtap"))[::EVERY]
    code = subprocess.run([read_tables, *traces], check=False, stdin=subprocess.DEVNULL).returncode
    os.mkdir(f"{folder}/bombs")
    subprocess.run([make_bombs, *BOMBS], cwd=f"{folder}/bombs", check=True)
    bombs = sorted(str(path) for path in pathlib.Path(folder, "bombs").glob("*.mtap"))
    assert len(bombs) == len(BOMBS), bombs
    sys.exit(code or subprocess.run([read_tables, "--small", *bombs], check=False, stdin=subprocess.DEVNULL).returncode)
