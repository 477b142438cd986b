# SPDX-License-Identifier: Apache-2.0
"""test_totals.py SCRIPT [ARGUMENT...]: at every phase of a reference script, the trace says to the
byte what PyTorch says: by the totals that events carry, and by adding their sizes up. Processes of
the script that do not use the device leave no trace."""
import os
import sys

import harness
import totals


def main():
    imports = (harness.ZOO / sys.argv[1]).read_text()
    harness.need_torch(*(["transformers"] if "transformers" in imports else []))
    with harness.folder() as work:
        path, phases = harness.record(work, sys.argv[1], *sys.argv[2:])
        trace = harness.Trace(path)
        harness.equal("files", sorted(os.listdir(work)), ["counters.json", path.name])
    totals.compare(trace, phases)
    harness.finish()


main()
