# SPDX-License-Identifier: Apache-2.0
"""How right replays are: every reference script is recorded once, with the default settings, and `memtap plan --conf`
asked for each setting; then the script runs again with each setting, on PyTorch's own allocator. Compared are the
peaks of allocated and reserved memory, whether memory runs out, and where. MEMTAP_TEST_PYTHON chooses the release of
PyTorch, names of scripts choose scripts. With --save it writes each script's row into evaluation/results/replay.csv."""
import argparse
import json
import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / "tests" / "torch"), str(HERE.parent)]
import harness  # noqa: E402
import results  # noqa: E402
from harness import MEMTAP, PYTHON, ZOO  # noqa: E402

VARIABLE = "PYTORCH_CUDA_ALLOC_CONF"  # all releases read it

# script: (arguments, card, ranks)
SCRIPTS = {
    "amp.py": ([], "h100", 1),
    "checkpointing.py": ([], "h100", 1),
    "compiled.py": ([], "h100", 1),
    "conv_vs_linear.py": ([], "h100", 1),
    "dataloader_workers.py": ([], "h100", 1),
    "ddp_two_ranks.py": ([], "h100", 2),
    "diffusion_unet.py": (["--batch", "16"], "h100", 1),
    "fragmentation_oom.py": ([], "h100", 1),
    "gpt2_xl.py": (["--batch", "4"], "h100", 1),
    "graph_capture.py": ([], "h100", 1),
    "kv_cache.py": (["--tokens", "32", "--every", "8"], "h100", 1),
    "linear_loop.py": ([], "h100", 1),
    "pipeline_ranks.py": ([], "h100", 2),
    "plain_oom.py": ([], "rtx4090", 1),
    "qwen_adamw.py": ([], "h100", 1),
    "sharded_ranks.py": ([], "h100", 2),
}

ASYNC = "backend:cudaMallocAsync"
# (the first release that has the settings; the settings)
SETTINGS = [
    ((2, 1), ""),
    ((2, 1), "expandable_segments:True"),
    ((2, 1), "max_split_size_mb:21"),
    ((2, 1), "max_split_size_mb:64"),
    ((2, 1), "max_split_size_mb:256"),
    ((2, 1), "roundup_power2_divisions:4"),
    ((2, 1), "roundup_power2_divisions:16"),
    ((2, 1), "roundup_power2_divisions:[256:1,512:2,1024:4,>:8]"),
    ((2, 1), "garbage_collection_threshold:0.6"),
    ((2, 1), "garbage_collection_threshold:0.8,max_split_size_mb:128"),
    ((2, 1), "max_split_size_mb:200,roundup_power2_divisions:16"),
    ((2, 1), "expandable_segments:True,roundup_power2_divisions:8"),
    ((2, 1), ASYNC),
    ((2, 6), "max_non_split_rounding_mb:64,max_split_size_mb:32"),
    ((2, 11), "large_segment_size_mb:12"),
    ((2, 11), "large_segment_size_mb:64,max_split_size_mb:100"),
    ((2, 11), "expandable_segments:True,large_segment_size_mb:40"),
    ((2, 15), "expandable_segments:True,expandable_segments_reserve:0.25"),
]
# With these, memory runs out in most scripts: parts of the peak that was recorded.
LIMITS = [((2, 10), 0.9, ""), ((2, 10), 0.7, ""),
          ((2, 10), 0.95, ",garbage_collection_threshold:0.5"),
          ((2, 10), 0.9, ",expandable_segments:True")]


def release():
    probe = "import torch; print(torch.__version__)"
    found = harness.must_run([MEMTAP, "simulate", "--", PYTHON, "-c", probe]).stdout.split(".")
    return int(found[0]), int(found[1])


def run(script, setting, paths, before, *wrapper):
    """The files that a run leaves, by rank; none: the program or PyTorch refused."""
    arguments, _, ranks = SCRIPTS[script]
    for path in paths:
        path.unlink(missing_ok=True)
        path.with_name(f"{path.name}.tail").unlink(missing_ok=True)  # of a rank that was killed
    launch = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", ranks]
    harness.run([*before, PYTHON, *(launch if ranks > 1 else []), *wrapper, ZOO / script,
                 *arguments], env={VARIABLE: setting})
    return [path for path in paths if path.exists()]


def files(work, name, script):
    """By rank; and all of them, for a command line."""
    ranks = SCRIPTS[script][2]
    return [Path(work) / name.replace("%r", str(rank)) for rank in range(ranks)], Path(work) / name


def is_forked(script, setting):
    """Whether it can run in a child of a process that has imported PyTorch: that takes longer than most scripts."""
    _, gpu, ranks = SCRIPTS[script]
    return ranks == 1 and gpu == harness.GPU and setting != ASYNC


def record(work, name, script, setting):
    arguments, gpu, ranks = SCRIPTS[script]
    paths, every = files(work, f"{name}-%r.mtap", script)
    if is_forked(script, setting):
        paths[0].unlink(missing_ok=True)
        FORKS.run(paths[0], HERE / "with_conf.py", setting, ZOO / script, *arguments)
        return [path for path in paths if path.exists()]
    return run(script, setting, paths, harness.recorded(every, gpu=gpu, gpus=ranks))


def compare_async(work, script, setting, plans, rows):
    """Its blocks are CUDA's, and no trace of PyTorch's allocator has them: PyTorch tells its peaks."""
    _, gpu, ranks = SCRIPTS[script]
    paths, every = files(work, "peaks-%r.json", script)
    before = [MEMTAP, "simulate", "--gpu", gpu, "--gpus", ranks, "--"]
    peaks = run(script, setting, paths, before, HERE / "peaks.py", every)
    if len(peaks) != len(plans):
        print(f"{script} {setting}: PyTorch refuses", flush=True)
    for path, found in zip(peaks, plans):
        real, said = json.loads(path.read_text()), of(found, setting)
        wrong = [f"{name} {said[name]}, not {real[name]}" for name in ("peak_allocated", "peak_reserved")
                 if said[name] != real[name] and not real["is_out"]]
        is_cut = found["check"]["out_of_memory_recorded"] and not said["out_of_memory"]
        if bool(said["out_of_memory"]) != real["is_out"] and not is_cut:
            wrong.append(f"runs out: {bool(said['out_of_memory'])}, not {real['is_out']}")
        rows.add(script, setting, said["how"], wrong)


def plan(trace, settings):
    confs = [word for setting in settings for word in ("--conf", setting)]
    done = harness.run([MEMTAP, "plan", "--format", "json", *confs, trace])
    if done.returncode not in (0, 1):
        print(f"memtap plan: {done.stderr}")
        return None
    return json.loads(done.stdout)


def of(found, setting):
    return next((row for row in found["settings"] if row["conf"] == setting), None)


def limits(found):
    """Memory fractions, from the recorded peak."""
    part = found["recorded"]["peak_reserved"] / found["card"]["total"]
    return [f"per_process_memory_fraction:{part * of_peak:.4f}{more}"
            for since, of_peak, more in LIMITS if since <= RELEASE]


def failed_at(row):
    """Which request ran out: its line and phase. PyTorch tells its bytes rounded, by the settings."""
    place = row["out_of_memory"]
    phase = re.sub(r" of \d+$", "", place["phase"] or "") if place else ""  # iterations to the end
    return place and f"{Path(place['line']['file']).name}:{place['line']['line']} {phase}"


def differences(said, real, again):
    """What was said wrongly. said: replayed from the default's run; real: of the run's own trace; again: all of it."""
    if not again["check"]["exact"]:
        return ["the run's own replay is not exact"]
    wrong = []
    if failed_at(said) != failed_at(real):
        wrong.append(f"runs out at {failed_at(said)}, not {failed_at(real)}")
    if not failed_at(real):
        for name in ("peak_allocated", "peak_reserved", "retries"):
            if said[name] != real[name]:
                wrong.append(f"{name} {said[name]}, not {real[name]}")
    return wrong


class Rows:
    """What became of each script and setting."""

    def __init__(self):
        self.of_script = {}

    def counts(self, script):
        return self.of_script.setdefault(script, {"cases": 0, "equal": 0, "cut": 0, "wrong": []})

    def cut(self, script, setting, why):
        self.counts(script)["cut"] += 1
        print(f"{script} {setting}: {why}", flush=True)

    def add(self, script, setting, how, wrong):
        counts = self.counts(script)
        counts["cases"] += 1
        counts["equal"] += not wrong
        if wrong:
            counts["wrong"].append((setting, how, wrong))
            print(f"{script} {setting or '(default)'} ({how}): {'; '.join(wrong)}", flush=True)
        else:
            print(f"{script} {setting or '(default)'}: equal", flush=True)


def compare(work, script, setting, plans, rows):
    if setting == ASYNC:
        compare_async(work, script, setting, plans, rows)
        return
    other = record(work, "other", script, setting)
    if len(other) != len(plans):
        print(f"{script} {setting}: PyTorch refuses", flush=True)
        return
    again = [plan(path, [setting]) for path in other]
    for found, real in zip(plans, again):
        said = of(found, setting)
        if not real or not said:
            rows.add(script, setting, "-", ["no answer"])
            continue
        own = of(real, setting)
        if found["check"]["out_of_memory_recorded"] and not failed_at(said):
            # The default's run ended there: what fits more of the program is not in its trace.
            rows.cut(script, setting, "served up to where the recorded run ran out")
            continue
        if real["check"]["exact"] and not failed_at(own) and any(failed_at(of(one, setting))
                                                                 for one in again if one):
            rows.cut(script, setting, "ended, because another rank ran out")
            continue
        rows.add(script, setting, said["how"], differences(said, own, real))


def test(work, script, rows):
    traces = record(work, "default", script, "")
    if len(traces) != SCRIPTS[script][2]:
        print(f"{script}: does not run here", flush=True)
        return
    settings = [setting for since, setting in SETTINGS if since <= RELEASE]
    first = plan(traces[0], [""])
    if not first:
        return
    if not first["card"]["total"] or (first["ended"]["how"] == "exit" and first["ended"]["exit_code"]):
        print(f"{script}: does not run with this release", flush=True)
        return
    settings += limits(first)
    plans = [plan(trace, settings) for trace in traces]
    if None in plans:
        rows.add(script, "", "-", ["no plan"])
        return
    for setting in settings:
        compare(work, script, setting, plans, rows)


COLUMNS = ("cases", "equal", "cut")


def row(script, counts):
    """A row of evaluation/results/replay.csv."""
    wrong = "; ".join(f"{setting} ({how}): {'; '.join(what)}" for setting, how, what in counts["wrong"])
    return [f"{script} {RELEASE[0]}.{RELEASE[1]}", *(counts[name] for name in COLUMNS), wrong]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scripts", nargs="*", help="of tests/zoo; default: all")
    parser.add_argument("--save", action="store_true", help="write evaluation/results/replay.csv, after each script")
    args = parser.parse_args()
    harness.need_torch()
    global RELEASE, FORKS
    RELEASE = release()
    rows = Rows()
    scripts = args.scripts or list(SCRIPTS)
    forked = [ZOO / script for script in scripts if is_forked(script, "")]
    with harness.folder() as work, harness.Forks(HERE / "with_conf.py", *forked) as FORKS:
        for script in scripts:
            test(work, script, rows)
            if args.save and script in rows.of_script:
                results.save("replay", ["script", *COLUMNS, "unequal"], [row(script, rows.of_script[script])], MEMTAP, PYTHON)
    for script, counts in rows.of_script.items():
        print(*row(script, counts))
    wrong = [row for counts in rows.of_script.values() for row in counts["wrong"]]
    sys.exit(1 if wrong else 0)


main()
