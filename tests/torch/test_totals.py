# SPDX-License-Identifier: Apache-2.0
"""test_totals.py SCRIPT [ARGUMENT...]: at every phase of a reference script, the trace says to the
byte what PyTorch says: by the totals that events carry, and by adding their sizes up. Processes of
the script that do not use the device leave no trace."""
import os
import sys
import tempfile

import harness
import totals


NEEDS = {"from transformers": "transformers", "torch.compile": "triton"}


def main():
    text = (harness.ZOO / sys.argv[1]).read_text()
    harness.need_torch(*[module for words, module in NEEDS.items() if words in text])
    with harness.folder() as work, tempfile.TemporaryDirectory() as compiled:
        os.environ.update(TRITON_CACHE_DIR=compiled, TORCHINDUCTOR_CACHE_DIR=compiled)
        path, phases = harness.record(work, sys.argv[1], *sys.argv[2:])
        trace = harness.Trace(path)
        harness.equal("files", sorted(os.listdir(work)), ["counters.json", path.name])
    totals.compare(trace, phases)
    harness.finish()


main()
