# SPDX-License-Identifier: Apache-2.0
"""test_golden.py MEMTAP DUMP TRACE...: memtap dump of every trace is what the file DUMP says."""
import subprocess
import sys
from pathlib import Path

memtap, expected, *traces = sys.argv[1:]
wanted = Path(expected).read_text()
wrong = [trace for trace in traces
         if subprocess.run([memtap, "dump", trace], capture_output=True, text=True,
                           check=False).stdout != wanted]
print(len(traces), "traces; wrong:", *wrong)
sys.exit(bool(wrong) or not traces)
