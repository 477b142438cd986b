# SPDX-License-Identifier: Apache-2.0
"""Computing small values changes no request of PyTorch's allocator: the same blocks are allocated in the same order, and
freed, as with --values 0. Where a size or a condition hangs on a value, only a run that computes it is right."""
from pathlib import Path

import harness
from harness import ZOO, check, equal

PROGRAMS = {
    "linear_loop.py": [],
    "qwen_adamw.py": ["--layers", "2", "--batch", "1"],
    "diffusion_unet.py": ["--batch", "2"],
    "amp.py": [],
    "checkpointing.py": [],
    "graph_capture.py": [],
}
STEERED = {"qwen_adamw.py"}  # transformers asks whether its masks are all true
A_REAL = 4  # what an event of an unknown value is about: most programs print their loss; above: workspaces


def forks(*values):
    programs = [ZOO / program for program in PROGRAMS]
    return harness.Forks(*programs, before=harness.recorded("%p.mtap", *values))


def requests(of, path, program, arguments):
    """The sizes that are allocated, in order, those that are freed, and how many sizes and conditions are not known."""
    code, output = of.run(path, ZOO / program, *arguments)
    equal(f"{program}: exit code of\n{output}", code, 0)
    trace = harness.Trace(path)
    # In which order amp.py frees a step's gradients differs by the process.
    allocated, freed = ([event["size"] for event in trace.of(kind)] for kind in ("alloc", "free"))
    return allocated, sorted(freed), sum(event["what"] < A_REAL for event in trace.of("unknown_value"))


def main():
    harness.need_torch()
    with harness.folder() as work, forks() as computing, forks("--values", "0") as other:
        for program, arguments in PROGRAMS.items():
            found = requests(computing, Path(work) / f"{program}-values.mtap", program, arguments)
            wanted = requests(other, Path(work) / f"{program}-none.mtap", program, arguments)
            check(len(found[0]) > 10, f"{program}: only {len(found[0])} allocations")
            equal(f"{program}: sizes and conditions that are not known", found[2], 0)
            equal(f"{program} hangs on values", wanted[2] > 0, program in STEERED)
            for what, mine, theirs in zip(("allocated", "freed"), found, wanted) if program not in STEERED else ():
                different = [pair for pair in zip(mine, theirs) if pair[0] != pair[1]]
                check(len(mine) == len(theirs) and not different, f"{program}: {what}: {len(mine)}, {len(theirs)}: {different[:3]}")
    harness.finish()


main()
