# SPDX-License-Identifier: Apache-2.0
"""test_plan.py [SETTING...]: what memtap plan says of a recorded run under another setting, against a
run with that setting: whether it fits, and the peaks, to the byte. And the recorded setting, replayed,
is equal after every allocation and free. With arguments: all scripts, with these settings."""
import json
import sys
from pathlib import Path

import harness
from harness import MEMTAP, ZOO, check, equal

HERE = Path(__file__).resolve().parent
QUICK = {
    "qwen_adamw.py": (["--layers", "2", "--batch", "2"], "h100"),
    "fragmentation_oom.py": ([], "h100"),
    "graph_capture.py": ([], "h100"),
}
ALL = {
    **QUICK,
    "diffusion_unet.py": (["--batch", "4"], "h100"),
    "conv_vs_linear.py": ([], "h100"),
    "linear_loop.py": ([], "h100"),
    "checkpointing.py": ([], "h100"),
    "amp.py": ([], "h100"),
    "kv_cache.py": (["--tokens", "32", "--every", "8"], "h100"),
    "plain_oom.py": ([], "rtx4090"),
    "dataloader_workers.py": ([], "h100"),
}
SPLIT = "max_split_size_mb:64"
SETTINGS = ["expandable_segments:True", "max_split_size_mb:64", "roundup_power2_divisions:4"]


def record(work, script, arguments, forks, setting, gpu=harness.GPU):
    """The trace of a run with a setting; None: the program refuses it."""
    trace = Path(work) / "t.mtap"
    trace.unlink(missing_ok=True)
    forks.run(trace, ZOO / script, *arguments, env={"PYTORCH_CUDA_ALLOC_CONF": setting, **harness.on_card(gpu)})
    return trace if trace.exists() else None


def plan(trace, setting):
    done = harness.run([MEMTAP, "plan", "--format", "json", "--conf", setting, trace])
    if not check(done.returncode in (0, 1), f"memtap plan --conf '{setting}': {done.stderr}"):
        return None
    return json.loads(done.stdout)


def of(found, setting):
    return [row for row in found["settings"] if row["conf"] == setting][0]


def exact(what, found):
    counts = found["check"]
    print(f"{what}: {counts['equal']} of {counts['events']} events equal, "
          f"reserved off by {counts['reserved_off_by']}")
    equal(f"{what}: events that are equal", counts["equal"], counts["events"])
    check(counts["exact"], f"{what}: replayed")


def compare(script, setting, said, real, is_cut):
    """is_cut: memory ran out in the run that is replayed, so that its trace has less than the other
    run's; what fits a longer run, fits it too."""
    if is_cut:
        check(said["fits"] or not real["fits"], f"{script} {setting}: fits, as its run does")
        return
    names = ["fits", "peak_reserved", "peak_allocated", "retries"]
    for name in names if real["fits"] else ["fits"]:
        equal(f"{script} {setting}: {name}", said[name], real[name])


def test(work, script, arguments, forks, settings, gpu):
    trace = record(work, script, arguments, forks, "", gpu)
    kept = trace.rename(Path(work) / "default.mtap")
    for setting in settings:
        found = plan(kept, setting)
        if not found:
            continue
        exact(f"{script} as recorded", found)
        other = record(work, script, arguments, forks, setting, gpu)
        if not check(other, f"{script} {setting}: there is a trace"):
            continue
        again = plan(other, setting)
        exact(f"{script} {setting}", again)
        compare(script, setting, of(found, setting), of(again, setting),
                found["check"]["out_of_memory_recorded"] > 0)


def own(work, forks):
    """A program that limits its memory, empties the cache in vain, changes the settings, and runs out of memory."""
    for arguments in ([], ["--settings"]):
        trace = record(work, HERE / "own_settings.py", arguments, forks, "")
        found = check(trace, "own_settings.py runs") and plan(trace, "expandable_segments:True")
        if not found:
            continue
        exact(f"own_settings.py {' '.join(arguments)}", found)
        check(found["check"]["out_of_memory"] > 0, "memory runs out")
        made = found["recorded"]["set_by_program"]
        check("expandable_segments:True" in made if arguments else not made, f"its own settings: {made}")
    other = plan(record(work, HERE / "own_settings.py", ["--fits"], forks, ""), SPLIT)
    real = plan(record(work, HERE / "own_settings.py", ["--fits"], forks, SPLIT), SPLIT)
    for name in ("fits", "peak_reserved", "peak_allocated", "retries"):
        equal(f"own_settings.py {SPLIT}: {name}", of(other, SPLIT)[name], of(real, SPLIT)[name])
    # What the program does not name stays, but for three settings.
    expandable = "expandable_segments:True"
    other = plan(record(work, HERE / "own_settings.py", ["--settings", "--fits"], forks, ""), expandable)
    real = plan(record(work, HERE / "own_settings.py", ["--settings", "--fits"], forks, expandable), expandable)
    for name in ("fits", "peak_reserved", "peak_allocated", "retries"):
        equal(f"own_settings.py --settings {expandable}: {name}", of(other, expandable)[name], of(real, expandable)[name])


def graphs(work, forks):
    """Private pools that come and go; each setting's run says of the others what their runs do."""
    confs = ["", "expandable_segments:True", SPLIT]
    traces = [record(work, HERE / "graphs_again.py", [], forks, conf).rename(Path(work) / f"{i}.mtap")
              for i, conf in enumerate(confs)]
    reals = [plan(trace, conf) for trace, conf in zip(traces, confs)]
    other = "backend:cudaMallocAsync"
    equal(other, of(plan(traces[0], other), other)["not_modelled"], "memory of CUDA graphs")
    for trace, conf, real in zip(traces, confs, reals):
        exact(f"graphs_again.py {conf}", real)
        for other, wanted in zip(confs, reals):
            compare("graphs_again.py", f"{conf} -> {other}", of(plan(trace, other), other),
                    of(wanted, other), False)


def main():
    harness.need_torch()
    scripts = ALL if sys.argv[1:] else QUICK
    with harness.folder() as work, harness.Forks(*(ZOO / script for script in scripts)) as forks:
        own(work, forks)
        graphs(work, forks)
        for script, (arguments, gpu) in scripts.items():
            test(work, script, arguments, forks, sys.argv[1:] or SETTINGS, gpu)
    harness.finish()


main()
