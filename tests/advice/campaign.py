# SPDX-License-Identifier: Apache-2.0
"""Does what `memtap oom` advises help? campaign.py [-k PART] [-o FILE.md]: runs program.py out of memory in each of
cases.py's ways, on the simulated device, asks memtap, then runs it again with each piece of advice, and compares how far
it gets. Takes some minutes, on any machine with PyTorch; MEMTAP and MEMTAP_TEST_PYTHON as in tests/torch."""
import argparse
import json
import shlex
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "torch"))
import harness  # noqa: E402
from cases import CASES  # noqa: E402

MIB = 1 << 20
# What a user does about a piece of advice: options of program.py. Settings of the allocator are in the advice.
OPTIONS = {
    "batch:1/2": ["--batch-scale", "0.5"],
    "checkpoint": ["--checkpoint"],
    "optimizer:adam8bit": ["--optimizer", "adam8"],
    "zero-grad": ["--set-to-none", "1"],
    "keep-nothing": ["--forget"],
}


class Case:
    def __init__(self, name, options, part, folder):
        self.name, self.options, self.part = name, shlex.split(options), part
        self.trace = Path(folder) / f"{abs(hash(name))}.mtap"
        self.rows = []

    def run(self, forks, memory, options=(), env=None):
        """What program.py says of itself."""
        env = {"CUDASIM_MEMORY": str(memory), **(env or {})}
        _, output = forks.run(self.trace, HERE / "program.py", *self.options, *options, env=env)
        try:
            return json.loads(output.strip().splitlines()[-1])
        except (IndexError, ValueError):
            return {"ended": f"failed: {output.strip().splitlines()[-1:]}", "at": [-1, 0, 0], "allocations": 0}

    def advice(self):
        done = harness.run([harness.MEMTAP, "oom", "--format", "json", self.trace])
        return json.loads(done.stdout) if done.returncode == 0 else {"suggestions": [], "failed": done.stderr}

    def compare(self, recorded, plain):
        large = self.run(plain, 80 << 30)
        context = 520 * MIB
        memory = context + int(large["reserved"] * self.part) // (2 * MIB) * 2 * MIB
        first = self.run(recorded, memory)
        if first["ended"] != "oom":
            self.rows.append((self.name, "-", "did not run out: " + first["ended"], "", "", True, ""))
            return self
        for advice in self.advice()["suggestions"]:
            change = advice.get("change", "?")
            env = {"PYTORCH_ALLOC_CONF": advice["set"]} if advice.get("set") else {}
            if not env and change not in OPTIONS:
                self.rows.append((self.name, change, advice["what"], "", "not tried", True, ""))
                continue
            again = self.run(plain, memory, OPTIONS.get(change, []), env=env)
            helps = further(again, first, bool(env) or change == "batch:1/2")
            said = {True: "fits", False: "does not fit", None: "not known"}[advice.get("fits")]
            right = said == "not known" or (said == "fits") == helps
            got = "whole" if again["ended"] == "whole" else "further" if helps else again["ended"]
            self.rows.append((self.name, advice.get("set") or change, said, advice.get("how", "?"), got, right, advice.get("spare", "")))
        self.trace.unlink(missing_ok=True)
        return self


def further(again, first, same_calls):
    """Whether it got past the request that failed first. With the same calls, their number tells; else the place."""
    if again["ended"] == "whole":
        return True
    if same_calls:
        return again["allocations"] > first["allocations"]
    return again["at"] > first["at"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-k", default="", help="only cases whose names have this")
    parser.add_argument("-o", help="write a table in Markdown")
    args = parser.parse_args()
    rows, lines = [], ["| case | advice | memtap says | how | what happens | agree |", "|---|---|---|---|---|---|"]
    program = HERE / "program.py"
    simulate = [harness.MEMTAP, "simulate", "--gpu", harness.GPU, "--"]
    with tempfile.TemporaryDirectory() as folder, harness.Forks(program) as recorded, \
            harness.Forks(program, before=simulate) as plain:
        for case in [Case(*case, folder) for case in CASES if args.k in case[0]]:
            for row in case.compare(recorded, plain).rows:
                rows.append(row)
                lines.append("| " + " | ".join([*map(str, row[:5]), "yes" if row[5] else "**no**"]) + " |")
                print(lines[-1], flush=True)
    for how in ("replayed", "modelled"):
        mine = [row for row in rows if row[3] == how]
        claims = [row for row in mine if row[2] != "not known"]
        lines.append(f"\n{how}: {sum(row[5] for row in claims)} of {len(claims)} claims agree; "
                     f"{len(mine) - len(claims)} times memtap says that it does not know.")
        print(lines[-1])
    if args.o:
        Path(args.o).write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
