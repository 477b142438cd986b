# SPDX-License-Identifier: Apache-2.0
"""test_gaps.py MEMTAP MAKE-C-RUN [READINGS [CSV]]: every command on a trace from which one block was removed, that has one twice
or two exchanged, or one of another trace, all with right checksums: it answers as before, or says why not, and fails."""
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))
from gaps import Readings, blocks_of

memtap, make_run, *rest = sys.argv[1:]
memtap, make_run = Path(memtap).resolve(), Path(make_run).resolve()
readings = int(rest[0]) if rest else 150
if "ASAN_OPTIONS" in os.environ:  # each takes ten times as long
    readings //= 3


def change(random_, blocks, others):
    """Return a name and other blocks."""
    blocks, n = list(blocks), len(blocks)
    at = random_.randrange(n)
    kind = random_.choice(("remove", "remove some", "repeat", "repeat later", "exchange", "of another", "insert another"))
    if kind == "remove":
        del blocks[at]
    elif kind == "remove some":
        del blocks[at:at + random_.randrange(2, 6)]
    elif kind == "repeat":
        blocks.insert(at, blocks[at])
    elif kind == "repeat later":
        blocks[random_.randrange(n)] = blocks[at]
    elif kind == "exchange":
        other = random_.randrange(n)
        blocks[at], blocks[other] = blocks[other], blocks[at]
    elif kind == "of another":
        blocks[min(at, len(others) - 1)] = others[min(at, len(others) - 1)]
    else:
        blocks.insert(at, random_.choice(others))
    return kind, blocks


random_ = random.Random(4711)
with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    whole, path = folder / "whole.mtap", folder / "t.mtap"
    sources = []
    for seed in range(4):
        subprocess.run([make_run, path, "1200", str(seed), "100"], check=True)
        sources.append(path.read_bytes())
    whole.write_bytes(sources[0])
    path.write_bytes(sources[0])
    gaps = Readings(memtap, folder, whole)
    right = {command: gaps.run(command, path) for command in gaps.names}
    for command, (code, said, _) in right.items():
        if code == 2 and command not in ("oom", "oom json", "plan", "top"):
            gaps.silent.append(f"{command} of the whole trace: {said}")
    head, blocks = blocks_of(sources[0])
    others = blocks_of(sources[1])[1]
    for i in range(readings):
        command = gaps.command(i)
        kind, changed = change(random_, blocks, others)
        path.write_bytes(head + b"".join(changed))
        gaps.read(command, kind, path, right)
    gaps.print()
    if len(rest) > 1:
        gaps.save(rest[1])
sys.exit(bool(gaps.silent))
