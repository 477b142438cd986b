# SPDX-License-Identifier: Apache-2.0
"""Labels have the types of the tensors' elements; where PyTorch does not tell, none has."""
import json
from pathlib import Path

import harness
from harness import PYTHON, check, equal

PROGRAM = Path(__file__).resolve().parent / "dtypes.py"


def main():
    harness.need_torch()
    with harness.folder() as work:
        path, log = Path(work) / "trace.mtap", Path(work) / "log.json"
        harness.must_run([*harness.recorded(path), PYTHON, PROGRAM, log])
        trace, noted = harness.Trace(path), json.loads(log.read_text())
    known = trace.info["dtypes"] == "yes"
    print("dtypes:", trace.info["dtypes"])
    compared = 0
    for kind, tensors in noted["tensors"].items():
        found = {event["address"]: event["dtype"] for event in trace.of(kind)}
        for address, dtype in tensors:
            if address in found:
                compared += 1
                equal(f"{kind} at {address:#x}", found[address],
                      dtype.removeprefix("torch.") if known else "?")
    said = {str(event["address"]): event["elements"] for event in trace.of("requires_grad")}
    for address, wanted in noted["elements"].items():
        equal(f"elements at {address}", said.get(address), wanted if known else 0)
    check(compared >= 15, f"only {compared} of {sum(map(len, noted['tensors'].values()))} labels were there")
    harness.finish()


main()
