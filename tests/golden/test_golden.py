# SPDX-License-Identifier: Apache-2.0
"""test_golden.py MEMTAP MAKE-GOLDEN TRACE... [--compact COPY...]: memtap dump says of each TRACE.mtap what
TRACE.txt has, and this version still writes the last of them; reports of all COPYs are the same. --record: writes the last one anew, for a version of
the format that was not released yet, and what memtap dump says now."""
import json
import subprocess
import sys
import tempfile
from pathlib import Path

record = "--record" in sys.argv
words = [word for word in sys.argv[1:] if word != "--record"]
end = words.index("--compact") if "--compact" in words else len(words)
memtap, make_golden, *traces = words[:end]
copies = words[end + 1:]


def dump(trace):
    return subprocess.run([memtap, "dump", trace], stdout=subprocess.PIPE, text=True,
                          check=True).stdout


def report(copy):
    found = json.loads(subprocess.run([memtap, "report", "--format", "json", copy], stdout=subprocess.PIPE,
                                      check=True).stdout)
    return {name: value for name, value in found.items() if name not in ("trace", "bytes")}


newest = Path(traces[-1])
if record:
    subprocess.run([make_golden, newest], check=True)
    for trace in traces:
        Path(trace).with_suffix(".txt").write_text(dump(trace))
wrong = [trace for trace in traces if dump(trace) != Path(trace).with_suffix(".txt").read_text()]
with tempfile.TemporaryDirectory() as folder:
    written = Path(folder) / "now.mtap"
    subprocess.run([make_golden, written], check=True)
    if dump(written) != newest.with_suffix(".txt").read_text():
        wrong.append(f"what is written now is not as {newest.name}: ninja record-golden")
for trace in traces:
    for words in ["report"], ["info"], ["oom"], ["stacks"], ["dump"], ["diff", trace], ["check", trace, "--against"]:
        said = subprocess.run([memtap, *words, trace], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False).stdout
        if ("missing blocks cannot be detected" in " ".join(said.split())) == (trace == traces[-1]):
            wrong.append(f"{words[0]} of {trace} says whether missing blocks can be noticed")
wrong += [copy for copy in copies if report(copy) != report(copies[0])]
print(len(traces), "traces; wrong:", *wrong)
sys.exit(bool(wrong) or not traces)
