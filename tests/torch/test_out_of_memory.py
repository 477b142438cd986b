# SPDX-License-Identifier: Apache-2.0
"""The scripts that run out of memory: they die of it, and the trace says how much was wanted, with
how much allocated and reserved, and agrees with PyTorch up to then."""
import json
import pathlib
import subprocess

import harness
import totals
from harness import MEMTAP, check, equal, last_before

GPU = "rtx4090"
# Script, the bytes that were too many, by hand, and the least and the most part of what is reserved
# that is free then.
CASES = [
    # A clip of 16 frames of 3 x 576 x 576 in fp16.
    ("fragmentation_oom.py", 2 * 16 * 3 * 576**2, 0.5, 0.6),
    # 512 images, 256 channels of 28 x 28 in fp32.
    ("plain_oom.py", 4 * 512 * 256 * 28**2, 0, 0.05),
]


def test(script, wanted, least, most):
    with harness.folder() as work:
        path, phases = harness.record(work, script, gpu=GPU, ends=1)
        trace = harness.Trace(path)
        told = json.loads(harness.must_run([MEMTAP, "oom", "--format", "json", path]).stdout)
    totals.compare(trace, phases)
    ooms = trace.of("oom")
    if not equal(f"{script}: times out of memory", len(ooms), 1):
        return
    (oom,) = ooms
    equal(f"{script}: bytes that were wanted", oom["size"], wanted)
    blocks, cuda = trace.of("alloc", "free"), totals.calls(trace)
    allocated = totals.replay(blocks)[last_before(blocks, oom["time_ns"])]
    reserved = totals.segments(cuda)[last_before(cuda, oom["time_ns"])]
    equal(f"{script}: allocated then", oom["allocated"], allocated)
    equal(f"{script}: reserved then", oom["reserved"], reserved)
    free = 1 - allocated / reserved
    check(least <= free <= most, f"{script}: {free:.1%} of what is reserved is free")
    pinned = free / 2 * reserved
    for key, value in (("requested", wanted), ("allocated", allocated), ("reserved", reserved),
                       ("phase", "forward"), ("pool", "large")):
        equal(f"{script}: {key}", told[key], value)
    equal(f"{script}: free pieces", sum(pool["free"] for pool in told["pools"].values()),
          reserved - allocated)
    check(told["largest_free"] < wanted, f"{script}: no piece was large enough")
    free = told["pools"]["large"]["free"] + told["free_on_card"]
    equal(f"{script}: would fit in expandable segments", told["would_fit_expandable"], free >= wanted)
    equal(f"{script}: missed by", told["missed_by"], max(0, wanted - free))
    equal(f"{script}: categories", sum(told["categories"].values()), allocated)
    if least:
        check(told["pinned_by"] and told["pinned_by"][0]["free"] > pinned,
              f"{script}: {told['pinned_by']} keep half of what is free")
        equal(f"{script}: whose line", told["pinned_by"][0]["line"]["function"], "Features.forward")
    equal(f"{script}: went on", [oom["went_on"] for oom in told["all"]], [False])


def test_in_backward():
    program = pathlib.Path(__file__).with_name("backward_oom.py")
    line = program.read_text().split("# the line")[0].count("\n") + 1
    with harness.folder() as work:
        path = pathlib.Path(work) / "t.mtap"
        harness.fork(path, program, gpu=GPU, ends=1)
        told = json.loads(harness.must_run([MEMTAP, "oom", "--format", "json", path]).stdout)
        text = harness.must_run([MEMTAP, "oom", path]).stdout
    equal("in backward: phase", told["phase"], "backward")  # though its first operator gets nothing
    equal("in backward: operator", told["operator"], "GeluBackward0")
    where = [(frame["function"].rpartition(".")[2], frame["line"]) for frame in told["forward_stack"]]
    check(("forward", line) in where, f"in backward: the line is in {where[:5]}")
    check(where[-1][0] == "<module>" and len(where) > 400, f"in backward: {len(where)} frames")
    check(f"by backward_oom.py:{line} Block.forward" in str(text), "in backward: the line is named")
    check(told["free_on_card"] and not told["would_fit_expandable"], "in backward: the card's memory")


def test_library():
    """What a library asks of the card itself is an out-of-memory, too, though PyTorch reports none."""
    program = pathlib.Path(__file__).with_name("library_oom.py")
    line = program.read_text().split("# the line")[0].count("\n") + 1
    with harness.folder() as work, harness.Forks(program) as forks:
        for mode, remedy in (("held", "Do: model.bfloat16(), and its inputs too (modelled: through this iteration)"), ("cached", "Do: torch.cuda.empty_cache() before that line"), ("caught", None)):
            path = pathlib.Path(work) / f"{mode}.mtap"
            code, _ = forks.run(path, program, mode)
            equal(f"library, {mode}: exit code", code, 0 if mode == "caught" else 1)
            told = json.loads(harness.must_run([MEMTAP, "oom", "--format", "json", path]).stdout)
            info = json.loads(harness.must_run([MEMTAP, "info", "--format", "json", path]).stdout)
            text = " ".join(harness.must_run([MEMTAP, "oom", path]).stdout.split())
            plan = json.loads(harness.run([MEMTAP, "plan", "--format", "json", path]).stdout)
            equal(f"library, {mode}: fits", plan["answer"]["fits"], mode == "caught")
            equal(f"library, {mode}: requested, phase", (told["requested"], told["phase"]), (64 << 20, "backward"))
            check(str(told["library"]).startswith("libcublas"), f"library, {mode}: {told['library']}")
            check(f"64.00 MiB by library_oom.py:{line} " in text, f"library, {mode}: the line in {text[:200]}")
            equal(f"library, {mode}: went on", [oom["went_on"] for oom in told["all"]], [mode == "caught"])
            equal(f"library, {mode}: it ended so", info["ended"]["how"] == "oom", mode != "caught")
            check(not remedy or remedy in text, f"library, {mode}: the remedy in {text[:300]}")
        ended = subprocess.run([str(word) for word in [*harness.recorded(pathlib.Path(work) / "t.mtap"), harness.PYTHON, program, "held"]],
                               stderr=subprocess.PIPE, text=True, check=False).stderr
    check("Out of memory in backward, " in ended and "libcublas" in ended, f"library: run says {ended[-300:]}")


def test_kept():
    """The cause of a run that grew until nothing was left is what it kept, though what was free then was in pieces; and the first
    remedy of both commands is to keep nothing."""
    program = pathlib.Path(__file__).with_name("kept_oom.py")
    out = 324_000_256  # bytes: 4 x 9,000 x 9,000, rounded up to 512
    for mode, each, remedy in (("train", "iteration", "keep nothing from one iteration"), ("evaluate", "forward", "keep nothing from one forward")):
        line = program.read_text().split(f"kept in {mode}")[0].count("\n") + 1
        with harness.folder() as work:
            path = pathlib.Path(work) / "t.mtap"
            ended = subprocess.run([MEMTAP, "run", "--simulate", "rtx3060", "-o", path, "--", harness.PYTHON, program, mode],
                                   stderr=subprocess.PIPE, text=True, check=False).stderr
            told = json.loads(harness.must_run([MEMTAP, "oom", "--format", "json", path]).stdout)
            text = harness.must_run([MEMTAP, "oom", path]).stdout
            plan = json.loads(harness.run([MEMTAP, "plan", "--format", "json", path]).stdout)
        left = told["left_behind"]
        site = left["sites"][0]
        equal(f"{mode}: who left it", (left["each"], site["line"]["line"], told["call_sites"][0]["line"]["line"]), (each, line, line))
        check(site["iterations"] > 15 and site["bytes"] >= site["iterations"] * out, f"{mode}: {site}")
        head, first = " ".join(text.split()).split(" Do: ")
        cause = f"by kept_oom.py:{line} {mode}"
        check(" left behind " in head and cause in head, f"{mode}: the cause in {head}")
        check(" left behind " in ended and cause in ended, f"{mode}: the cause in {ended[-400:]}")
        check(first.startswith(remedy), f"{mode}: the remedy in {first[:80]}")
        equal(f"{mode}: the first of plan", plan["answer"]["ways"][0]["changes"], ["keep-nothing"])


def test_optimizer_advice():
    """An optimizer of 8 bits saves three quarters of moments that have 32, half of those that have 16, and nothing of master weights."""
    n = 2 << 22
    program = pathlib.Path(__file__).with_name("optimizer_oom.py")
    for kind, most in (("fp32", 2 * 3 * n), ("masters", 2 * 3 * n), ("bf16", 2 * n)):
        with harness.folder() as work:
            path = pathlib.Path(work) / "t.mtap"
            harness.fork(path, program, kind, gpu=GPU, ends=1)
            told = json.loads(harness.must_run([MEMTAP, "oom", "--format", "json", path]).stdout)
        saved = [advice["bytes"] for advice in told["suggestions"] if advice["change"] == "optimizer:adam8bit"]
        check(len(saved) == 1 and most * 0.98 < saved[0] <= most, f"8-bit optimizer, {kind}: saves {saved} of at most {most}")


def test_first_step():
    """What the first step keeps in all, by what it made before memory ran out: nothing, a part of a parameter's state, that of
    one parameter, that of all but the last."""
    program = pathlib.Path(__file__).with_name("first_step_oom.py")
    with harness.folder() as work, harness.Forks(program) as forks:
        path = pathlib.Path(work) / "t.mtap"
        for name, free, is_supposed in (("adam", 16, True), ("adam", 40, True), ("adam", 72, True), ("adam", 168, False),
                                        ("adam-fused", 72, True), ("rmsprop", 80, False)):
            path.unlink(missing_ok=True)
            _, output = forks.run(path, program, name, free)
            parameters = int(output.split()[1])
            told = json.loads(harness.must_run([MEMTAP, "oom", "--format", "json", path]).stdout)
            text = harness.must_run([MEMTAP, "oom", path]).stdout
            made = told["categories"]["optimizer_state"]
            of = f"first step, {name}, {free} MiB"
            equal(f"{of}: phase", told["phase"], "optimizer")
            state = made + told["rest"]["state"]
            wanted = parameters * (1 if name == "rmsprop" else 2)
            check(wanted <= state <= wanted + 8192, f"{of}: {state} bytes of state, but {wanted}")
            equal(f"{of}: it is said that Adam is supposed", (told["rest"]["supposes_adam"], ", if it is Adam" in " ".join(text.split())), (is_supposed,) * 2)
            check(all("KiB less" not in line for line in text.splitlines()), f"{of}: advice that saves nothing")


def test_limit():
    """A memory fraction, not the card, was too small: both commands say so."""
    program = pathlib.Path(__file__).with_name("limited_oom.py")
    with harness.folder() as work:
        path = pathlib.Path(work) / "t.mtap"
        harness.fork(path, program, gpu=GPU)
        copy = pathlib.Path(work) / "copy.mtap"
        harness.must_run([MEMTAP, "compact", "-o", copy, path])
        told = json.loads(harness.must_run([MEMTAP, "oom", "--format", "json", path]).stdout)
        of_copy = json.loads(harness.must_run([MEMTAP, "oom", "--format", "json", copy]).stdout)
        text = harness.must_run([MEMTAP, "oom", path]).stdout
        planned = harness.must_run([MEMTAP, "plan", path], ends=1).stdout
        plan = json.loads(harness.must_run([MEMTAP, "plan", "--format", "json", path], ends=1).stdout)
    limit = plan["card"]["total"] // 2
    equal("limit", told["limit"], limit)
    equal("limit, compact copy", of_copy["limit"], limit)
    equal("limit: what is left of it", told["free_on_card"], limit - told["reserved"])
    equal("limit: without it", told["fits_without_limit"], True)
    check("Without that limit, the request is served (replayed)." in text, "limit: it is said that it was that")
    (recorded,) = [setting for setting in plan["settings"] if setting["recorded"]]
    equal("limit, plan", recorded["out_of_memory"]["limit"], limit)
    check("that its memory fraction allows" in planned, "limit, plan: it is said")
    check("caught the error and continued" in " ".join(planned.split()), "limit, plan: the run went on")


def main():
    harness.need_torch()
    test_in_backward()
    test_library()
    test_kept()
    test_optimizer_advice()
    test_first_step()
    test_limit()
    for case in CASES:
        test(*case)
    harness.finish()


main()
