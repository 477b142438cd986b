# SPDX-License-Identifier: Apache-2.0
"""What the tests with a real PyTorch share. meson gives MEMTAP, the command to test; a test that
cannot run here ends with exit code 77 and says why."""
import contextlib
import fcntl
import hashlib
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from bisect import bisect_right
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from checks import check, equal, faults, finish

ROOT = Path(__file__).resolve().parents[2]
ZOO = ROOT / "tests" / "zoo"
COUNTERS = Path(__file__).resolve().parent / "counters.py"
MEMTAP = os.environ.get("MEMTAP", str(ROOT / "build" / "tools" / "memtap"))
PYTHON = os.environ.get("MEMTAP_TEST_PYTHON", str(ROOT / ".venv" / "bin" / "python"))
GPU = "h100"
ON_GPU = os.environ.get("MEMTAP_TEST_DEVICE") == "gpu"  # a real one: the suite `gpu`


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


def run(command, **options):
    """The finished process, with its output as text."""
    environment = {**os.environ, **options.pop("env", {})}
    environment = {name: value for name, value in environment.items() if value is not None}
    return subprocess.run([str(word) for word in command], capture_output=True, text=True,
                          errors="replace", env=environment, check=False, **options)


def must_run(command, ends=0, **options):
    """ends: the exit code that it should have."""
    done = run(command, **options)
    if done.returncode != ends:
        print(done.stdout, done.stderr, sep="\n")
        check(False, f"exit code {done.returncode} of: {' '.join(map(str, command))}")
        finish()
    return done


def alone():
    """What stands before a program that runs without memtap."""
    return [] if ON_GPU else [MEMTAP, "simulate", "--gpu", GPU, "--"]


def recorded(trace, *options, gpu=GPU, gpus=1):
    """What stands before a program that memtap records."""
    simulate = [] if ON_GPU else ["--simulate", gpu, "--gpus", gpus]
    return [MEMTAP, "run", *simulate, *options, "-o", trace, "--"]


class Forks:
    """Runs programs that memtap records in children of one process, which has imported PyTorch, and what
    the given ones import: that takes longer than most of them. A trace differs from
    that of a process of its own in two things: the command line, and that the interpreter frees nothing at its end. before: what
    stands before the program, to run it otherwise than recorded. env: what PyTorch reads when it is imported. All tests that ask for
    the same share the process that has imported PyTorch; see forks.py."""

    def __init__(self, *programs, before=None, python=PYTHON, env=None):
        self.folder = folder()
        command = [*(recorded("%p.mtap") if before is None else before), python, Path(__file__).with_name("forks.py")]
        environment = {**os.environ, **(env or {})}
        self.connection = connect([str(word) for word in command], environment)
        self.answers = self.connection.makefile()
        self.say({"programs": [str(Path.cwd() / program) for program in programs], "environment": environment})

    def say(self, asked):
        self.connection.sendall(json.dumps(asked).encode() + b"\n")

    def run(self, trace, program, *arguments, env=None, cwd="."):
        """The exit code, and all that it printed."""
        output = Path(self.folder.name) / "output"
        self.say({"program": str(program), "arguments": [str(word) for word in arguments],
                  "environment": {**(env or {}), "MEMTAP_OUTPUT": str(trace)}, "folder": str(Path(cwd).resolve()),
                  "output": str(output)})
        code = self.answers.readline()
        return int(code or -1), output.read_text(errors="replace") if output.exists() else ""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.answers.close()
        self.connection.close()
        self.folder.cleanup()


def connect(command, environment):
    """A connection to forks.py as this command runs it, which may be there already."""
    built = [Path(path.strip()).stat().st_mtime_ns for path in (MEMTAP, must_run([MEMTAP, "lib"]).stdout)]
    read = sorted(item for item in environment.items() if item[0].startswith(("PYTHON", "PYTORCH", "TORCH", "CUDA", "LD_")))
    key = hashlib.sha256(repr((command, built, read)).encode()).hexdigest()[:16]
    folder = Path(tempfile.gettempdir()) / f"memtap-forks-{os.getuid()}-{key}"
    while True:
        folder.mkdir(mode=0o700, exist_ok=True)
        with contextlib.suppress(FileNotFoundError), open(folder / "lock", "a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            begun = None
            while (folder / "lock").exists():
                with contextlib.suppress(FileNotFoundError, ConnectionRefusedError):
                    connection = socket.socket(socket.AF_UNIX)
                    connection.connect(str(folder / "socket"))
                    return connection
                if not begun:
                    (folder / "socket").unlink(missing_ok=True)
                    with open(folder / "log", "w") as log:
                        begun = subprocess.Popen(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=log,
                                                 stderr=log, start_new_session=True)
                elif begun.poll() is not None:
                    raise RuntimeError(f"{command}: {(folder / 'log').read_text()}")
                time.sleep(0.02)


def page_says(trace):
    """What the page's analyzer says of a trace; None: this build has no page."""
    tools, analyzer = os.environ.get("MEMTAP_PAGE_TOOLS", ""), os.environ.get("MEMTAP_ANALYZER", "")
    if not tools or not analyzer or not Path(analyzer).exists():
        return None
    return json.loads(must_run(["node", ROOT / "tests" / "page" / "ask_analyzer.mjs", tools, analyzer, trace]).stdout)


def marked(program, word, way):
    """The number of the line of a program that has a mark such as "LOOP evaluate"; None: there is none."""
    for number, line in enumerate(program.read_text().splitlines(), 1):
        if re.search(rf"{word} {way}\b", line):
            return number
    return None


def need_gpu():
    done = run([PYTHON, "-c", "import torch; print(torch.cuda.is_available())"])
    if done.stdout.strip() != "True":
        skip(f"{PYTHON} has no PyTorch that finds a GPU here")


# Says what is not there, without the seconds that importing PyTorch takes.
PROBE = """
import os, runpy, sys
from importlib.util import find_spec
def there(module):  # find_spec raises an error where a package of the module is missing
    parent = module.rpartition(".")[0]
    return (not parent or there(parent)) and find_spec(module)
missing = [module for module in sys.argv[1:] if not there(module)]
if missing:
    print("there is no", *missing)
else:
    version = os.path.join(os.path.dirname(find_spec("torch").origin), "version.py")
    print("" if runpy.run_path(version)["cuda"] else "its PyTorch was built without CUDA")
"""


def need_torch(*modules):
    """Skips the test where the Python to test with has no CUDA build of PyTorch, or no module; on a
    real GPU also where there is none."""
    if not os.access(PYTHON, os.X_OK):
        skip(f"no Python at {PYTHON} (tools/test makes it; MEMTAP_TEST_PYTHON names another)")
    if ON_GPU:
        need_gpu()
    lack = must_run([PYTHON, "-c", PROBE, "torch", *modules]).stdout.strip()
    if lack:
        skip(f"{PYTHON}: {lack}")


def has(module):
    return not must_run([PYTHON, "-c", PROBE, "torch", module]).stdout.strip()


def folder():
    """A folder that goes when the test ends: keep the result alive."""
    return tempfile.TemporaryDirectory(prefix="memtap-test-")


class Trace:
    """A trace as `memtap dump` tells it."""

    def __init__(self, path):
        self.events, self.info, self.end = [], {}, None
        done = must_run([MEMTAP, "dump", "--format", "json", path])
        for line in done.stdout.splitlines():
            self.add(json.loads(line))
        self.events.sort(key=lambda event: event["time_ns"])
        self.start = int(self.info["start_monotonic_ns"])

    def add(self, record):
        kind = record["record"]
        if kind == "info":
            key, _, value = record["text"].partition("=")
            self.info[key] = value
        elif kind == "end":
            self.end = record
        elif "time_ns" in record:
            self.events.append(record)

    def of(self, *kinds):
        return [event for event in self.events if event["record"] in kinds]


def fork(trace, program, *arguments, gpu=GPU, before=None, ends=0, env=None, **options):
    """What a program printed that memtap recorded, in a child of Forks: where its process's begin and end do not matter. gpu: the card
    that it finds. before: as Forks has it. ends: the exit code that it should have."""
    with Forks(before=before) as forks:
        code, output = forks.run(trace, program, *arguments, env=on_card(gpu) | (env or {}), **options)
    if not equal(f"exit code of {program}", code, ends):
        print(output)
        finish()
    return output


def on_card(gpu):
    """What a program of Forks reads to find another card, at its first call of CUDA."""
    return {} if gpu == GPU else {"CUDASIM_GPU": gpu}


def record(work, script, *arguments, gpu=GPU, ends=0):
    """Runs a script of the zoo with memtap, up to its exit code: its trace's path, and what
    counters.py logged."""
    trace, log = Path(work) / "trace.mtap", Path(work) / "counters.json"
    trace.unlink(missing_ok=True)
    output = fork(trace, COUNTERS, log, ZOO / script, *arguments, gpu=gpu, ends=ends)
    print(output)
    return trace, read_phases(log, output.splitlines())


def record_ranks(work, script, ranks, *arguments):
    """The same with torchrun and a card for each rank: a list with what record() returns."""
    command = [*recorded(Path(work) / "trace-%r.mtap", gpus=ranks), PYTHON, "-m",
               "torch.distributed.run", "--standalone", "--nproc-per-node", ranks, COUNTERS,
               Path(work) / "counters-%r.json", ZOO / script, *arguments]
    done = must_run(command)
    print(done.stdout)
    print(done.stderr)
    result = []
    for rank in range(ranks):
        # Ranks write to one stream: a line may begin where another rank's should have ended.
        lines = re.findall(rf"rank {rank} [^:\n]+: allocated=", done.stdout)
        log = Path(work) / f"counters-{rank}.json"
        result.append((Path(work) / f"trace-{rank}.mtap", read_phases(log, lines)))
    return result


def read_phases(log, lines):
    """What counters.py logged, with the names of the phases from what the script printed."""
    phases = [json.loads(line) for line in log.read_text().splitlines()]
    names = [line.split(":")[0] for line in lines if "allocated=" in line]
    check(len(names) == len(phases) > 0, "the script logs its counters at each phase")
    for name, phase in zip(names, phases):
        phase["name"] = name
    return phases


def last_before(events, time_ns):
    """The index of the last event up to a time, or -1; events are in order."""
    return bisect_right([event["time_ns"] for event in events], time_ns) - 1
