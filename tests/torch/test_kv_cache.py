# SPDX-License-Identifier: Apache-2.0
"""Caches of keys and values are a category of their own, whatever the file that made them: transformers' by their class, those of
modules by their attributes; to the byte."""
import json
import re
from pathlib import Path

import harness
from harness import MEMTAP, check, equal

PROGRAM = Path(__file__).resolve().parent / "kv_caches.py"


def main():
    harness.need_torch()
    kinds = ["buffers", "pool"]
    if harness.has("transformers"):
        kinds += ["dynamic", "mine", "static"]
    with harness.folder() as work, harness.Forks() as forks:
        for kind in kinds:
            trace = Path(work) / f"{kind}.mtap"
            code, output = forks.run(trace, PROGRAM, kind)
            found = re.search(r"kept (\d+)", output)
            if not check(code == 0 and found, f"{kind}: ended with {code}: {output}"):
                continue
            told = json.loads(harness.must_run([MEMTAP, "report", "--format", "json", trace]).stdout)
            categories = told["devices"][0]["peak"]["categories"]
            equal(kind, categories["kv_cache"], int(found[1]))
    harness.finish()


main()
