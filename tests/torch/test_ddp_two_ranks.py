# SPDX-License-Identifier: Apache-2.0
"""torchrun with two ranks: both train and end well, each leaves one trace, and that says to the byte
what PyTorch says in its rank. Two dormant ranks are started by their folder for three iterations, and what
they had allocated before is in their traces."""
import json
import os
import re
import socket
import subprocess
from pathlib import Path

import harness
import totals
from checks import until

RANKS = 2
WIDTH, LAYERS = 256, 3


def parameters():
    """The bytes of the model, each tensor in blocks of 512."""
    shapes = [3 * WIDTH * WIDTH, 3 * WIDTH, WIDTH * WIDTH, WIDTH, 4 * WIDTH * WIDTH, 4 * WIDTH,
              4 * WIDTH * WIDTH, WIDTH, WIDTH, WIDTH, WIDTH, WIDTH]
    return LAYERS * sum((4 * elements + 511) // 512 * 512 for elements in shapes)


def command(*words, work):
    done = harness.run([harness.MEMTAP, *words], cwd=work)
    return done.returncode, done.stdout + done.stderr


def check_before(work, rank, peak):
    """What rank's process had allocated before the start is in the trace, with PyTorch's totals and its categories."""
    ready = json.loads(Path(work, f"ready-{rank}").read_text(encoding="utf-8"))
    dump = command("dump", f"r{rank}.mtap", work=work)[1]
    [string] = re.findall(r"^string (\d+) before the recording$", dump, re.M)
    [frame] = re.findall(rf"^frame (\d+) function={string} file=0 line=0$", dump, re.M)
    [stack] = re.findall(rf"^stack (\d+) parent=0 frame={frame}$", dump, re.M)
    before = re.findall(rf" stack={stack} alloc address=\S+ size=(\d+) allocated=(\d+) reserved=(\d+)$", dump, re.M)
    harness.equal("allocated before", sum(int(size) for size, _, _ in before), ready["allocated"])
    harness.equal("the totals then", {tuple(map(int, totals)) for _, *totals in before}, {(ready["allocated"], ready["reserved"])})
    harness.equal("not recorded", peak["unseen"], 0)
    for category in ("parameters", "optimizer_state"):
        harness.equal(category, peak["categories"][category], ready[category])


def check_dormant(work):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    program = Path(__file__).resolve().with_name("dormant_ranks.py")
    line = harness.recorded("r%r.mtap", "--dormant", gpus=RANKS) + [harness.PYTHON, program, port]
    with subprocess.Popen([str(word) for word in line], cwd=work) as job:
        harness.check(until(lambda: len(list(Path(work).glob("ready-?"))) == RANKS), "both ranks wait for a start")
        code, said = command("start", "--iterations", 3, work, work=work)
        harness.check(code == 0 and said.count(" is recorded in ") == RANKS, "start", said)
        Path(work, "go").touch()
        harness.equal("the ranks go on", job.wait(), 0)
    for rank in range(RANKS):
        code, said = command("report", "-f", "json", f"r{rank}.mtap", work=work)
        harness.equal("a complete trace", code, 0)
        report = json.loads(said)
        harness.equal("its iterations", [(device["device"], device["iterations"]) for device in report["devices"]], [(rank, 3)])
        check_before(work, rank, report["devices"][0]["peak"])
    harness.equal("no other", sorted(path.name for path in Path(work).glob("*.mtap*")), ["r0.mtap", "r1.mtap"])


def main():
    if harness.ON_GPU:
        harness.skip("a machine of the suite gpu has one GPU")
    harness.need_torch()
    with harness.folder() as work:
        runs = harness.record_ranks(work, "ddp_two_ranks.py", RANKS, "--width", WIDTH, "--layers",
                                    LAYERS, "--length", 64, "--batch", 4)
        names = [f"{name}-{rank}" for name in ("counters", "trace") for rank in range(RANKS)]
        harness.equal("files", sorted(file.split(".")[0] for file in os.listdir(work)), names)
        traces = [harness.Trace(path) for path, _ in runs]
    for trace, (_, phases) in zip(traces, runs):
        totals.compare(trace, phases)
    devices = [phases[0]["device"] for _, phases in runs]
    harness.equal("a device for each rank", devices, list(range(RANKS)))
    for _, phases in runs:
        # The parameters, and the buckets in which their gradients travel.
        harness.equal("with the model", phases[0]["allocated"], 2 * parameters())
    forward = [phases[1]["allocated"] for _, phases in runs]
    harness.check(forward[0] < forward[1], "the rank with the larger batch takes more")
    with harness.folder() as work:
        check_dormant(work)
    harness.finish()


main()
