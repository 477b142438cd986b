# SPDX-License-Identifier: Apache-2.0
"""Computing small values changes no request of PyTorch's allocator: each block is as large, and is
allocated and freed in the same order, as with --values 0."""
from pathlib import Path

import harness
from harness import PYTHON, ZOO, check, equal

PROGRAMS = {
    "linear_loop.py": [],
    "qwen_adamw.py": ["--layers", "2", "--batch", "1"],
    "diffusion_unet.py": ["--batch", "2"],
    "amp.py": [],
    "checkpointing.py": [],
    "graph_capture.py": [],
}


def requests(path, values, program, arguments):
    harness.must_run([*harness.recorded(path, "--values", values), PYTHON, ZOO / program, *arguments])
    return [(event["record"], event["size"]) for event in harness.Trace(path).of("alloc", "free")]


def main():
    harness.need_torch()
    with harness.folder() as work:
        for program, arguments in PROGRAMS.items():
            found = requests(Path(work) / "values.mtap", "64K", program, arguments)
            wanted = requests(Path(work) / "none.mtap", "0", program, arguments)
            check(len(found) > 10, f"{program}: only {len(found)} requests")
            different = [pair for pair in zip(found, wanted) if pair[0] != pair[1]]
            equal(f"{program}: requests", len(found), len(wanted))
            check(not different, f"{program}: {different[:3]} differ")
    harness.finish()


main()
