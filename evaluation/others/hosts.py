# SPDX-License-Identifier: Apache-2.0
"""Runs programs that are hard hosts, each in many surroundings, without memtap's library and with it:

    python3 evaluation/others/hosts.py [--build build] [--only REGEX] [--save]

The programs are those of tests/shim: they jump, fork, cancel, limit and end themselves in all ways. Exit code, signal and output must
be the same, no run may hang, and each trace must be readable. A difference is run three times more, each way: where the program
is not the same each time without memtap either, it is flaky. Root, faketime and gcc's libasan let it do everything."""
import argparse
import collections
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "evaluation"))
import results  # noqa: E402

LIMIT_S = 120

PROGRAMS = {  # family: commands; "~" before one whose output is not the same each time
    "threads": ["alloc-threads 2 1000", "alloc-threads 8 200", "moved-stacks", "cancelled", "main-ends"],
    "ends": [f"alloc-threads 2 1000 {how}" for how in ("_exit", "abort", "interrupt")]
    + ["becomes quick_exit", "survives abort", "survives init"],
    "exec and fork": [f"becomes {how}" for how in ("execve", "execl", "fails", "vfork", "daemon")]
    + ["fork-child plain", "fork-child cuda", "fork-child bare", "fork-child handler", "fork-loading", "fork-loading first"],
    "jumps": ["~jumps hook", "~jumps cancel", "~jumps arena"] + [f"jumps {how}" for how in ("call", "exit", "coroutine", "elsewhere")],
    "restrictions": [f"survives {how}" for how in ("filter", "strict", "trapped", "user", "enters", "clock", "exceptions")],
}


def shell(text):
    return ["sh", "-c", text + '; exec "$@"', "sh"]


def find_asan():
    done = subprocess.run(["gcc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.stdout.startswith("/") else ""


def surroundings(args):
    """Name -> words before the command, variables, what is preloaded before the library, and after it."""
    places = {"as it is": ([], {}, "", "")}
    for name, variables in {
        "no stacks": {"MEMTAP_STACKS": "none"},
        "native stacks": {"MEMTAP_STACKS": "native"},
        "both stacks": {"MEMTAP_STACKS": "both"},
        "keep 1M": {"MEMTAP_KEEP": "1M"},
        "no thread": {"MEMTAP_THREAD": "0"},
        "no folder": {"MEMTAP_OUTPUT": "no/such/folder/t.mtap"},
        "to a device": {"MEMTAP_OUTPUT": "/dev/null"},
        "bound at once": {"LD_BIND_NOW": "1"},
    }.items():
        places[name] = ([], variables, "", "")
    for name, text in {
        "no standard error": "exec 2>&-",
        "nothing open": "exec 0<&- 2>&-",
        "stack of 256 KiB": "ulimit -s 256",
        "24 descriptors": "ulimit -n 24",
        "files of 32 KiB": "ulimit -f 64",
        "4 GiB of addresses": "ulimit -v 4194304",
    }.items():
        places[name] = (shell(text), {}, "", "")
    places["one processor"] = (["taskset", "-c", "0"], {}, "", "")
    places["same addresses"] = (["setarch", "-R"], {}, "", "")
    if os.geteuid() == 0:
        places["another clock"] = (["unshare", "--time", "--monotonic", "9999999", "--boottime", "9999999", "--fork"], {}, "", "")
        places["a full disk"] = (["unshare", "--mount", *shell("mkdir -p full; mount -t tmpfs -o size=16k none full; cd full")],
                                 {"MEMTAP_OUTPUT": "t.mtap"}, "", "")
        places["another user"] = (["setpriv", "--reuid", "65534", "--clear-groups"], {}, "", "")
    faketime = Path("/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1")
    if faketime.exists():
        for name, value in {"time stands": "2020-01-01 00:00:00", "time jumps": "+3000d x1000"}.items():
            places[name] = ([], {"FAKETIME": value, "FAKETIME_DONT_RESET": "1"}, str(faketime), "")
    asan = find_asan()
    if asan:
        options = {"ASAN_OPTIONS": "detect_leaks=0:verify_asan_link_order=0:handle_segv=0:handle_abort=0"}
        places["ASan before"] = ([], options, asan, "")
        places["ASan after"] = ([], options, "", asan)
    return places


class Hosts:
    def __init__(self, args, folder):
        self.args, self.folder = args, folder
        self.shim = args.build / "preload" / "libmemtap.so"
        self.memtap = args.build / "tools" / "memtap"
        self.unreadable = []
        self.traces = 0

    def run(self, command, place, with_shim):
        before, variables, first, last = place
        words = command.lstrip("~").split()
        words[0] = str(self.args.build / "tests" / "shim" / words[0])
        folder = Path(tempfile.mkdtemp(dir=self.folder))
        folder.chmod(0o777)
        preload = [text for text in (first, str(self.shim) if with_shim else "", last) if text]
        environment = {**os.environ, "LD_LIBRARY_PATH": str(self.args.build / "tests" / "shim"), "MEMTAP_QUIET": "1", **variables}
        words = [*before, "env", *([f"LD_PRELOAD={':'.join(preload)}"] if preload else []), *words]
        process = subprocess.Popen(words, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.DEVNULL, start_new_session=True)
        try:
            output = process.communicate(timeout=LIMIT_S)[0]
            ends = process.returncode
        except subprocess.TimeoutExpired:
            output, ends = b"", "hangs"
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()
        for trace in folder.glob("**/*.mtap"):
            self.traces += 1
            if subprocess.run([self.memtap, "info", trace], capture_output=True, check=False).returncode:
                self.unreadable.append((command, trace.name, trace.stat().st_size))
        shutil.rmtree(folder, ignore_errors=True)
        return ends, b"" if command.startswith("~") else output

    def compare(self, command, name, place):
        """"", "flaky" or "HARM", and what was seen."""
        without, with_shim = [self.run(command, place, False)], [self.run(command, place, True)]
        if without == with_shim:
            return "", without
        for _ in range(3):
            without.append(self.run(command, place, False))
            with_shim.append(self.run(command, place, True))
        verdict = "flaky" if set(without) & set(with_shim) and len(set(without)) > 1 else "HARM"
        return verdict, (without, with_shim)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--only", default="", metavar="REGEX", help="families, programs or surroundings")
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--at-once", type=int, default=2)
    parser.add_argument("--save", action="store_true", help="write a row for each family into evaluation/results/hosts.csv")
    args = parser.parse_args()
    if args.save and args.only:
        parser.error("--save writes whole families; leave --only away")
    args.build = args.build.resolve()
    folder = Path(tempfile.mkdtemp(prefix="memtap-hosts-", dir=args.folder))
    folder.chmod(0o755)
    hosts = Hosts(args, folder)
    cases = [
        (family, command, name, place)
        for family, commands in PROGRAMS.items()
        for command in commands
        for name, place in surroundings(args).items()
        if re.search(args.only, f"{family} / {command} / {name}")
    ]
    table = collections.defaultdict(collections.Counter)
    with ThreadPoolExecutor(args.at_once) as pool:
        for (family, command, name, _), (verdict, seen) in zip(cases, pool.map(lambda case: hosts.compare(*case[1:]), cases)):
            table[family][verdict] += 1
            if verdict:
                print(f"{verdict:5} {command} / {name}: {seen}", flush=True)
    rows = [[family, len(PROGRAMS[family]), counts.total(), counts["HARM"], counts["flaky"]] for family, counts in table.items()]
    for row in rows:
        print("{:15} {:3} programs {:4} runs {:3} other results {:3} flaky".format(*row))
    if args.save:
        results.save("hosts", ["family", "programs", "runs", "differ", "flaky"], rows, hosts.memtap, sys.executable)
    harmed = sum(counts["HARM"] for counts in table.values())
    print(f"{len(cases)} programs x surroundings, {harmed} other results; {hosts.traces} traces, unreadable: {hosts.unreadable}")
    shutil.rmtree(folder, ignore_errors=True)
    sys.exit(bool(harmed or hosts.unreadable))


main()
