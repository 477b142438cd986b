# SPDX-License-Identifier: Apache-2.0
"""Traces that lack something, given to every command: each answers as before, or says why not, and fails."""
import csv
import datetime
import os
import re
import shutil
import struct
import subprocess
from collections import Counter
from pathlib import Path

HEAD = 48  # of a block, bytes
COMMANDS = {
    "report": ["report", "{}"],
    "report json": ["report", "--format", "json", "{}"],
    "oom": ["oom", "{}"],
    "oom json": ["oom", "--format", "json", "{}"],
    "stacks": ["stacks", "{}"],
    "blocks": ["blocks", "{}"],
    "explain": ["explain", "{}", "{address}"],
    "info": ["info", "{}"],
    "info json": ["info", "--format", "json", "{}"],
    "dump": ["dump", "{}"],
    "top": ["top", "--once", "{}"],
    "view": ["view", "-o", "{o}.html", "{}"],
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
    # these read what their program leaves
    "nightly": ["nightly", "--folder", "{o}.nights", "sh", "{leave}", "{}"],
    "fit": ["fit", "-q", "-s", "h100", "-j", "1", "--vary", "n=1..1", "sh", "{leave}", "{}", "{n}"],
    "fleet": ["fleet", "{o}.fleet"],
}
JUDGES = ("check", "budget", "diff", "diff back", "plan", "nightly", "fit")  # of the whole run: an unknown end is a failure
WORDS = ("missing", "repeated", "comes before block", "another trace", "is damaged", "older than the trace", "its tail begins", "is incomplete", "is truncated in the block", "is a copy of")
OPEN = "the recording was not closed"
NOT_THERE = "this memtap was built without its page", "not installed for", "has no package memtap"
CHANGING = re.compile(r"\d{4}-\d\d-\d\d-\d{6}|\d+\.\d+ m?s\b")


def blocks_of(data):
    """Return what is before the blocks of a trace, and the blocks."""
    at, blocks = struct.unpack_from("<H", data, 10)[0], []
    head = data[:at]
    while at < len(data):
        size = HEAD + struct.unpack_from("<I", data, at + 8)[0]
        blocks.append(data[at:at + size])
        at += size
    return head, blocks


class Readings:
    def __init__(self, memtap, folder, whole, names=COMMANDS):
        """whole: a trace that lacks nothing. names: the commands."""
        self.memtap, self.folder, self.whole = memtap, Path(folder), whole
        self.silent, self.told, self.equal = [], Counter(), Counter()
        self.budget, self.leave = self.folder / "budget.toml", self.folder / "leave.sh"
        self.budget.write_text('[limits]\npeak = "1 TiB"\n')
        self.leave.write_text('for part in "" .tail .0; do [ ! -e "$1$part" ] || cp "$1$part" "$MEMTAP_OUTPUT$part"; done\n')
        (self.folder / "again").mkdir(exist_ok=True)
        events = subprocess.run([memtap, "dump", whole], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False).stdout
        self.address = re.search(r"0x[0-9a-f]{7,}", events)[0]
        said = {name: self.run(name, whole)[1] for name in names if name in ("view", "fleet")}
        self.names = [name for name in names if not any(words in said.get(name, "") for words in NOT_THERE)]

    def run(self, name, path):
        """Return the exit code, and all that the command says and writes, without times and folders named by them."""
        made = path.parent / "made"
        for old in path.parent.glob("made*"):
            shutil.rmtree(old) if old.is_dir() else old.unlink()
        if name == "fleet":
            os.mkdir(f"{made}.fleet")
            for part in path.parent.glob(f"{path.name}*"):
                os.link(part, f"{made}.fleet/{part.name}")
        words = [word.replace("{}", str(path)).replace("{o}", str(made)).replace("{whole}", str(self.whole))
                 .replace("{budget}", str(self.budget)).replace("{leave}", str(self.leave)).replace("{address}", self.address) for word in COMMANDS[name]]
        done = subprocess.run([self.memtap, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=path.parent, timeout=300, check=False)
        said = CHANGING.sub("TIME", " ".join(done.stdout.decode(errors="replace").split()))
        files = [file.read_bytes() for file in sorted(path.parent.glob("made*.csv"))]
        return done.returncode, said, files

    def command(self, i):
        """The command of the i-th reading, in turn; but fleet, which starts Python and DuckDB, in every tenth round."""
        turn, at = divmod(i, len(self.names))
        return self.names[at if self.names[at] != "fleet" or turn % 10 == 0 else turn % (len(self.names) - 1)]

    def says_why(self, name, answer):
        """Return whether an answer that is not the whole trace's says why."""
        code, said, _ = answer
        if name == "recover" and not code:  # the new trace has to say it, unless it is whole
            again = shutil.copy(self.folder / "made.mtap", self.folder / "again/again.mtap")
            return "it is after the end block" in said or any(words in self.run("info", Path(again))[1] for words in (*WORDS, OPEN))
        if OPEN in said or 'state="open"} 1' in said:  # the end is missing, as of a program that was killed
            return code > 0 or name not in JUDGES
        return code > 0 and any(words in said for words in WORDS)

    def read(self, name, kind, path, right):
        """Give a changed trace to a command. right: the answers to the trace as it was, by command."""
        answer = self.run(name, path)
        if answer == right[name]:
            self.equal[name, kind] += 1
        elif self.says_why(name, answer):
            self.told[name, kind] += 1
        else:
            self.silent.append(f"{name}, {kind}: exit code {answer[0]}: {answer[1][:300]}")

    def save(self, path):
        with open(path, "w", newline="") as file:
            rows = csv.writer(file, lineterminator="\n")
            version = subprocess.run([self.memtap, "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout.split()[-1]
            rows.writerow(("command", "change", "readings", "told", "equal", "memtap", "torch", "date"))
            for key in sorted(self.told.keys() | self.equal.keys()):
                row = self.told[key] + self.equal[key], self.told[key], self.equal[key]
                rows.writerow((*key, *row, version, "", datetime.date.today().isoformat()))

    def print(self):
        n = sum(self.told.values()) + sum(self.equal.values()) + len(self.silent)
        print(n, "readings;", sum(self.told.values()), "say what is missing;", sum(self.equal.values()), "answer as before; silent:",
              len(self.silent))
        print(*self.silent[:20], sep="\n")
