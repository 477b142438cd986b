# SPDX-License-Identifier: Apache-2.0
"""Attach to running programs, and detach, at random moments:

    python3 evaluation/attach/campaign.py --times 200 --build build --python .venv/bin/python [--only KIND] [--save]

Each program (hosts.py, and tests/shim/busy.c) checks its own results; it must end with 0. In half of the turns memtap is killed by
SIGKILL at a random moment of its attach, and the next one completes or repeats it. Every trace must be complete. The seed is printed and
repeats the random choices. Exit code 1 where anything was wrong; --save writes a row for each kind into evaluation/results/attach.csv."""
import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "evaluation"))
import results  # noqa: E402

KINDS = ["busy", "trainer", "threads", "imports", "forks", "workers", "sleeper", "ranks"]
COLUMNS = ["kind", "attached", "killed", "refused", "traces", "wrong", "median_stop_ms", "longest_stop_ms"]


class Campaign:
    def __init__(self, args, kind):
        self.args, self.kind = args, kind
        self.memtap = args.build / "tools/memtap"
        self.counts = dict.fromkeys(COLUMNS[1:6], 0)
        self.stops = []

    def wrong(self, *what):
        self.counts["wrong"] += 1
        print(f"{self.kind}:", *what, flush=True)

    def start(self, folder):
        environment = {**os.environ, "LD_LIBRARY_PATH": str(self.args.build / "tests/shim")}
        command = [self.args.build / "tests/shim/busy"]
        if self.kind != "busy":
            command = [self.memtap, "simulate", "--gpu", "h100", "--gpus", 2, "--", self.args.python,
                       Path(__file__).with_name("hosts.py"), self.kind]
            environment = dict(os.environ)
        out = open(folder / "out", "w+")
        process = subprocess.Popen([str(word) for word in command], cwd=folder, env=environment, stdout=out, stderr=out)
        while self.kind != "busy" and "ready" not in (folder / "out").read_text() and process.poll() is None:
            time.sleep(0.05)
        words = (folder / "out").read_text().split()
        return process, int(words[words.index("ready") + 1]) if "ready" in words else process.pid

    def command(self, folder, *words, kill_after=None):
        command = subprocess.Popen([str(word) for word in (self.memtap, *words)], cwd=folder, text=True, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, env={**os.environ, "MEMTAP_QUIET": "1"})
        if kill_after is not None:
            time.sleep(kill_after)
            command.kill()
        said = command.communicate()[0]
        for line in said.splitlines():
            if " a thread was stopped for at most " in line:
                self.stops.append(float(line.split()[-2]))
        return command.returncode, said

    def attach(self, folder, pid):
        code, said = self.command(folder, "attach", "-v", "-o", "t.mtap", pid)
        if code and "attached already" not in said:
            self.counts["refused"] += 1
            self.wrong("not attached:", said) if "nothing was changed" not in said else None
            return False
        self.counts["attached"] += 1
        return True

    def turn(self, folder, pid):
        time.sleep(random.random() * self.args.pause)
        if random.random() < 0.5:
            self.command(folder, "attach", "-o", "t.mtap", pid, kill_after=random.random() * 0.4)
            self.counts["killed"] += 1
        if not self.attach(folder, pid):
            return
        time.sleep(random.random() * self.args.pause)
        code, said = self.command(folder, "detach", "-v", pid)
        if code:
            self.wrong("not detached:", said)
        for trace in folder.glob("*.mtap"):
            code, said = self.command(folder, "info", trace.name)
            if code or "ended     whole" not in said:
                self.wrong("a trace that does not end:", said)
            self.counts["traces"] += 1
            trace.unlink()

    def run(self):
        with tempfile.TemporaryDirectory() as path:
            folder = Path(path)
            process, pid = self.start(folder)
            for number in range(self.args.times):
                if process.poll() is not None:
                    self.wrong(f"ended with {process.returncode} before turn {number}")
                    break
                self.turn(folder, pid)
            (folder / "end").touch()
            try:
                code = process.wait(timeout=120)
            except subprocess.TimeoutExpired:
                self.wrong("does not end")
                process.kill()
                code = None
            said = (folder / "out").read_text()
            if code or "done" not in said:
                self.wrong(f"ended with {code}:", said[-2000:])
        self.stops.sort()
        stops = [self.stops[len(self.stops) // 2], self.stops[-1]] if self.stops else ["", ""]
        row = [self.kind, *self.counts.values(), *stops]
        print(dict(zip(COLUMNS, row)), flush=True)
        return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=200)
    parser.add_argument("--pause", type=float, default=0.2, help="the longest time between two commands, in seconds")
    parser.add_argument("--build", type=lambda text: Path(text).resolve(), default=ROOT / "build")
    parser.add_argument("--python", type=os.path.abspath, default=sys.executable)
    parser.add_argument("--only", choices=KINDS, action="append")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    parser.add_argument("--save", action="store_true")
    args = parser.parse_args()
    print("seed", args.seed, flush=True)
    random.seed(args.seed)
    rows = [Campaign(args, kind).run() for kind in args.only or KINDS]
    if args.save:
        results.save("attach", COLUMNS, rows, args.build / "tools/memtap", args.python)
    sys.exit(any(row[COLUMNS.index("wrong")] for row in rows))


main()
