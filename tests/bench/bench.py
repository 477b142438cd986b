# SPDX-License-Identifier: Apache-2.0
"""bench.py loop|qwen|simulation|native PROGRAM|driver PROGRAM PAIRS: prints `name value unit` lines.

loop  a step of qwen_loop.py on the simulated device: alone, traced and with PyTorch's own recorder,
      each in a process of its own, in turns; medians, and the medians of each turn's ratios
      (both: with native stacks as well)
qwen  seconds and host memory of a recorded run of tests/zoo/qwen_adamw.py
native  an event of native-loop.c, a C program on a CUDA runtime that does nothing: alone, traced
      without stacks and with native ones, in turns; medians, and the median of each turn's cost
driver  the same by the driver's functions, and a pair of pair-loop.c, traced without stacks
simulation  what simulation costs: `import torch` with and without it, in turns, and a step of
      qwen_loop.py
"""
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "torch"))
import harness  # noqa: E402

LOOP = Path(__file__).resolve().parent / "qwen_loop.py"
TURNS = int(os.environ.get("MEMTAP_BENCH_TURNS", "7"))


def show(name, value, unit):
    print(f"{name} {value:.3f} {unit}", flush=True)


def step_ms(*command):
    return float(harness.must_run(command).stdout.split()[-1])


def loop(work):
    trace = Path(work) / "loop.mtap"
    program = [harness.PYTHON, LOOP]
    kinds = {
        "untraced": [*harness.alone(), *program],
        "traced": [*harness.recorded(trace), *program],
        "both": [*harness.recorded(trace, "--stacks", "both"), *program],
        "recorder": [*harness.alone(), *program, "--record"],
    }
    times = {kind: [] for kind in kinds}
    for _ in range(TURNS):
        for kind, command in kinds.items():
            trace.unlink(missing_ok=True)
            times[kind].append(step_ms(*command))
            if kind == "traced":
                size = trace.stat().st_size
    for kind, values in times.items():
        show(f"loop_step_{kind}", statistics.median(values), "ms")
    for kind in ("traced", "both", "recorder"):
        ratios = [a / b for a, b in zip(times[kind], times["untraced"])]
        show(f"loop_ratio_{kind}", statistics.median(ratios), "ratio")
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


def costs(work, name, program, count, stacks):
    """What a C program pays for what it counts: alone, and with each kind of stacks."""
    trace = Path(work) / f"{name}.mtap"
    shim = harness.must_run([harness.MEMTAP, "lib"]).stdout.strip()
    kinds = {"bare": {}}
    for kind in stacks:
        which = "native" if kind == "stacked" else "none"
        kinds[kind] = {"LD_PRELOAD": shim, "MEMTAP_STACKS": which}
    times = {kind: [] for kind in kinds}
    for _ in range(TURNS):
        for kind, environment in kinds.items():
            trace.unlink(missing_ok=True)
            environment |= {"MEMTAP_OUTPUT": str(trace), "MEMTAP_QUIET": "1"}
            done = harness.must_run([program, count], env=environment)
            times[kind].append(float(done.stdout))
    for kind, values in times.items():
        show(f"{name}_{kind}", statistics.median(values), "ns")
    last = [a - b for a, b in zip(times[stacks[-1]], times["bare"])]
    show(f"{name}_cost", statistics.median(last), "ns")


def native(work):
    costs(work, "native_event", sys.argv[2], "2000000", ["unstacked", "stacked"])


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
    if sys.argv[1] not in ("native", "driver"):
        harness.need_torch("transformers")
    with harness.folder() as work_folder:
        {"loop": loop, "qwen": qwen, "simulation": simulation,
         "native": native, "driver": driver}[sys.argv[1]](work_folder)
