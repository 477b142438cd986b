# SPDX-License-Identifier: Apache-2.0
"""bench.py loop|qwen|simulation|native PROGRAM|threads PROGRAM|driver PROGRAM PAIRS: prints
`name value unit` lines.

loop  a step of qwen_loop.py on the simulated device: alone, traced and with PyTorch's own recorder,
      each in a process of its own; these take a few steps each in turns, so that whatever else the
      machine does falls on all of them; the median of a series' ratios, turn by turn, and then, since a
      process keeps its luck of where its memory lies, of series with new processes, with the least
      and the highest of them (both: with native stacks as well)
qwen  seconds and host memory of a recorded run of tests/zoo/qwen_adamw.py
native  an event of native-loop.c, a C program on a CUDA runtime that does nothing: alone, traced
      without stacks and with native ones, in turns; medians, and the median of each turn's cost
threads  the processor's time for an event of threads-loop.c, of one thread and of two, and events a
      second through to the closed file of 20 million by eight threads, none of which may be lost
driver  the same by the driver's functions, and a pair of pair-loop.c, traced without stacks
simulation  what simulation costs: `import torch` with and without it, in turns, and a step of
      qwen_loop.py
"""
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "torch"))
import harness

LOOP = Path(__file__).resolve().parent / "qwen_loop.py"
TURNS = int(os.environ.get("MEMTAP_BENCH_TURNS", "7"))


def show(name, value, unit):
    print(f"{name} {value:.3f} {unit}", flush=True)


def step_ms(*command):
    return float(harness.must_run(command).stdout.split()[-1])


class Loop:
    """A process that runs steps on request."""

    def __init__(self, before, *options, program=LOOP):
        command = [*before, harness.PYTHON, program, "--in-turns", *options]
        self.program = program
        self.process = subprocess.Popen([str(word) for word in command], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.times = []

    def take(self, steps):
        print(steps, file=self.process.stdin, flush=True)
        self.times.append(float(self.process.stdout.readline()))

    def end(self):
        self.process.stdin.close()
        if not harness.equal(f"exit status of {self.program.name}", self.process.wait(), 0):
            harness.finish()


def series(work):
    """One of each kind: their ratios to the untraced one, by kind, and milliseconds a step."""
    alone = harness.alone()
    loops = {
        "untraced": Loop(alone),
        "traced": Loop(harness.recorded(work / "traced.mtap", "-q")),
        "both": Loop(harness.recorded(work / "both.mtap", "-q", "--stacks", "both")),
        "recorder": Loop(alone, "--record"),
    }
    in_turn = list(loops.values())
    for _ in range(2 * TURNS):
        for each in in_turn:
            each.take(5)
        in_turn.append(in_turn.pop(0))  # what one leaves to do falls on another one each time
    for each in in_turn:
        each.end()
    untraced = loops["untraced"].times
    ratios = {kind: statistics.median(a / b for a, b in zip(each.times, untraced))
              for kind, each in loops.items()}
    return ratios, {kind: statistics.median(each.times) for kind, each in loops.items()}


def loop(work):
    results = []
    for i in range(TURNS):
        folder = Path(work) / str(i)
        folder.mkdir()
        results.append(series(folder))
    for kind in results[0][1]:
        show(f"loop_step_{kind}", statistics.median(times[kind] for _, times in results), "ms")
    for kind in ("traced", "both", "recorder"):
        ratios = sorted(by_kind[kind] for by_kind, _ in results)
        show(f"loop_ratio_{kind}", statistics.median(ratios), "ratio")
        show(f"loop_ratio_{kind}_least", ratios[0], "ratio")
        show(f"loop_ratio_{kind}_highest", ratios[-1], "ratio")
    size = (Path(work) / "0" / "traced.mtap").stat().st_size
    show("loop_trace_size", size / 2**20, "MiB")


def qwen(work):
    command = [*harness.recorded(Path(work) / "qwen.mtap"), harness.PYTHON,
               harness.ZOO / "qwen_adamw.py"]
    begin = time.monotonic()
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if not harness.equal("exit status of qwen_adamw.py", status, 0):
        harness.finish()
    show("qwen_adamw_time", time.monotonic() - begin, "s")
    show("qwen_adamw_host_memory", usage.ru_maxrss / 1024, "MiB")


def preloaded(trace, stacks):
    """The environment that records a C program."""
    return {"LD_PRELOAD": harness.must_run([harness.MEMTAP, "lib"]).stdout.strip(),
            "MEMTAP_STACKS": stacks, "MEMTAP_OUTPUT": str(trace), "MEMTAP_QUIET": "1"}


def costs(work, name, program, count, stacks):
    """What a C program pays for what it counts: alone, and with each kind of stacks."""
    trace = Path(work) / f"{name}.mtap"
    kinds = {"bare": {}}
    for kind in stacks:
        kinds[kind] = preloaded(trace, "native" if kind == "stacked" else "none")
    times = {kind: [] for kind in kinds}
    for _ in range(TURNS):
        for kind, environment in kinds.items():
            trace.unlink(missing_ok=True)
            done = harness.must_run([program, count], env=environment)
            times[kind].append(float(done.stdout))
    for kind, values in times.items():
        show(f"{name}_{kind}", statistics.median(values), "ns")
    last = [a - b for a, b in zip(times[stacks[-1]], times["bare"])]
    show(f"{name}_cost", statistics.median(last), "ns")


def native(work):
    costs(work, "native_event", sys.argv[2], "2000000", ["unstacked", "stacked"])


def threads(work):
    trace = Path(work) / "threads.mtap"
    recorded = preloaded(trace, "none")

    def take(count, events, environment):
        trace.unlink(missing_ok=True)
        begin = time.monotonic()
        done = harness.must_run([sys.argv[2], str(count), str(events)], env=environment)
        return float(done.stdout), events / (time.monotonic() - begin)

    costs_by = {1: [], 2: []}
    rates = []
    for _ in range(TURNS):
        for count, values in costs_by.items():
            values.append(take(count, 2000000, recorded)[0] - take(count, 2000000, {})[0])
        rates.append(take(8, 20000000, recorded)[1])
        info = json.loads(harness.must_run([harness.MEMTAP, "info", "--format", "json",
                                            trace]).stdout)
        harness.equal("events, lost", (info["events"], info["lost"]), (20000000, 0))
    for count, values in costs_by.items():
        show(f"threads_{count}_event_cost", statistics.median(values), "ns")
    show("threads_8_events", statistics.median(rates) / 1e6, "M/s")


def driver(work):
    costs(work, "driver_event", sys.argv[2], "2000000", ["unstacked", "stacked"])
    costs(work, "driver_pair", sys.argv[3], "60", ["unstacked"])


def import_seconds(*before, **environment):
    begin = time.monotonic()
    done = harness.run([*before, harness.PYTHON, "-c", "import torch"], env=environment)
    return time.monotonic() - begin if done.returncode == 0 else None


def simulation(_):
    """Where NVIDIA's libraries are missing, the stand-ins are there but not preloaded."""
    plain = {}
    if import_seconds() is None:
        libraries = harness.must_run([*harness.alone(), "sh", "-c", "echo $LD_LIBRARY_PATH"]).stdout
        plain["LD_LIBRARY_PATH"] = libraries.strip()
    import_seconds(*harness.alone())  # the files are in memory
    pairs = [(import_seconds(**plain), import_seconds(*harness.alone())) for _ in range(TURNS)]
    show("import_torch", statistics.median(pair[0] for pair in pairs), "s")
    show("import_torch_simulated", statistics.median(pair[1] for pair in pairs), "s")
    show("import_torch_ratio", statistics.median(b / a for a, b in pairs), "ratio")
    show("simulated_step", step_ms(*harness.alone(), harness.PYTHON, LOOP), "ms")


if __name__ == "__main__":
    if sys.argv[1] not in ("native", "threads", "driver"):
        harness.need_torch("transformers")
    with harness.folder() as work_folder:
        {"loop": loop, "qwen": qwen, "simulation": simulation,
         "native": native, "threads": threads, "driver": driver}[sys.argv[1]](work_folder)
    sys.exit(1 if harness.failures else 0)
