# SPDX-License-Identifier: Apache-2.0
"""test_oracle.py REPLAY LATE [EVENTS]: PyTorch's own allocator, driven on the simulated card with random
requests under many settings, and the model of it: what is allocated, reserved, active, requested and
split must be equal after every request. MEMTAP_TEST_SEED repeats a run; MEMTAP_TEST_PYTHONS names further
Pythons with other releases of PyTorch, separated by colons."""
import concurrent.futures
import json
import os
import random
import sys
import tempfile
import threading
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "torch"))
import harness  # noqa: E402

REPLAY, LATE = sys.argv[1:3]
RELEASE = """
import os, runpy
from importlib.util import find_spec
print(runpy.run_path(os.path.join(os.path.dirname(find_spec("torch").origin), "version.py"))["__version__"])
"""
EVENTS = int(sys.argv[3]) if len(sys.argv) > 3 else 5000
CARDS = (2 << 30, 4 << 30, 7 << 30, 24 << 30)

# (the first release that has the settings, or does not refuse them halfway; the settings)
SETTINGS = [
    ((2, 1), ""),
    ((2, 1), "expandable_segments:True"),
    ((2, 1), "max_split_size_mb:64"),
    ((2, 1), "max_split_size_mb:21"),
    ((2, 1), "roundup_power2_divisions:4"),
    ((2, 1), "roundup_power2_divisions:[256:1,512:2,1024:4,>:8]"),
    ((2, 1), "roundup_power2_divisions:[1:8,4:2,64:16,>:1]"),
    ((2, 1), "garbage_collection_threshold:0.6"),
    ((2, 1), "garbage_collection_threshold:0.8,max_split_size_mb:128"),
    ((2, 1), "expandable_segments:True,roundup_power2_divisions:8"),
    ((2, 1), "expandable_segments:True,garbage_collection_threshold:0.7"),
    ((2, 1), "max_split_size_mb:200,roundup_power2_divisions:16"),
    ((2, 1), "backend:cudaMallocAsync"),
    ((2, 6), "max_non_split_rounding_mb:64,max_split_size_mb:32"),
    ((2, 6), "max_non_split_rounding_mb:200,max_split_size_mb:100,roundup_power2_divisions:2"),
    ((2, 9), "expandable_segments:True,max_split_size_mb:64"),
    ((2, 9), "graph_capture_record_stream_reuse:True"),
    ((2, 10), "per_process_memory_fraction:0.5,garbage_collection_threshold:0.5"),
    ((2, 11), "large_segment_size_mb:12"),
    ((2, 11), "large_segment_size_mb:64,max_split_size_mb:100"),
    ((2, 11), "expandable_segments:True,large_segment_size_mb:40"),
    ((2, 13), "per_process_memory_fraction:0.6,throw_on_cudamalloc_oom:True"),
    ((2, 15), "expandable_segments:True,expandable_segments_reserve:0.25"),
    ((2, 15), "expandable_segments:True,expandable_segments_reserve:1G"),
]


def pythons():
    others = os.environ.get("MEMTAP_TEST_PYTHONS", "").split(":")
    return [harness.PYTHON, *(name for name in others if name)]


def release_of(python):
    done = harness.run([python, "-c", harness.PROBE, "torch"])
    found = "" if done.returncode or done.stdout.strip() else harness.run([python, "-c", RELEASE]).stdout
    return tuple(int(number) for number in found.split(".")[:2]) if found else None


class Drivers:
    """Processes that have imported PyTorch, and are then drive.py under one setting after another; a backend is chosen by
    the import. None is used by two at once."""

    def __init__(self):
        self.idle, self.all = {}, []
        self.lock = threading.Lock()

    def take(self, kind):
        with self.lock:
            if self.idle.get(kind):
                return self.idle[kind].pop()
        python, backend = kind
        made = harness.Forks(python=python, env={"PYTORCH_CUDA_ALLOC_CONF": backend}, before=[
            "env", f"LATE_EVENTS={LATE}", f"LD_PRELOAD={LATE}", harness.MEMTAP, "simulate", "--"])
        with self.lock:
            self.all.append(made)
        return made

    def run(self, python, settings, seed, folder):
        """The exit code of drive.py, and what it printed."""
        kind = python, settings if settings.startswith("backend:") else ""
        forks = self.take(kind)
        done = forks.run("", HERE / "drive.py", folder, seed, EVENTS, env={
            "PYTORCH_CUDA_ALLOC_CONF": settings, "CUDASIM_MEMORY": str(CARDS[seed % len(CARDS)])})
        with self.lock:
            self.idle.setdefault(kind, []).append(forks)
        return done

    def end(self):
        for forks in self.all:
            forks.__exit__()


def compare(drivers, python, settings, seed):
    """What is wrong, and one line on what was compared."""
    with tempfile.TemporaryDirectory(prefix="memtap-test-") as folder:
        code, output = drivers.run(python, settings, seed, folder)
        drove = [json.loads(line) for line in output.splitlines() if line.startswith('{"release"')]
        if code or not drove:
            return f"drive.py failed:\n{output}", ""
        done = harness.run([REPLAY, settings, drove[0]["release"], drove[0]["total"], drove[0]["others"],
                            Path(folder, "requests"), Path(folder, "states")])
        return (done.stdout + done.stderr if done.returncode else ""), done.stdout.strip()


def main():
    harness.need_torch()
    if harness.ON_GPU:
        harness.skip("the card decides where memory runs out, not the test")
    seed = int(os.environ.get("MEMTAP_TEST_SEED") or random.randrange(1 << 31))
    print(f"MEMTAP_TEST_SEED={seed}")
    asked = []
    for python in pythons():
        release = release_of(python)
        if harness.check(release, f"{python} has no PyTorch with CUDA"):
            asked += [(python, release, settings, seed + number)
                      for number, (since, settings) in enumerate(SETTINGS) if release >= since]
    drivers = Drivers()
    with concurrent.futures.ThreadPoolExecutor(2) as runs:
        found = [(release, settings, seed, runs.submit(compare, drivers, python, settings, seed))
                 for python, release, settings, seed in asked]
        for release, settings, own, future in found:
            wrong, line = future.result()
            name = f"PyTorch {release[0]}.{release[1]} {settings or '(default)'}"
            print(f"{name}: {line}" if not wrong else name)
            harness.check(not wrong, f"{name}, seed {own}:\n{wrong}")
    drivers.end()
    harness.check(len(asked) >= 13, f"only {len(asked)} settings were compared")
    harness.finish()


main()
