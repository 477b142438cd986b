# SPDX-License-Identifier: Apache-2.0
"""test-launchers.py MEMTAP ALLOC-THREADS: the place in a job that each launcher tells its processes is in
the trace, its rank in the name that %r makes and in every other name where there are several processes, and
traces of two ranks are those of one job. memtap run names any trace, and a trace has the whole command
line."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

memtap, program = (os.path.abspath(path) for path in sys.argv[1:])
PLACES = ("rank", "local_rank", "world_size")
LAUNCHERS = {
    "none": ({}, None),
    "torchrun": ({"RANK": "5", "LOCAL_RANK": "1", "WORLD_SIZE": "8"}, ("5", "1", "8")),
    "Open MPI": ({"OMPI_COMM_WORLD_RANK": "6", "OMPI_COMM_WORLD_LOCAL_RANK": "2",
                  "OMPI_COMM_WORLD_SIZE": "16"}, ("6", "2", "16")),
    "MPICH": ({"PMI_RANK": "3", "MPI_LOCALRANKID": "3", "PMI_SIZE": "4"}, ("3", "3", "4")),
    "MVAPICH": ({"MV2_COMM_WORLD_RANK": "1", "MV2_COMM_WORLD_LOCAL_RANK": "0",
                 "MV2_COMM_WORLD_SIZE": "2"}, ("1", "0", "2")),
    "Slurm": ({"SLURM_PROCID": "9", "SLURM_LOCALID": "1", "SLURM_NTASKS": "12"}, ("9", "1", "12")),
    "torchrun within Slurm": ({"RANK": "1", "LOCAL_RANK": "1", "WORLD_SIZE": "2", "SLURM_PROCID": "0",
                               "SLURM_NTASKS": "1"}, ("1", "1", "2")),
    "a rank alone": ({"PMIX_RANK": "7"}, ("7", None, None)),
    "an empty variable": ({"RANK": "", "SLURM_PROCID": "4"}, ("4", None, None)),
}
plain = {name: value for name, value in os.environ.items()
         if not name.startswith(("OMPI_", "PMI", "MPI_", "MV2_", "SLURM_"))
         and name not in ("RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_ADDR", "MEMTAP_OUTPUT")}
faults = []


def record(folder, variables, *arguments):
    """Where the trace is, and what it says of the process."""
    subprocess.run([memtap, "run", "-q", "-o", "r%r.mtap", "--", program, "1", "2", *arguments], cwd=folder,
                   env={**plain, **variables}, check=True, timeout=300)
    (trace,) = pathlib.Path(folder).glob("*.mtap")
    info = subprocess.run([memtap, "info", "--format", "json", trace], check=True,
                          stdout=subprocess.PIPE)
    return trace, json.loads(info.stdout)["process"]


# A pattern; its name in rank 5 of 8, and in a job of one process.
NAMES = [
    ("leak.mtap", "leak-rank5.mtap", "leak.mtap"),
    ("leak", "leak-rank5", "leak"),
    (".mtap", ".mtap-rank5", ".mtap"),
    ("a-%r-b.mtap", "a-5-b.mtap", "a-0-b.mtap"),
    ("100%%r.mtap", "100%r-rank5.mtap", "100%r.mtap"),
    (None, "memtap-alloc-threads-PID-rank5.mtap", "memtap-alloc-threads-PID.mtap"),
]
WORLDS = ({"RANK": "5", "WORLD_SIZE": "8"}, {"RANK": "0", "WORLD_SIZE": "1"})


def named(pattern, variables):
    with tempfile.TemporaryDirectory() as folder:
        output = ["-o", pattern] if pattern else []
        subprocess.run([memtap, "run", "-q", *output, program, "1", "2"], cwd=folder,
                       env={**plain, **variables}, check=True, timeout=300)
        (trace,) = (name for name in os.listdir(folder) if not name.endswith(".tail"))
    return re.sub(r"-\d+(?=[-.])", "-PID", trace) if not pattern else trace


for pattern, *expected in NAMES:
    found = [named(pattern, variables) for variables in WORLDS]
    if found != expected:
        faults.append(f"-o {pattern}: {found}, not {expected}")
# How many ranks; whether a file lies there that a pattern would take too; the command that shows all.
TOGETHER = [
    (1, False, None),
    (2, False, "j-rank0.mtap j-rank1.mtap"),
    (5, False, "j-rank*.mtap"),
    (5, True, " ".join(f"j-rank{rank}.mtap" for rank in range(5))),
]
for ranks, has_other, command in TOGETHER:
    with tempfile.TemporaryDirectory() as folder:
        if has_other:
            pathlib.Path(folder, "j-rank7.mtap").touch()
        loop = f"for r in $(seq 0 {ranks - 1}); do RANK=$r WORLD_SIZE=9 '{program}' 1 2; done"
        said = subprocess.run([memtap, "run", "-o", "j.mtap", "sh", "-c", loop], cwd=folder, env=plain,
                              stderr=subprocess.PIPE, text=True, check=True, timeout=300).stderr.splitlines()
        wanted = f"memtap: all traces: memtap report {command}" if command else None
        if len(said) != ranks + bool(command) or (command and said[-1] != wanted):
            faults.append(f"of {ranks} ranks is said {said}, not {wanted}")
        elif command:
            line = wanted.partition("all traces: memtap ")[2]
            report = subprocess.run(["sh", "-c", f"'{memtap}' {line}"], cwd=folder, capture_output=True, text=True,
                                    check=True).stdout
            faults += [f"rank {rank} is not in the report of all" for rank in range(ranks)
                       if not re.search(rf"^ +{rank} ", report, re.M)]
for name, (variables, expected) in LAUNCHERS.items():
    with tempfile.TemporaryDirectory() as folder:
        trace, process = record(folder, variables)
    told = tuple(process.get(key) for key in PLACES)
    if told != (expected or (None, None, None)):
        faults.append(f"{name}: {told}, not {expected}")
    if trace.name != f"r{expected[0] if expected else 0}.mtap":
        faults.append(f"{name}: its trace is {trace.name}")
    faults += [f"{name}: {key} is not kept" for key, value in variables.items()
               if process.get(f"env.{key}") != value]
with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
    traces = [record(folder, {"PMI_RANK": rank, "PMI_SIZE": "2"})[0]
              for folder, rank in ((first, "1"), (second, "0"))]
    job = subprocess.run([memtap, "report", *traces, "--rank", "1"], stdout=subprocess.PIPE, text=True,
                         check=True).stdout
    both = subprocess.run([memtap, "report", *traces], stdout=subprocess.PIPE, text=True,
                          check=True).stdout
if "rank 1" not in job or "rank 0" in job:
    faults.append(f"the report of rank 1 is {job}")
if [line.split()[0] for line in both.splitlines() if line[:6].strip() in ("0", "1")] != ["0", "1"]:
    faults.append(f"the report of both is {both}")
with tempfile.TemporaryDirectory() as folder:
    run = subprocess.run([memtap, "run", "-o", "two\nlines.mtap", "--", program, "1", "2"], cwd=folder,
                         env=plain, stderr=subprocess.PIPE, text=True, check=True, timeout=300)
if not run.stderr.startswith("memtap: two?lines.mtap: 4 events, ") or run.stderr.count("\n") != 1:
    faults.append(f"of a name with a newline is said {run.stderr}")
with tempfile.TemporaryDirectory() as folder:
    long = "a long argument " * 2000
    if record(folder, {}, long)[1]["command"] != f"{program} 1 2 {long}":
        faults.append("a long command line is cut")
print(len(LAUNCHERS), "launchers", *faults, sep="\n")
sys.exit(bool(faults))
