# SPDX-License-Identifier: Apache-2.0
"""What PyTorch had allocated and reserved before memtap attach is in the trace, to the byte, whatever comes first: the replay of the
allocator then equals PyTorch's after every event."""
import json
import re
import subprocess
from pathlib import Path

import harness
from checks import until

PROGRAM = Path(__file__).resolve().with_name("attached.py")


def attached(work, first, **environment):
    """The trace of the program, and what it says of itself before and at its end."""
    command = [*harness.alone(), harness.PYTHON, PROGRAM, first]
    with subprocess.Popen([str(word) for word in command], cwd=work, stderr=subprocess.PIPE, text=True) as process:
        harness.check(until(lambda: Path(work, "ready").exists() or process.poll() is not None), "it waits")
        done = harness.run([harness.MEMTAP, "attach", "-o", "t.mtap", process.pid], cwd=work, env=environment)
        Path(work, "go").touch()
        said = process.stderr.read()
        harness.equal("the program", process.wait(), 0)
    if "does not permit" in done.stderr:
        harness.skip(done.stderr)
    harness.check(done.returncode == 0, "attach", done.stderr, said)
    return Path(work, "t.mtap"), *(json.loads(Path(work, name).read_text(encoding="utf-8")) for name in ("ready", "peaks"))


def sizes(trace):
    """Bytes of blocks and of segments that are from before."""
    dump = harness.must_run([harness.MEMTAP, "dump", trace]).stdout
    [string] = re.findall(r"^string (\d+) before the recording$", dump, re.M)
    [frame] = re.findall(rf"^frame (\d+) function={string} file=0 line=0$", dump, re.M)
    [stack] = re.findall(rf"^stack (\d+) parent=0 frame={frame}$", dump, re.M)
    return [sum(map(int, re.findall(rf" stack={stack} {kind} address=\S+ size=(\d+)", dump))) for kind in ("alloc", "cuda_malloc")]


def json_of(command, trace):
    return json.loads(harness.must_run([harness.MEMTAP, command, "-f", "json", trace]).stdout)["devices"][0]


def check_full(first):
    with harness.folder() as work:
        trace, ready, peaks = attached(work, first)
        harness.equal("allocated and reserved before", sizes(trace), [ready["allocated"], ready["reserved"]])
        peak = json_of("report", trace)["peak"]
        harness.equal("the peak", (peak["allocated"], peak["unseen"]), (peaks["allocated"], 0))
        harness.equal("its parameters", peak["categories"]["parameters"], ready["parameters"])
        said = harness.must_run([harness.MEMTAP, "report", trace]).stdout
        late = "Recording began during the run; what was allocated before has no lines.\n"
        harness.check(late in said, "the report says so", said)
        page = harness.page_says(trace)
        harness.equal("the page's note", page and page["notes"], page and late)
        plan = json_of("plan", trace)
        harness.check(plan["check"]["exact"], "replayed", plan["check"])
        [recorded] = [setting for setting in plan["settings"] if setting["recorded"]]
        harness.equal("reserved", recorded["peak_reserved"], peaks["reserved"])
        harness.equal("how", {setting["how"] for setting in plan["settings"] if not setting["recorded"]}, {"modelled"})


def check_light():
    with harness.folder() as work:
        trace, ready, peaks = attached(work, "alloc", MEMTAP_LIGHT="1")
        harness.equal("allocated before, lightly recorded", sizes(trace)[0], ready["allocated"])
        harness.equal("the peak", json_of("report", trace)["peak"]["allocated"], peaks["allocated"])


def main():
    harness.need_torch()
    for first in ("alloc", "free"):
        check_full(first)
    check_light()
    harness.finish()


main()
