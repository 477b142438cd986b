# SPDX-License-Identifier: Apache-2.0
"""Hours of recorded training with random ends, on a simulated card:

    python3 evaluation/soak/soak.py --hours 3 --python .venv/bin/python

- Two ranks train together all the time with --keep 1M, and two more without memtap. Their memory, descriptors
  and threads are sampled; the live traces are read.
- Other pairs of ranks begin and end: by SIGKILL, SIGTERM, SIGINT, an exception, _exit, abort, no memory. Some write to a small
  disk (a tmpfs, which needs root; else they do not) that is filled and freed meanwhile.

Every trace must be readable, recovered or not, and hold each step up to the last one that the program says memtap was
told of, with as many allocations and frees as PyTorch counted. The seed is printed and repeats the random choices.
Exit code 1 where anything was wrong. FOLDER/samples.jsonl has all figures; --save writes a row into evaluation/results/soak.csv."""
import argparse
import bisect
import json
import mmap
import os
import random
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "evaluation"))
import results  # noqa: E402

COUNTS = {"pairs": "pairs", "traces": "traces", "recovered": "recovered", "live": "live traces read", "steps": "steps checked",
          "allocations": "allocations checked", "full_disk": "stopped by a full disk", "lost": "lost", "wrong": "wrong"}
TRAIN = Path(__file__).with_name("train.py")
ENDS = ["KILL", "KILL", "KILL", "KILL", "TERM", "INT", "return", "raise", "_exit", "abort", "oom"]
DISK_BYTES = 16 << 20


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Rank:
    """A process that trains, as a child of the command or of nobody."""

    def __init__(self, soak, name, rank, port, before, options):
        self.soak, self.name, self.rank = soak, f"{name}-{rank}", rank
        self.progress = soak.folder / f"{self.name}.progress"
        self.progress.unlink(missing_ok=True)
        self.errors = open(soak.folder / f"{self.name}.stderr", "w+")
        environment = {**os.environ, "RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": "2",
                       "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
        command = [*before, soak.args.python, TRAIN, self.progress, *options]
        self.process = subprocess.Popen([str(word) for word in command], env=environment, cwd=soak.folder,
                                        stdout=self.errors, stderr=self.errors, start_new_session=True)
        self.map = None

    def words(self):
        """Process id, newest step reported to memtap, newest step; zeros before the first."""
        if not self.map and self.progress.exists() and self.progress.stat().st_size == 24:
            with open(self.progress, "r+b") as file:
                self.map = mmap.mmap(file.fileno(), 24)
        return struct.unpack("qqq", self.map[:]) if self.map else (0, 0, 0)

    def signal(self, number):
        try:
            os.kill(self.words()[0] or self.process.pid, number)
        except ProcessLookupError:
            pass

    def end(self):
        """The command's too, where it has not come as far as training."""
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.wait(60)

    def wait(self, seconds):
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def processes(self):
        groups = subprocess.run(["pgrep", "-g", str(self.process.pid)], capture_output=True, text=True, check=False)
        return groups.stdout.split()

    def cpu_seconds(self):
        ticks = 0
        for pid in self.processes():
            try:
                fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            ticks += int(fields[11]) + int(fields[12])
        return ticks / os.sysconf("SC_CLK_TCK")

    def tell_stacks(self):
        """Where all of its processes' threads stand, in a file: for a look at what has stopped."""
        for pid in self.processes() if shutil.which("gdb") else []:
            with open(self.soak.folder / f"stacks-{self.name}.{pid}", "w") as file:
                for words in (["gdb", "-p", pid, "-batch", "-ex", "thread apply all bt"], ["cat", f"/proc/{pid}/status"]):
                    subprocess.run(words, stdout=file, stderr=file, stdin=subprocess.DEVNULL, check=False)

    def sample(self):
        """What the kernel says of the process, in KiB and numbers."""
        pid, _, step = self.words()
        status = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
        figures = {key: int(status[key].split()[0])
                   for key in ("VmSize", "VmRSS", "RssAnon", "RssFile", "RssShmem", "Threads")}
        return {**figures, "fds": len(os.listdir(f"/proc/{pid}/fd")), "step": step}


class Soak:
    def __init__(self, args, folder):
        self.args, self.folder, self.random = args, folder, random.Random(args.seed)
        self.log = open(folder / "samples.jsonl", "w", buffering=1)
        self.begin = time.monotonic()
        self.samples = {}
        self.counts = {"pairs": 0, "traces": 0, "recovered": 0, "steps checked": 0, "allocations checked": 0,
                       "events": 0, "lost": 0, "disk filled": 0, "stopped by a full disk": 0,
                       "steps on a full disk": 0,
                       "live traces read": 0, "wrong": 0}
        self.ends = dict.fromkeys(ENDS, 0)
        self.number = 0
        self.steady = self.control = []
        self.disk = folder / "disk"
        self.disk.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", self.disk],
                                 capture_output=True).returncode == 0
        self.has_disk = mounted
        self.tell(seed=args.seed, small_disk=mounted)

    def tell(self, **what):
        print(json.dumps({"s": round(time.monotonic() - self.begin), **what}), file=self.log)

    def wrong(self, what, *ranks):
        self.counts["wrong"] += 1
        for rank in ranks:
            rank.errors.seek(0)
            what += f"\n[{rank.name}] {rank.errors.read()[-2000:]}"
        print(f"WRONG: {what}", flush=True)
        self.tell(wrong=what)

    def over(self):
        return time.monotonic() - self.begin > self.args.hours * 3600

    def memtap(self, *words):
        done = subprocess.run([str(self.args.memtap), *map(str, words)], capture_output=True, text=True,
                              errors="replace", cwd=self.folder)
        return done.returncode, done.stdout, done.stderr

    def start_pair(self, name, before, *options):
        port = free_port()
        return [Rank(self, name, rank, port, before, options) for rank in range(2)]

    def recorded(self, trace, *options):
        return [self.args.memtap, "run", "--simulate", "h100", "--gpus", 2, *options, "-o", trace, "--"]

    # The steady ones

    def start_steady(self):
        options = ["--pause", 0.25, "--mark-every", 20]
        self.steady = self.start_pair("steady", self.recorded(self.folder / "steady-%r.mtap", "--keep", "1M"), *options)
        self.control = self.start_pair("control", [self.args.memtap, "simulate", "--gpus", 2, "--"], *options)

    def sample_steady(self):
        for rank in self.steady + self.control:
            if rank.wait(0) is not None:
                if rank.rank >= 0:
                    self.wrong(f"{rank.name} has ended", rank)
                    rank.rank = -1
                continue
            if rank.words()[0]:
                figures = rank.sample()
                self.samples.setdefault(rank.name, []).append(figures)
                self.tell(sample=rank.name, **figures)

    def read_steady(self):
        for rank in range(2):
            trace = self.folder / f"steady-{rank}.mtap"
            if not trace.exists():
                continue
            code, out, error = self.memtap("report", trace)
            self.counts["live traces read"] += 1
            if code or "Peak of device" not in out:
                self.wrong(f"report of the live {trace.name}: exit code {code}: {error}{out[:300]}")

    # A trace against what the program says

    def check_trace(self, trace, rank, may_stop):
        code, out, error = self.memtap("info", "--format", "json", trace)
        if code:
            return self.wrong(f"info {trace.name}: exit code {code}: {error}", rank)
        info = json.loads(out)
        self.counts["traces"] += 1
        self.counts["events"] += info["events"]
        self.counts["lost"] += info["lost"]
        stopped = may_stop and info["state"] == "stopped"
        self.counts["stopped by a full disk"] += stopped
        if info["lost"] and not may_stop:
            self.wrong(f"{trace.name}: {info['lost']} events lost", rank)
        self.check_steps(trace, rank, stopped, may_stop, info["lost"])
        if self.random.random() < 0.5 and info["state"] != "closed":
            self.recover(trace, info, rank)
        code, out, error = self.memtap("report", trace)
        if code or "Peak of device" not in out:
            self.wrong(f"report {trace.name}: exit code {code}: {error}{out[:300]}", rank)
        return None

    def recover(self, trace, before, rank):
        code, _, error = self.memtap("recover", trace)
        if code and shutil.disk_usage(trace.parent).free < 1 << 20:
            return  # there is no room for it
        code_then, out, _ = self.memtap("info", "--format", "json", trace)
        then = json.loads(out) if not code_then else {}
        is_whole = then and (then["state"] == "closed" or then["ended"]["how"] == "stopped")  # a full disk: it lacks its end
        if code or not is_whole or then["events"] != before["events"]:
            self.wrong(f"recover {trace.name}: exit code {code}: {error}; {before['events']} events before; "
                       f"info then: {out[:300]}", rank)
        self.counts["recovered"] += 1

    def check_steps(self, trace, rank, stopped, may_stop, lost):
        marks, made, freed, names = [], [], [], {}
        dump = subprocess.Popen([str(self.args.memtap), "dump", "--format", "json", str(trace)],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace")
        for line in dump.stdout:
            if line.startswith('{"record":"string"') and '"text":"step ' in line:
                record = json.loads(line)
                names[record["id"]] = record["text"]
            elif line.startswith('{"record":"range_push"'):
                record = json.loads(line)
                if record["name"] in names:
                    marks.append((record["time_ns"], names[record["name"]]))
            elif line.startswith('{"record":"alloc"'):
                made.append(json.loads(line)["time_ns"])
            elif line.startswith('{"record":"free"'):
                freed.append(json.loads(line)["time_ns"])
        error = dump.stderr.read()
        if dump.wait():
            return self.wrong(f"dump {trace.name}: exit code {dump.returncode}: {error}", rank)
        marks = sorted({mark: None for mark in marks})
        made.sort()
        freed.sort()
        steps = [(when, *map(int, text[5:].replace(":", "").split())) for when, text in marks]
        _, told, _ = rank.words()
        may_lack = lost if may_stop else 0
        if not stopped and not may_lack and (not steps or steps[-1][1] < told):
            self.wrong(f"{trace.name}: ends at step {steps[-1][1] if steps else None} of {told}", rank)
        for (begin, step, a, f), (end, following, a_then, f_then) in zip(steps, steps[1:]):
            self.counts["steps checked"] += 1
            self.counts["allocations checked"] += a_then - a
            got = [bisect.bisect(times, end) - bisect.bisect(times, begin) for times in (made, freed)]
            lacks = [a_then - a - got[0], f_then - f - got[1]]
            if following != step + 1 or any(lacks):
                if min(lacks) >= 0 and sum(lacks) <= may_lack:  # lost on a full disk, and counted
                    self.counts["steps on a full disk"] += 1
                    may_lack -= sum(lacks)
                    continue
                return self.wrong(f"{trace.name}: step {step} to {following} has {got} allocations and frees, but should "
                                  f"have {[a_then - a, f_then - f]}", rank)
        return None

    # Pairs that end

    def pair(self):
        rng = self.random
        self.number += 1
        self.counts["pairs"] += 1
        on_disk = self.has_disk and rng.random() < 0.4
        folder = self.disk if on_disk else self.folder
        keep = rng.choice(["1M", "2M", "all"])
        stacks = rng.choice(["python", "python", "both", "none"])
        end = rng.choice(ENDS)
        lasts, fills_after, frees_after = rng.uniform(1, 12), rng.uniform(0, 6), rng.uniform(0.1, 4)
        who = rng.choice([0, 1])
        steps = [] if end.isupper() else ["--steps", rng.randrange(5, 150), "--end", end]
        self.ends[end] += 1
        name = f"pair{self.number}"
        pair = self.start_pair(name, self.recorded(folder / f"{name}-%r.mtap", "--keep", keep, "--stacks", stacks),
                               "--pause", 0.02, "--seed", self.number, *steps)
        self.tell(pair=self.number, end=end, keep=keep, stacks=stacks, small_disk=on_disk)
        if self.until_training(pair):
            filled = on_disk and self.fill(pair, fills_after, frees_after)
            if end.isupper():
                time.sleep(lasts)
                pair[who].signal(getattr(signal, "SIG" + end))
            self.await_ends(pair)
            for rank in pair:
                trace = folder / f"{rank.name}.mtap"
                if trace.exists():
                    self.check_trace(trace, rank, filled)
                else:
                    self.wrong(f"{rank.name} left no trace", rank)
        for rank in pair:
            rank.end()
            rank.errors.close()
        for path in [*self.folder.glob(f"{name}-*"), *self.disk.glob("*")]:
            path.unlink(missing_ok=True)

    def until_training(self, pair):
        had, since = 0, time.monotonic()
        while not all(rank.words()[2] for rank in pair):
            has = sum(rank.cpu_seconds() for rank in pair)
            if has > had:  # a busy machine takes its time: importing PyTorch took 240 s of it once
                had, since = has, time.monotonic()
            stands = time.monotonic() - since > 240 or had > 240
            has_ended = any(rank.wait(0) is not None for rank in pair)
            if has_ended and all(rank.words()[0] for rank in pair):
                return True  # its few steps are over
            if has_ended or stands:
                self.wrong("a pair did not begin", *pair)
                for rank in pair:
                    rank.tell_stacks()
                return False
            time.sleep(0.2)
        return True

    def fill(self, pair, fills_after, frees_after):
        """Leaves no room on the small disk for some seconds. Whether it was so while the programs ran, which must go on."""
        time.sleep(fills_after)
        filler = self.disk / "filler"
        try:
            with open(filler, "wb", buffering=0) as file:
                while file.write(b"x" * 65536):
                    pass
        except OSError:
            pass
        self.counts["disk filled"] += 1
        before = [rank.words()[2] for rank in pair]
        time.sleep(frees_after)
        until = time.monotonic() + 60
        while any(rank.wait(0) is None and rank.words()[2] == step for rank, step in zip(pair, before)):
            if any(rank.wait(0) is not None for rank in pair):
                break
            if time.monotonic() > until:
                self.wrong("a full disk stopped the program", *pair)
                break
            time.sleep(0.2)
        filler.unlink()
        return True

    def await_ends(self, pair):
        """One has ended, or will; the other then waits for it in NCCL, as ranks do."""
        until = time.monotonic() + 90
        while all(rank.wait(0) is None for rank in pair):
            if time.monotonic() > until:
                self.wrong("a pair does not end", *pair)
                break
            time.sleep(0.2)
        for rank in pair:
            if rank.wait(3) is None:
                rank.signal(signal.SIGKILL)
                self.ends["KILL"] += 1
                rank.wait(60)

    # All

    def run(self):
        self.start_steady()
        while not self.over():
            self.sample_steady()
            self.read_steady()
            self.pair()
            time.sleep(self.args.pause)
        self.sample_steady()
        for rank in self.steady:
            rank.signal(signal.SIGKILL)
            rank.wait(60)
            self.check_steady(rank)
    def check_steady(self, rank):
        """As any other, but for its marks, which come with each 20th step."""
        trace = self.folder / f"{rank.name}.mtap"
        code, out, error = self.memtap("info", "--format", "json", trace)
        if code or json.loads(out)["lost"]:
            return self.wrong(f"info {trace.name}: exit code {code}: {error}{out[:200]}", rank)
        self.tell(steady=rank.name, step=rank.words()[2], info=json.loads(out))
        return None

    def table(self):
        """The medians of the run's quarters: what grows shows."""
        print(f"\n{'':22}" + "".join(f"{f'quarter {n}':>12}" for n in range(1, 5)))
        for name, samples in self.samples.items():
            for key in ("VmRSS", "RssAnon", "RssShmem", "VmSize", "Threads", "fds", "step"):
                quarters = [sorted(s[key] for s in samples[n * len(samples) // 4:(n + 1) * len(samples) // 4] or samples)
                            for n in range(4)]
                print(f"{name:10} {key:10} " + "".join(f"{q[len(q) // 2]:12,}" for q in quarters))
                # The first quarter has the start in it.
                if key in ("Threads", "fds") and len(samples) > 40 and quarters[3][-1] > quarters[1][-1]:
                    self.wrong(f"{name}: {key} grows: {quarters[1][-1]}, {quarters[3][-1]}")
        print("\n" + "\n".join(f"{value:12,}  {what}" for what, value in self.counts.items()))
        print("ends: " + ", ".join(f"{value} {what}" for what, value in self.ends.items()), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hours", type=float, default=3)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    parser.add_argument("--pause", type=float, default=5, help="seconds between two pairs")
    parser.add_argument("--folder", type=Path, help="where all files go; by default a temporary one")
    parser.add_argument("--save", action="store_true")
    parser.add_argument("--memtap", type=Path, default=ROOT / "build" / "tools" / "memtap")
    parser.add_argument("--python", default=os.environ.get("MEMTAP_TEST_PYTHON", ROOT / ".venv" / "bin" / "python"))
    args = parser.parse_args()
    found = shutil.which(args.python)
    if not found:
        parser.error(f"no Python at {args.python}; give one that has PyTorch's CUDA build by --python")
    args.python = os.path.abspath(found)  # the ranks run in another folder
    folder = args.folder or Path(tempfile.mkdtemp(prefix="memtap-soak-"))
    folder.mkdir(exist_ok=True)
    os.nice(19 - os.nice(0))
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it, and so would their children
    print(f"seed {args.seed}, {args.hours} hours, in {folder}", flush=True)
    soak = Soak(args, folder.resolve())
    try:
        soak.run()
    finally:
        for rank in soak.steady + soak.control:
            rank.end()
        if soak.has_disk:
            subprocess.run(["umount", soak.disk], check=False)
    soak.table()
    if args.save:
        row = [args.seed, round(60 * args.hours), *(soak.counts[what] for what in COUNTS.values())]
        results.save("soak", ["seed", "minutes", *COUNTS], [row], args.memtap, args.python)
    sys.exit(1 if soak.counts["wrong"] else 0)


if __name__ == "__main__":
    main()
