# SPDX-License-Identifier: Apache-2.0
"""against.py [--only NAME,...] [--series N] [--save] OLD NEW: what this build costs compared with another one, as ratios. OLD and
NEW are build folders; tools/bench makes the old one. Ends with 1 where a cost rose: where the lower end of its interval is above
1.02. --save writes the rows into evaluation/results/bench.csv.

Counted is the processor's time, which other programs on the machine change less than the clock's. Each measure takes both builds in turns, in new processes, since a process keeps its luck
of where its memory lies. The interval has the median 95 times of 100 (bootstrap). Give one build twice: its ratios tell how far
two builds can be told apart here.

loop      a step of qwen_loop.py, recorded, on the simulated device
native    an event of a C program 15 frames deep, with native stacks
threads   an event of one thread, without stacks
eight     an event of eight threads together, with what the writer takes until the file is closed
driver    an event by the driver's functions, with native stacks
pair      a pair of cuMemAlloc and cuMemFree, without stacks
bytes     of the loop's trace, an event
light     the same of a light recording, for each event of the program
replay    memtap report of 10 million events
diff      memtap diff of two traces with many lines
export    memtap export -f arrow of 10 million events"""
import argparse
import json
import os
import random
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "torch"), str(ROOT / "evaluation")]
import harness  # noqa: E402
import results  # noqa: E402

LOOP = Path(__file__).resolve().parent / "qwen_loop.py"
WARM_UP, STEPS, LOOP_TURNS, RESAMPLES = 2, 5, 30, 4000
TOO_MUCH = 1.02
MANY = 10_000_000
COLUMNS = ["builds", "measure", "unit", "old", "new", "ratio", "low", "high", "series"]


class Build:
    """A build folder: its library and its command."""

    def __init__(self, folder):
        self.folder = Path(folder).resolve()
        self.library = self.folder / "preload/libmemtap.so"
        self.memtap = self.folder / "tools/memtap"
        for path in (self.library, self.memtap):
            if not path.is_file():
                sys.exit(f"against.py: {path}: there is no such file; give a build folder, such as build")

    def recording(self, trace, **settings):
        return {"LD_PRELOAD": str(self.library), "MEMTAP_OUTPUT": str(trace), "MEMTAP_QUIET": "1", **settings}


class Loop:
    """A process of the training loop, recorded by a build, that runs steps on request. simulate: the command
    that gives it its device, the same for both builds, which computes no values, as a real device takes none of the processor's time."""

    def __init__(self, build, simulate, trace, **settings):
        script = 'LD_PRELOAD="$1:$LD_PRELOAD" exec "$2" "$3" --in-turns'
        words = [*simulate, "sh", "-c", script, "sh", build.library, harness.PYTHON, LOOP]
        self.process = subprocess.Popen([str(word) for word in words], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        env={**os.environ, "MEMTAP_OUTPUT": str(trace), "MEMTAP_QUIET": "1", **settings})
        self.times = []
        self.take(WARM_UP)
        self.times.clear()

    def cpu_ns(self):
        tasks = Path(f"/proc/{self.process.pid}/task").glob("*/schedstat")
        return sum(int(task.read_text().split()[0]) for task in tasks)

    def take(self, steps):
        before = self.cpu_ns()
        print(steps, file=self.process.stdin, flush=True)
        if not self.process.stdout.readline():
            sys.exit("against.py: the loop ended early; its message stands above")
        self.times.append(self.cpu_ns() - before)

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def run_loop(builds, folder, _, programs):
    """One series: the median ratio of its turns, and bytes an event."""
    traces = [folder / f"loop-{i}.mtap" for i in range(2)]
    loops = [Loop(build, programs["simulate"], trace) for build, trace in zip(builds, traces)]
    in_turn = loops[:]
    for _ in range(LOOP_TURNS):
        for each in in_turn:
            each.take(STEPS)
        in_turn.append(in_turn.pop(0))  # what one leaves to do falls on another one each time
    for each, trace in zip(loops, traces):
        each.end()
        trace.unlink()
    medians = [statistics.median(each.times) / STEPS / 1e6 for each in loops]
    return medians, statistics.median(new / old for old, new in zip(loops[0].times, loops[1].times))


def trace_of_the_loop(build, trace, programs, steps, **settings):
    """Of a run of its own: bytes and recorded events."""
    loop = Loop(build, programs["simulate"], trace, **settings)
    loop.take(steps)
    loop.end()
    said = json.loads(harness.must_run([build.memtap, "info", "--format", "json", trace]).stdout)
    return trace.stat().st_size, said["events"]


def bytes_an_event(builds, folder, _, programs):
    """Of a few steps."""
    taken = [trace_of_the_loop(build, folder / f"bytes-{i}.mtap", programs, 20) for i, build in enumerate(builds)]
    sizes = [size / events for size, events in taken]
    return sizes, sizes[1] / sizes[0]


def light_bytes(builds, folder, _, programs):
    """Of more steps: the first iterations are recorded in full."""
    _, events = trace_of_the_loop(builds[1], folder / "full.mtap", programs, 100)
    sizes = [trace_of_the_loop(build, folder / f"light-{i}.mtap", programs, 100, MEMTAP_LIGHT="1")[0] / events
             for i, build in enumerate(builds)]
    return sizes, sizes[1] / sizes[0]


def in_turns(measure):
    """A measure of one build, for two."""

    def both(builds, folder, turn, programs):
        order = [0, 1] if turn % 2 else [1, 0]
        values = [0.0, 0.0]
        for i in order:
            values[i] = measure(builds[i], folder / "t.mtap", programs)
            for left in folder.glob("t*"):
                left.unlink()
        return values, values[1] / values[0]

    return both


def printed(program, *words, **settings):
    """What a program prints, recorded: ns an event, the program's own included, which is some ns."""

    def measure(build, trace, programs):
        environment = {**os.environ, **build.recording(trace, **settings), "LD_LIBRARY_PATH": programs["libraries"]}
        done = subprocess.run([programs[program], *words], env=environment, text=True, capture_output=True, check=True)
        return float(done.stdout)

    return in_turns(measure)


def cpu_seconds(words, **settings):
    """The processor's time of a command and all its threads."""
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, env={**os.environ, **settings})
    _, status, usage = os.wait4(process.pid, 0)
    if os.waitstatus_to_exitcode(status) not in (0, 1):
        sys.exit(f"against.py: this failed: {' '.join(map(str, words))}")
    return usage.ru_utime + usage.ru_stime


def eight(build, trace, programs):
    settings = build.recording(trace, MEMTAP_STACKS="none")
    return cpu_seconds([programs["threads"], "8", str(MANY)], LD_LIBRARY_PATH=programs["libraries"], **settings) / MANY * 1e9


def command(*words):
    """The processor's seconds of a command of memtap's on the made-up traces."""

    def measure(build, _, programs):
        return cpu_seconds([build.memtap, *({**programs, **build.traces}.get(word, word) for word in words)])

    return in_turns(measure)


MEASURES = {  # unit, how many times for each series asked for, what measures
    "loop": ("ms", 1, run_loop),
    "native": ("ns", 2, printed("native", "1000000", MEMTAP_STACKS="native")),
    "threads": ("ns", 2, printed("threads", "1", "2000000", MEMTAP_STACKS="none")),
    "eight": ("ns", 2, in_turns(eight)),
    "driver": ("ns", 2, printed("driver", "1000000", MEMTAP_STACKS="native")),
    "pair": ("ns", 2, printed("pairs", "60", MEMTAP_STACKS="none")),
    "bytes": ("bytes", 0, bytes_an_event),
    "light": ("bytes", 0, light_bytes),
    "replay": ("s", 1, command("report", "MANY")),
    "diff": ("s", 1, command("diff", "LINES", "LINES")),
    "export": ("s", 1, command("export", "-f", "arrow", "-o", "OUT", "MANY")),
}


def interval(values):
    medians = sorted(statistics.median(random.choices(values, k=len(values))) for _ in range(RESAMPLES))
    return medians[RESAMPLES // 40], medians[-RESAMPLES // 40]


def make_traces(build, folder, names):
    """The traces that commands read: the same events, in the format of the build that reads them."""
    build.traces = {"MANY": f"{folder}-many.mtap", "LINES": f"{folder}-lines.mtap"}
    for name, events in (("MANY", MANY), ("LINES", 1_000_000)):
        if {"replay", "diff", "export"} & names:
            subprocess.run([build.folder / "tests/golden/make-trace", build.traces[name], str(events)], check=True)


def programs_of(new, folder):
    """The programs that make the events and the simulated device, of the new build."""
    bench = new.folder / "tests/bench"
    found = {"native": bench / "native-loop", "threads": bench / "threads-loop", "driver": bench / "driver-loop",
             "pairs": bench / "pair-loop", "libraries": f"{new.folder / 'tests/shim'}:{bench}", "OUT": folder / "t.arrow"}
    simulate = [new.memtap, "simulate", "--values", "0", "--gpu", harness.GPU, "--"]
    return {**{name: str(path) for name, path in found.items()}, "simulate": simulate}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", metavar="NAME,...", default=",".join(MEASURES))
    parser.add_argument("--series", type=int, default=9, help="how often each is measured (9)")
    parser.add_argument("--save", action="store_true", help="write the rows into evaluation/results/bench.csv")
    parser.add_argument("--names", default="old..new", help="of both builds, for --save")
    parser.add_argument("builds", nargs=2, type=Build, metavar="BUILD")
    options = parser.parse_args()
    names = set(options.only.split(","))
    if names - set(MEASURES):
        parser.error(f"--only {options.only}: there is no {min(names - set(MEASURES))}; the measures are {', '.join(MEASURES)}")
    if names & {"loop", "bytes", "light"}:
        harness.need_torch("transformers")
    rows, rose = [], []
    print(f"{'':8} {'old':>10} {'new':>10}       ratio  95 of 100")
    with harness.folder() as work:
        folder = Path(work)
        programs = programs_of(options.builds[1], folder)
        for name, build in zip(("old", "new"), options.builds):
            make_traces(build, folder / name, names)
        for name, (unit, times, measure) in MEASURES.items():
            if name not in names:
                continue
            taken = [measure(options.builds, folder, turn, programs) for turn in range(max(times * options.series, 1))]
            old, new = (statistics.median(values[i] for values, _ in taken) for i in (0, 1))
            ratios = [ratio for _, ratio in taken]
            low, high = interval(ratios)
            ratio = statistics.median(ratios)
            print(f"{name:8} {old:10.3f} {new:10.3f} {unit:5} {ratio:.3f}  {low:.3f} to {high:.3f}"
                  f"{'  ROSE' if low > TOO_MUCH else ''}", flush=True)
            rows.append([options.names, name, unit, *(f"{value:.3f}" for value in (old, new, ratio, low, high)), options.series])
            rose += [name] if low > TOO_MUCH else []
    if options.save:
        results.save("bench", COLUMNS, rows, options.builds[1].memtap, harness.PYTHON, key=2)
    if rose:
        sys.exit(f"against.py: costs more than before: {', '.join(rose)}")


main()
