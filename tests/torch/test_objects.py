# SPDX-License-Identifier: Apache-2.0
"""Objects of any size reach the other rank, and none of their values is one that was not computed."""
import json

import harness
from harness import MEMTAP, PYTHON, ROOT

PARTS = ("exchange_objects", "keep_and_load", "check_parameters")


def main():
    if harness.ON_GPU:
        harness.skip("a machine of the suite gpu has one GPU")
    harness.need_torch()
    with harness.folder() as work:
        done = harness.must_run([*harness.recorded("%r.mtap", gpus=2), PYTHON, "-W", "ignore",
                                 ROOT / "tests/torch/objects.py"], cwd=work)
        harness.equal("what each rank did", sorted(done.stdout.splitlines()),
                      sorted(f"rank {rank}: {part}" for rank in range(2) for part in PARTS))
        for rank in range(2):
            report = harness.must_run([MEMTAP, "report", "-f", "json", f"{rank}.mtap"], cwd=work)
            found = json.loads(report.stdout)["not_computed"]
            harness.equal("sizes and integers that were not computed", (found["sizes"], found["integers"]), (0, 0))
    harness.finish()


main()
