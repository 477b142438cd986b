# SPDX-License-Identifier: Apache-2.0
"""test_reader_library.py READ-TABLES MAKE-TRACES: a C program reads every table of every made trace, and of damaged copies."""
import os
import pathlib
import subprocess
import sys
import tempfile

read_tables, make_traces = map(os.path.abspath, sys.argv[1:])
with tempfile.TemporaryDirectory() as folder:
    subprocess.run([make_traces, "."], cwd=folder, check=True)
    traces = sorted(str(path) for path in pathlib.Path(folder).glob("*.mtap"))
    sys.exit(subprocess.run([read_tables, *traces], check=False, stdin=subprocess.DEVNULL).returncode)
