# SPDX-License-Identifier: Apache-2.0
"""Code that torch.compile has made has the line of the user's function: memory of the network and of a function stands at them,
not in torch's files or in generated ones; the step's line of the training loop stands for backward's begin only. Backends
eager and aot_eager run Dynamo and AOTAutograd. Inductor makes Triton's kernels, which takes triton and a compiler:
without them the program ends as it does without memtap."""
import json
import re
from pathlib import Path

import harness
from harness import MEMTAP, PYTHON, check, equal, must_run, run

PROGRAM = Path(__file__).with_name("compiled.py")
TEXT = PROGRAM.read_text().splitlines()
FORWARD = range(TEXT.index("    def forward(self, x):") + 1, TEXT.index("        return x + self.narrow(y)") + 2)
PENALTY = range(TEXT.index("@torch.compile(backend=sys.argv[1])") + 1, TEXT.index("    return z.square().mean()") + 2)


def has_inductor():
    return not run([PYTHON, "-c", "import triton"]).returncode


def lines(trace):
    """(category, line) -> bytes at the peak; the line is "compiled.py:16 Net.forward". And the operators."""
    device = json.loads(must_run([MEMTAP, "report", "-f", "json", trace]).stdout)["devices"][0]
    equal("iterations", device["iterations"], 3)
    found = {}
    for site in device["call_sites"]:
        at = site["line"]
        found[site["category"], at["file"], at["line"], at["function"]] = site["bytes"]
    return found, {site["operator"] for site in device["call_sites"]}


def is_at(at, function, place):
    return at[3] == function and at[2] in place


def look_at(backend, trace):
    must_run([*harness.recorded(trace), PYTHON, PROGRAM, backend])
    found, operators = lines(trace)
    if backend != "eager":
        check("CompiledFunction.backward" in operators, f"{backend}: the operators are {operators}")
    for (category, file, line, function), _ in found.items():
        check(file.endswith("/compiled.py"), f"{backend}: {category} is of {file}:{line} {function}")
        check("dynamo" not in function, f"{backend}: the function of {file}:{line} is {function}")
    activations = {at: size for at, size in found.items() if at[0] == "activations"}
    large = {at: size for at, size in activations.items() if size >= 1 << 20}
    check(large and all(is_at(at, "Net.forward", FORWARD) or is_at(at, "penalty", PENALTY) for at in large),
          f"{backend}: activations are of {large}")
    check(any(is_at(at, "Net.forward", FORWARD) for at in large), f"{backend}: the network has no activations: {large}")
    modules = must_run([MEMTAP, "report", "--by", "module", trace]).stdout
    check(re.search(r" Net$", modules, re.M), f"{backend}: the network is not among the modules:\n{modules}")


def main():
    harness.need_torch()
    with harness.folder() as work:
        for backend in ["eager", "aot_eager"] + ["inductor"] * has_inductor():
            look_at(backend, Path(work) / f"{backend}.mtap")
        if not has_inductor():
            print("no triton: inductor is not tried")
            trace = Path(work) / "inductor.mtap"
            done = run([*harness.recorded(trace), PYTHON, PROGRAM, "inductor"])
            check(done.returncode == 1 and "TritonMissing" in done.stderr, f"{done.returncode}: {done.stderr[-600:]}")
    harness.finish()


main()
