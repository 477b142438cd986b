# SPDX-License-Identifier: Apache-2.0
"""The headline and JSON name what the program may not need, with its line; and not where the program does without it."""
import json
import sys
from pathlib import Path

import harness
from harness import MEMTAP, check, equal, must_run

PROGRAM = Path(__file__).resolve().with_name("remarked.py")
# By function: the kind, its bytes, and words of the sentence.
REMARKS = {
    "autocast": ("weight_copies", 4 * 2 << 20, "weight copies (16-bit copy of a parameter, cached by autocast), from "),
    "loaded": ("weight_copies", 8 << 20, "weight copies (a guess: loaded from a checkpoint, as large as a parameter), from "),
    "previous": ("previous_turn", 32 << 20, "from the previous iteration, still live while the next is allocated by "),
    "recomputed": ("recomputed", 0, "that backward recomputes at once for the checkpoint at "),
    "reentrant": ("recomputed", 0, "that backward recomputes at once for the checkpoint at "),
    "untrained": ("untrained_gradients", 16 << 20, "of gradients for parameters that no PyTorch optimizer updates in this run, mostly from "),
    "validated": ("evaluation_graph", 7 * 8 << 20, "of activations saved for a backward that never comes, mostly from "),
    "inferred": ("evaluation_graph", 7 * 8 << 20, "of activations saved for a backward that never comes, mostly from "),
    "accumulated": ("several_forwards", 4 * 7 * 8 << 20, "of activations that 4 forward calls save for one backward, at "),
    "doubles": ("float64", 0, "of tensors in float64, mostly from "),
    "context": ("context", 0, "the first tensor there was allocated by "),
}


def line_of(way):
    """The line of its function that is marked."""
    lines = PROGRAM.read_text().splitlines()
    begin = next(i for i, line in enumerate(lines) if line.startswith(f"def {way}("))
    return next(i + 1 for i in range(begin, len(lines)) if "# remarked" in lines[i])


def remarked(forks, folder, way, without):
    """What JSON says of it, and the headline."""
    trace = Path(folder) / f"{way}-{without}.mtap"
    code, output = forks.run(trace, PROGRAM, way, *["without"] * without, env={"CUDASIM_GPUS": "2"} if way == "context" else {})
    if not equal(f"{way}: exit code", code, 0):
        print(output)
    remark = json.loads(must_run([MEMTAP, "report", "--format", "json", trace]).stdout)["remark"]
    return remark, " ".join(must_run([MEMTAP, "report", trace]).stdout.split("\n\n")[0].split())


def compare(forks, folder, way):
    kind, size, words = REMARKS[way]
    remark, first = remarked(forks, folder, way, without=True)
    equal(f"{way}, without: remark", remark, None)
    check(words not in first, f"{way}, without: {first}")
    remark, first = remarked(forks, folder, way, without=False)
    if check(remark, f"{way}: no remark: {first}"):
        equal(f"{way}: remark", (remark["kind"], remark["line"]["line"]), (kind, line_of(way)))
        equal(f"{way}: its bytes", remark["bytes"], size or remark["bytes"])
        check(f"{words}{PROGRAM.name}:{line_of(way)}" in first, f"{way}: {first}")


def out_of_memory(forks, folder, way, mib):
    """Where memory runs out for the lack of it, memtap oom names it, too."""
    kind, size, words = REMARKS[way]
    trace = Path(folder) / f"{way}-out.mtap"
    code, output = forks.run(trace, PROGRAM, way, env={"CUDASIM_MEMORY": str(mib << 20)})
    check(code and "OutOfMemoryError" in output, f"{way} on {mib} MiB: {code}: {output}")
    remark = json.loads(must_run([MEMTAP, "oom", "--format", "json", trace]).stdout)["remark"]
    equal(f"{way} on {mib} MiB: remark", remark and (remark["kind"], remark["bytes"], remark["line"]["line"]), (kind, size, line_of(way)))
    first = " ".join(must_run([MEMTAP, "oom", trace]).stdout.split("\n\n")[0].split())
    check(f" Kept: {size >> 20}.00 MiB " in first and f"{words}{PROGRAM.name}:{line_of(way)}" in first, f"{way} on {mib} MiB: {first}")


def main():
    harness.need_torch()
    with harness.folder() as folder, harness.Forks() as forks:
        for way in REMARKS:
            if way != "context" or not harness.ON_GPU:  # which has one
                compare(forks, folder, way)
        if not harness.ON_GPU:  # whose size is simulated
            out_of_memory(forks, folder, "previous", 688)
            out_of_memory(forks, folder, "loaded", 576)
    harness.finish()


main()
