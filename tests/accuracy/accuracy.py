# SPDX-License-Identifier: Apache-2.0
"""How much of what programs' tensors are memtap finds out. Runs each
program with observe.py, which writes down what its tensors are at some moments; asks memtap blocks
for the same moments, with labels and without; and prints, for both, a table of the bytes of each
true category by the category that memtap gave them."""
import argparse
import fnmatch
import json
import sys
from bisect import bisect_right
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "torch"))
import harness  # noqa: E402
from harness import MEMTAP, PYTHON, ZOO, check  # noqa: E402
from program_list import MORE, NEED_LABELS, OWN, PROGRAMS, VARIANTS  # noqa: E402

OBSERVE = HERE / "observe.py"
# What no object of the program's need have.
UNSEEN = {"workspace", "other", "temporaries", "communication"}
# With labels and without: the least part that has to be right over all programs, and of each.
LEAST = {"labels": (0.9995, 0.995), "no labels": (0.95, 0.95)}


class Table:
    """Bytes by (what they are, what memtap says)."""

    def __init__(self):
        self.bytes = {}
        self.rest = {}  # live bytes that the observer cannot name, by what memtap says

    def known(self):
        """The part of the live bytes that the observer can name."""
        whole = sum(self.bytes.values())
        return whole / (whole + sum(self.rest.values())) if whole else 0

    def add(self, truth, verdict, size):
        self.bytes[truth, verdict] = self.bytes.get((truth, verdict), 0) + size

    def merge(self, other):
        for (truth, verdict), size in other.bytes.items():
            self.add(truth, verdict, size)
        for verdict, size in other.rest.items():
            self.rest[verdict] = self.rest.get(verdict, 0) + size

    def right(self):
        """The part of the bytes that is right."""
        whole = sum(self.bytes.values())
        return sum(size for (a, b), size in self.bytes.items() if a == b) / whole if whole else 0

    def show(self, title):
        truths = sorted({truth for truth, _ in self.bytes})
        verdicts = sorted({verdict for _, verdict in self.bytes})
        print(f"\n{title}: {self.right():.4%} right; MiB")
        print(f"{'':17}" + "".join(f"{verdict[:12]:>13}" for verdict in verdicts))
        for truth in truths:
            row = [self.bytes.get((truth, verdict), 0) / 2**20 for verdict in verdicts]
            print(f"{truth:17}" + "".join(f"{size:13.2f}" if size else f"{'.':>13}" for size in row))


def live_blocks(trace, time_ns, *options):
    """The blocks at a time, by address."""
    done = harness.must_run([MEMTAP, "blocks", "--format", "json", "--at", f"{time_ns}ns", *options,
                             trace])
    return sorted((block for device in json.loads(done.stdout)["devices"]
                   for block in device["blocks"]), key=lambda block: block["address"])


def block_at(blocks, address):
    at = bisect_right(blocks, address, key=lambda block: block["address"]) - 1
    return blocks[at] if at >= 0 and address < blocks[at]["address"] + blocks[at]["size"] else None


def compare(table, truth, blocks, tell):
    for category, storages in truth.items():
        for address, size in storages:
            block = block_at(blocks, address)
            table.add(category, block["category"] if block else "no block", size)
            tell(category, size, block)


class Runs:
    """Runs programs in children of a process that has imported PyTorch; where they choose PyTorch's backend, which is
    chosen by the import, in children of another one."""

    def __init__(self):
        self.forks = {}

    def of(self, environment):
        """Return the forks for these settings."""
        setting = environment.get("PYTORCH_CUDA_ALLOC_CONF", "")
        backend = setting if setting.startswith("backend:") else ""
        if backend not in self.forks:
            self.forks[backend] = harness.Forks(OWN / "tied.py", ZOO / "qwen_adamw.py",
                                                env={"PYTORCH_CUDA_ALLOC_CONF": backend} if backend else None)
        return self.forks[backend]

    def run(self, trace, log, command, environment):
        """The exit code, and all that it printed. Some libraries start CUDA when they are imported."""
        if command[0].name != "more_trainers.py":
            return self.of(environment).run(trace, OBSERVE, log, *command, env=environment)
        done = harness.run([*harness.recorded(trace), PYTHON, OBSERVE, log, *command], env=environment)
        return done.returncode, done.stdout + done.stderr

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for forks in self.forks.values():
            forks.__exit__()


def what_runs(name):
    """The program, its arguments and the modules that it needs."""
    return {**PROGRAMS, **MORE}.get(VARIANTS.get(name, (name,))[0], (None, [], []))


def record(runs, name, folder):
    """The program's trace and what its tensors are, made unless they are in the folder."""
    environment = VARIANTS.get(name, (name, {}))[1]
    program, arguments, modules = what_runs(name)
    trace, log = folder / f"{name}.mtap", folder / f"{name}.json"
    if not log.exists():
        if not all(map(harness.has, modules)):
            print(f"{name}: left out, {PYTHON} lacks one of {modules}")
            return None
        code, output = runs.run(trace, log, [program, *arguments], environment)
        if not check(code == 0, f"{name} runs"):
            print(output[-3000:])
            log.unlink(missing_ok=True)
            return None
    return trace, [json.loads(line) for line in log.read_text().splitlines()]


def first_and_last(moments):
    """Of each kind: the suite asks for no more."""
    kinds = {}
    for line in moments:
        kinds.setdefault(line["moment"], []).append(line)
    return [line for lines in kinds.values() for line in (lines[:1] + lines[1:][-1:])]


def measure(runs, name, folder, show, rules, everything):
    """The tables of a program, with labels and without; rules gets what each decides."""
    recorded = record(runs, name, folder)
    if not recorded:
        return {}
    trace, moments = recorded
    info = json.loads(harness.must_run([MEMTAP, "info", "--format", "json", trace]).stdout)
    start, length = int(info["process"]["start_monotonic_ns"]), int(info["length_ns"])
    tables = {kind: Table() for kind in LEAST}
    misses = {}
    moments = [line for line in moments if line["time_ns"] >= start]  # before, nothing is on the device
    for line in moments if everything else first_and_last(moments):
        for kind, table in tables.items():
            def tell(category, size, block, moment=line["moment"], kind=kind):
                rule = block["rule"] if block else ""
                if block:
                    rules[kind].add((rule, block["certainty"]), block["category"] == category, size)
                if kind == show and (not block or block["category"] != category):
                    key = moment, category, block["category"] if block else "no block", rule
                    misses.setdefault(key, []).append((size, hex(block["address"]) if block else ""))
            # The program's last look may come after its last event, where the trace ends.
            blocks = live_blocks(trace, min(line["time_ns"] - start, length),
                                 *(["--no-labels"] if kind == "no labels" else []))
            compare(table, line["truth"], blocks, tell)
            for address, size, is_tensor in line.get("rest", ()):
                block = block_at(blocks, address)
                verdict = block["category"] if block else "no block"
                table.rest[verdict] = table.rest.get(verdict, 0) + size
                if kind == show and verdict not in UNSEEN:
                    key = line["moment"], "tensors unknown" if is_tensor else "unknown", verdict, block["rule"] if block else ""
                    misses.setdefault(key, []).append((size, hex(address)))
    for (moment, truth, verdict, rule), sizes in misses.items():
        print(f"  {name} after {moment}: {sum(size for size, _ in sizes)} bytes in {len(sizes)} tensors of {truth} "
              f"are called {verdict}: {rule} ({sizes[0][1]})")
    check(tables["labels"].bytes, f"{name} has tensors to look at")
    return tables


def find_programs(asked, everything):
    suite = [*PROGRAMS, *VARIANTS]
    known = [*suite, *MORE]
    chosen = [name for pattern in asked for name in fnmatch.filter(known, pattern)]
    if asked and not chosen:
        sys.exit(f"accuracy.py: no program is called {' or '.join(asked)}; there are {', '.join(known)}")
    return chosen or (known if everything else suite)


def rows_of(rules):
    """How often each rule is right, by bytes: (rule, certainty), bytes that it decides, part that is right."""
    for rule in sorted({rule for rule, _ in rules.bytes}):
        right, wrong = (rules.bytes.get((rule, good), 0) for good in (True, False))
        yield rule, right + wrong, right / (right + wrong)


def show_rules(title, rules):
    print(f"\n{title + ', by rule':66}{'certainty':>10}{'MiB':>12}{'right':>10}")
    for (rule, certainty), size, right in rows_of(rules):
        print(f"{rule:66}{certainty:>10}{size / 2**20:12.2f}{right:10.2%}")


def percent(part):
    """Rounded down: 100 % is all of it."""
    return f"{int(part * 10000) / 100:.2f}"


def save(parts, sums, rules, is_whole):
    """Write the programs into evaluation/results/accuracy.csv; of the whole list also their sum, and evaluation/results/accuracy-rules.csv."""
    sys.path.insert(0, str(harness.ROOT / "evaluation"))
    import results

    if is_whole:
        parts = {**parts, "all together": sums}
    results.save("accuracy", ["program", "needs", "labels", "no_labels", "named"],
                 [[name, " ".join(what_runs(name)[2]), *(percent(of[kind].right()) for kind in LEAST), percent(of["labels"].known())]
                  for name, of in parts.items()], MEMTAP, PYTHON)
    if not is_whole:
        return
    results.save("accuracy-rules", ["rule", "told_by", "certainty", "mib", "right"],
                 [[rule, kind, certainty, f"{size / 2**20:.1f}", percent(right)] for kind, of_kind in rules.items()
                  for (rule, certainty), size, right in rows_of(of_kind) if certainty != "certain"], MEMTAP, PYTHON)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", help="keep what is recorded there, and use what is there")
    parser.add_argument("--misses", choices=LEAST, help="print what is not found out")
    parser.add_argument("--all", action="store_true", help="the programs that the suite leaves out, too")
    parser.add_argument("--save", action="store_true", help="write the rows into evaluation/results/accuracy*.csv")
    parser.add_argument("program", nargs="*", help="names of program_list.py, or patterns as 'ddp-*'")
    arguments = parser.parse_args()
    harness.need_torch()
    if arguments.folder:
        Path(arguments.folder).mkdir(parents=True, exist_ok=True)
    sums, rules = ({kind: Table() for kind in LEAST} for _ in range(2))
    parts = {}
    with harness.folder() as work, Runs() as runs:
        for name in find_programs(arguments.program, arguments.all):
            folder = Path(arguments.folder or work)
            for kind, table in measure(runs, name, folder, arguments.misses, rules,
                                           arguments.all).items():
                sums[kind].merge(table)
                parts.setdefault(name, {})[kind] = table
                print(f"accuracy_{name}_{kind.replace(' ', '_')} {table.right():.5f} part", flush=True)
                if arguments.misses == kind:
                    print(f"  {name}: the observer names {table.known():.3%} of the live bytes; of the rest memtap says", {
                        verdict: size for verdict, size in sorted(table.rest.items())}, flush=True)
                if kind == "labels" or name not in NEED_LABELS:
                    check(table.right() >= LEAST[kind][1], f"{name}, {kind}: {table.right():.3%} right")
    for kind, table in sums.items():
        table.show(f"all programs, {kind}")
        if not arguments.program:
            check(table.right() >= LEAST[kind][0], f"{kind}: {table.right():.3%} right over all")
    for kind, of_kind in rules.items():
        show_rules(f"all programs, {kind}", of_kind)
    if arguments.save:
        save(parts, sums, rules, arguments.all and not arguments.program)
    harness.finish()


main()
