# SPDX-License-Identifier: Apache-2.0
"""test_gaps.py MEMTAP MAKE-C-RUN [READINGS [CSV]]: every command on a trace from which one block was removed, that has one twice
or two exchanged, or one of another trace, all with right checksums: it answers as before, or says why not, and fails."""
import csv
import datetime
import random
import struct
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

memtap, make_run, *rest = sys.argv[1:]
memtap, make_run = Path(memtap).resolve(), Path(make_run).resolve()
readings = int(rest[0]) if rest else 150
HEAD = 48
WORDS = ("missing", "repeated", "comes before block", "another trace", "is damaged")
OPEN = "the recording was not closed"
COMMANDS = {
    "report": ["report", "{}"],
    "report json": ["report", "--format", "json", "{}"],
    "oom": ["oom", "{}"],
    "oom json": ["oom", "--format", "json", "{}"],
    "stacks": ["stacks", "{}"],
    "blocks": ["blocks", "{}"],
    "info": ["info", "{}"],
    "info json": ["info", "--format", "json", "{}"],
    "dump": ["dump", "{}"],
    "check": ["check", "--budget", "{budget}", "{}"],
    "budget": ["budget", "{}"],
    "diff": ["diff", "{whole}", "{}"],
    "diff back": ["diff", "{}", "{whole}"],
    "plan": ["plan", "{}"],
    "export": ["export", "-f", "csv", "-o", "{o}.csv", "{}"],
    "metrics": ["metrics", "{}"],
    "compact": ["compact", "-o", "{o}.mtap", "{}"],
    "recover": ["recover", "-o", "{o}.mtap", "{}"],
    "symbolize": ["symbolize", "-o", "{o}.mtap", "{}"],
    "history": ["history", "add", "--db", "{o}.db", "{}"],
}


def blocks_of(data):
    at, blocks = struct.unpack_from("<H", data, 10)[0], []
    head = data[:at]
    while at < len(data):
        size = HEAD + struct.unpack_from("<I", data, at + 8)[0]
        blocks.append(data[at:at + size])
        at += size
    return head, blocks


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


def run(name, path, folder):
    """Return the exit code, and all that the command says and writes, without the names of files and sizes of the trace."""
    made = folder / "made"
    for old in folder.glob("made*"):
        old.unlink()
    words = [word.format(path, o=made, whole=whole, budget=budget) for word in COMMANDS[name]]
    done = subprocess.run([memtap, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=folder, timeout=60)
    said = " ".join(done.stdout.decode(errors="replace").split())
    files = [file.read_bytes() for file in sorted(folder.glob("made*")) if file.suffix == ".csv"]
    return done.returncode, said, files


def say_why(name, code, said, path):
    """Return whether an answer that is not the whole trace's says why."""
    if name == "recover" and not code:  # the new trace has to say it, unless it is whole
        return "it is after the end block" in said or any(word in run("info", folder / "made.mtap", folder / "again")[1] for word in (*WORDS, OPEN))
    if (OPEN in said or 'state="open"} 1' in said) and (name != "check" or code):  # the end is missing, as of a program that was killed
        return True
    return code > 0 and any(word in said for word in WORDS)


random_ = random.Random(4711)
silent, told, equal = [], Counter(), Counter()
with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    (folder / "again").mkdir()
    whole, budget, path = folder / "whole.mtap", folder / "b.toml", folder / "t.mtap"
    sources = []
    for seed in range(4):
        subprocess.run([make_run, path, "1200", str(seed), "100"], check=True)
        sources.append(path.read_bytes())
    whole.write_bytes(sources[0])
    made = subprocess.run([memtap, "budget", whole], stdout=subprocess.PIPE, check=True)
    budget.write_bytes(made.stdout)
    head, blocks = blocks_of(sources[0])
    others = blocks_of(sources[1])[1]
    names = list(COMMANDS)
    path.write_bytes(sources[0])
    right = {command: run(command, path, folder) for command in names}
    for command, (code, said, _) in right.items():
        if code == 2 and command not in ("oom", "oom json", "plan"):
            silent.append(f"{command} of the whole trace: {said}")
    for i in range(readings):
        command = names[i % len(names)]
        kind, changed = change(random_, blocks, others)
        path.write_bytes(head + b"".join(changed))
        answer = run(command, path, folder)
        if changed == blocks or answer == right[command]:
            equal[command, kind] += 1
        elif say_why(command, answer[0], answer[1], path):
            told[command, kind] += 1
        else:
            silent.append(f"{command}, {kind}: exit code {answer[0]}: {answer[1][:300]}")
if len(rest) > 1:
    with open(rest[1], "w", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        version = subprocess.run([memtap, "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout.split()[-1]
        rows.writerow(("command", "change", "readings", "told", "equal", "memtap", "torch", "date"))
        for key in sorted(told.keys() | equal.keys()):
            rows.writerow((*key, told[key] + equal[key], told[key], equal[key], version, "", datetime.date.today().isoformat()))
print(readings, "readings;", sum(told.values()), "say what is missing;", sum(equal.values()), "answer as before; silent:", len(silent))
print(*silent[:20], sep="\n")
sys.exit(bool(silent))
