# SPDX-License-Identifier: Apache-2.0
"""What PyTorch requested of its page-locked memory is known to the byte, also of a compact copy."""
import json
from pathlib import Path

import harness
from harness import MEMTAP, check, equal

PROGRAM = Path(__file__).resolve().parent / "pinned.py"
MIB = 1 << 20


def rounded(trace):
    host = json.loads(harness.must_run([MEMTAP, "report", "--format", "json", trace]).stdout)["host"]
    of = host["rounded"]
    equal("what is rounded at most", host["rounded_at_most"], of["allocated"] - of["requested"])
    return host["bytes"], of["allocated"], of["requested"]


def main():
    harness.need_torch()
    with harness.folder() as folder:
        trace, compact = Path(folder) / "pinned.mtap", Path(folder) / "compact.mtap"
        output = harness.fork(trace, PROGRAM)
        allocated, known, requested = rounded(trace)
        equal("requested", requested, int(output.split()[0]))
        equal("known", known, allocated)
        check("more is allocated", allocated > requested + 100 * MIB)
        text = harness.must_run([MEMTAP, "report", trace]).stdout
        check("the report says so", "It rounds page-locked\nmemory up to powers of two, here by" in text)
        harness.must_run([MEMTAP, "compact", trace, "-o", compact])
        equal("of a compact copy", rounded(compact), (allocated, known, requested))
    harness.finish()


main()
