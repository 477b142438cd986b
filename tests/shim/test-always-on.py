# SPDX-License-Identifier: Apache-2.0
"""test-always-on.py MEMTAP SHIM ALLOC-THREADS: what examples/always-on has does what it says. The systemd unit is valid, and its command
records; the pod's metrics are those of the newest run, after a restart too; the Slurm prolog has a task record, and removes old traces.
Folders and the job are replaced by ours, and nothing else. And memtap save copies what a program has recorded that does without memtap's
thread and has too few events for a turn."""
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))
from checks import check, finish, until

memtap, shim, job = (os.path.abspath(path) for path in sys.argv[1:])
examples = Path(__file__).parents[2] / "examples/always-on"


def is_recorded(traces, allocations):
    if len(traces) != 1:
        return False
    said = json.loads(subprocess.run([memtap, "info", "--format", "json", traces[0]], capture_output=True, check=True).stdout)
    return said["records"]["cuda_malloc"] == allocations


def check_unit(folder):
    text = (examples / "train.service").read_text().replace("/usr/local/bin/memtap", memtap).replace("/opt/train/bin/python train.py", f"{job} 2 100")
    unit = folder / "train.service"
    unit.write_text(text)
    if shutil.which("systemd-analyze"):
        done = subprocess.run(["systemd-analyze", "verify", unit], text=True, capture_output=True)
        check(not done.returncode and not done.stderr, "the unit is valid", done.stderr)
    else:
        print("skipped: systemd-analyze is not installed")
    command = re.search(r"^ExecStart=(.*)$", text, re.M)[1].replace("%%", "%").replace("/var/lib/train", str(folder))
    subprocess.run(shlex.split(command), check=True, stdout=subprocess.DEVNULL)
    traces = list(folder.glob("run-*.mtap"))
    check(" --light " in command and is_recorded(traces, 200), "the unit's command records", *folder.iterdir())


def comes_to(file, text):
    return until(lambda: file.exists() and file.read_text() == text)


def check_pod(folder):
    try:
        import yaml
    except ImportError:
        print("skipped: PyYAML is not installed")
        return
    pod = yaml.safe_load((examples / "pod.yaml").read_text())["spec"]
    sidecar, = (each for each in pod["initContainers"] if each["restartPolicy"] == "Always")
    train, = pod["containers"]
    volumes = {each["name"] for each in pod["volumes"]}
    for container in (sidecar, train):
        check({each["name"] for each in container["volumeMounts"]} <= volumes, f"volumes of {container['name']}")
    words = [word.replace("/traces", str(folder)) for word in train["command"][:train["command"].index("--") + 1]]
    environment = {**os.environ, "PATH": f"{folder / 'bin'}:{os.environ['PATH']}"}
    subprocess.run([*words, job, "1", "10"], env=environment, check=True)  # a pod before this one
    script = [word.replace("/traces", str(folder)).replace("/metrics", str(folder)) for word in sidecar["command"]]
    metrics = subprocess.Popen(script, env=environment, start_new_session=True)
    try:
        for pairs in (20, 30):  # the job, and its restart
            for trace in folder.glob("train-*.mtap"):
                os.utime(trace, (0, 0))  # the newest is known by its time
            subprocess.run([*words, job, "1", str(pairs)], env=environment, check=True)
            newest = max(folder.glob("train-*.mtap"), key=lambda trace: trace.stat().st_mtime_ns)
            wanted = subprocess.run([memtap, "metrics", newest], text=True, capture_output=True, check=True).stdout
            file = folder / "memtap.prom"
            check(comes_to(file, wanted), f"the pod's metrics are those of {pairs} pairs", file.read_text())
    finally:
        os.killpg(metrics.pid, signal.SIGTERM)
        metrics.wait()


def check_prolog(folder):
    lib = folder / "lib"
    (lib / "6").mkdir(parents=True)
    old, new = lib / "6/n-0-1.mtap", lib / "6/n-0-2.mtap"
    for trace in (old, new):
        trace.touch()
    os.utime(old, (time.time() - 16 * 86400,) * 2)
    text = (examples / "prolog.sh").read_text().replace("/var/lib/memtap", str(lib))
    environment = {**os.environ, "PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "SLURM_JOB_ID": "7"}
    said = subprocess.run(["sh", "-eu", "-c", text], env=environment, text=True, capture_output=True, check=True).stdout
    check(all(re.match(r"export \w+=\S+$", line) for line in said.splitlines()), "every line is one of Slurm's", said)
    exported = dict(line.removeprefix("export ").split("=", 1) for line in said.splitlines())
    subprocess.run([job, "1", "10"], env={**os.environ, **exported}, check=True)
    traces = list((lib / "7").glob("*.mtap"))
    check(exported["MEMTAP_LIGHT"] == "1" and is_recorded(traces, 10), "a task is recorded", said, *lib.rglob("*"))
    check(not old.exists() and new.exists(), "an old trace is removed, a new one is not")


def check_save(folder):
    trace, copy = folder / "t.mtap", folder / "copy.mtap"
    environment = {**os.environ, "LD_PRELOAD": shim, "MEMTAP_OUTPUT": str(trace), "MEMTAP_QUIET": "1", "MEMTAP_THREAD": "0"}
    process = subprocess.Popen([sys.executable, Path(__file__).with_name("top-program.py")], env=environment, stdout=subprocess.PIPE, text=True)
    try:
        process.stdout.readline()  # 64 MiB are allocated
        done = subprocess.run([memtap, "save", "-o", copy, str(process.pid)], text=True, capture_output=True)
        is_running = process.poll() is None
    finally:
        process.kill()
        process.wait()
    said = subprocess.run([memtap, "export", "-f", "csv", "--at", "end", copy], text=True, capture_output=True, check=True).stdout
    check(not done.returncode and is_running and "no response" in done.stderr and ",67108864," in said,
          "a copy without an answer has all", done, said)


with tempfile.TemporaryDirectory() as place:
    for check_one in (check_unit, check_pod, check_prolog, check_save):
        own = Path(place) / check_one.__name__
        tools = own / "bin"
        tools.mkdir(parents=True)
        (tools / "memtap").write_text(f'#!/bin/sh\nexec "{memtap}" "$@"\n')
        (tools / "sleep").write_text(f'#!/bin/sh\nexec {shutil.which("sleep")} 0.1\n')
        for tool in tools.iterdir():
            tool.chmod(0o755)
        check_one(own)
finish()
