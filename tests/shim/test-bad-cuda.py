# SPDX-License-Identifier: Apache-2.0
"""test-bad-cuda.py MEMTAP DRIVER-USER IPC-PAIR DRIVER-11 DRIVER-12 DRIVER-13 CUPTI-1 CUPTI-39: where
CUDA is not as memtap would have it, the program is not harmed, and the trace says what could not be
seen."""
import glob
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
from checks import equal, finish

memtap, user, ipc_pair, driver_11, driver_12, driver_13, *cuptis = sys.argv[1:]


class Run:
    def __init__(self, *program, options=(), libraries=(), **environment):
        with tempfile.TemporaryDirectory() as directory:
            for name, source in libraries:
                shutil.copy(source, os.path.join(directory, name))
            ran = subprocess.run(
                [memtap, "run", *options, "-o", os.path.join(directory, "%p.mtap"), "--", *program],
                text=True, capture_output=True, check=False,
                env={**os.environ, "LD_LIBRARY_PATH": directory, **environment})
            self.code, self.out, self.err = ran.returncode, ran.stdout, ran.stderr
            paths = glob.glob(directory + "/*.mtap")
            self.traces = [self.read(path) for path in paths]
            self.reports = self.report(paths)

    def report(self, paths):
        """The reports of a job's ranks in one, in their order."""
        if len(paths) < 2:
            return []
        done = subprocess.run([memtap, "report", "--format", "json", *paths], check=True, text=True,
                              stdout=subprocess.PIPE)
        return [rank["report"] for rank in json.loads(done.stdout)["ranks"]]

    def read(self, path):
        listing = subprocess.run([memtap, "dump", "--format", "json", path], check=True, text=True,
                                 stdout=subprocess.PIPE)
        records = [json.loads(line) for line in listing.stdout.splitlines()]
        info = dict(record["text"].split("=", 1) for record in records if record["record"] == "info")
        calls = [(record["record"], record["api"], record.get("size", 0)) for record in records
                 if record["record"].startswith("cuda_")]
        devices = [record for record in records if record["record"] == "device_memory"]
        return info, calls, devices


OLD = [("libcuda.so.1", driver_11)]
CALLS = [("cuda_malloc", "cuMemAlloc", 5000), ("cuda_free", "cuMemFree", 0)]

for choice in ("auto", "on"):
    none = Run(user, options=("--cupti", choice))
    equal("no driver", (none.code, none.out.count("undefined symbol: cu"), none.traces), (3, 2, []))

# Old, and unloaded after its functions were looked up. No NVML: nothing about the device.
for choice, status in (("auto", "not needed"),
                       ("on", "not used: no libcupti.so.13 or .12 for this CUDA in its usual folders")):
    old = Run(user, options=("--cupti", choice), libraries=OLD)
    equal(f"old driver, {choice}", (old.code, old.out, len(old.traces)), (0, "done\n", 1))
    info, calls, devices = old.traces[0]
    equal(f"old driver, {choice}: what is known",
          (calls, devices, info["cupti"], info["device_memory"]),
          (CALLS, [], status, "no: no NVML for this CUDA"))

for library, status in zip(cuptis, ("not used: CUPTI_ERROR_NOT_COMPATIBLE (1)",
                                    "not used: another client is subscribed (39)")):
    for name, driver in (("libcupti.so.13", driver_13), ("libcupti.so.12", driver_12)):
        refused = Run(user, options=("--cupti", "on"),
                      libraries=[("libcuda.so.1", driver), (name, library)])
        equal(name, (refused.code, refused.out), (0, "done\n"))
        info, calls, _ = refused.traces[0]
        equal(name, (calls, info["cupti"]), (CALLS, status))
        equal(f"{name}: lines about it", refused.err.count("memtap: CUPTI is not used"), 1)

# CUPTI of another CUDA is left alone, and so is what does not fit the driver.
other = Run(user, options=("--cupti", "on"),
            libraries=[("libcuda.so.1", driver_12), ("libcupti.so.13", cuptis[0])])
equal("CUPTI is newer than the driver", (other.code, other.out, other.traces[0][1],
                                         other.traces[0][0]["cupti"]),
      (0, "done\n", CALLS, "not used: no libcupti.so.13 or .12 for this CUDA in its usual folders"))

# The driver loads memtap: where CUPTI does not tell the calls, nothing else does, and the line says so.
# CUPTI is also found where the loader does not look.
LIBRARY = subprocess.run([memtap, "lib"], check=True, text=True, stdout=subprocess.PIPE).stdout.strip()
MATHS = next(line.split()[-1] for line in open("/proc/self/maps", encoding="utf-8") if "/libm.so.6" in line)
PACKAGES = "venv/lib/python3.9/site-packages"
FOUND, MISSING = "CUPTI_ERROR_NOT_COMPATIBLE (1)", "no libcupti.so.13 or .12 for this CUDA in its usual folders"


def injected(driver, *folders, **environment):
    """What the program says; a CUPTI lies in each of these folders, and each fails in its own way."""
    with tempfile.TemporaryDirectory() as directory:
        shutil.copy(driver, os.path.join(directory, "libcuda.so.1"))
        os.makedirs(os.path.join(directory, PACKAGES))
        shutil.copy(MATHS, os.path.join(directory, PACKAGES))
        for folder, library in zip(folders, cuptis):
            os.makedirs(os.path.join(directory, folder), exist_ok=True)
            shutil.copy(library, os.path.join(directory, folder, "libcupti.so.13"))
        within = {name: os.path.join(directory, value) for name, value in environment.items()}
        ran = subprocess.run([user], text=True, capture_output=True, check=False, env={
            **os.environ, "LD_LIBRARY_PATH": directory, "CUDA_INJECTION64_PATH": LIBRARY,
            "MEMTAP_OUTPUT": os.path.join(directory, "t.mtap"), **within})
        return ran.returncode, ran.stdout, ran.stderr


def line_about(why):
    return (f"memtap: CUPTI is not used: {why}; CUDA calls are not recorded; preload memtap "
            "(LD_PRELOAD=$(memtap lib)), or see CUPTI in man libmemtap\n")


equal("without CUPTI, nothing preloaded", injected(driver_11), (0, "done\n", line_about(MISSING)))
for folder, variables in (
        ("", {}),
        ("toolkit/extras/CUPTI/lib64", {"CUDA_HOME": "toolkit"}),
        ("toolkit/targets/x86_64-linux/lib", {"CUDA_PATH": "toolkit"}),
        (f"{PACKAGES}/nvidia/cu13/lib", {"VIRTUAL_ENV": "venv"}),
        (f"{PACKAGES}/nvidia/cuda_cupti/lib", {"LD_PRELOAD": f"{PACKAGES}/libm.so.6"})):
    equal(f"CUPTI in {folder}", injected(driver_13, folder, **variables), (0, "done\n", line_about(FOUND)))
equal("the newest of two", injected(driver_13, *(f"{PACKAGES}/nvidia/{name}/lib" for name in ("cu13.10", "cu13.2")),
                                    VIRTUAL_ENV="venv"), (0, "done\n", line_about(FOUND)))

# Memory of another process is named, and not counted a second time.
OPEN, CLOSE = ("cuda_malloc", "cudaIpcOpenMemHandle", 0), ("cuda_free", "cudaIpcCloseMemHandle", 0)
pair = Run(ipc_pair, options=("--simulate", "t4"))
equal("imported memory", (pair.code, sorted(calls for _, calls, _ in pair.traces)),
      (0, [[OPEN, OPEN, ("cuda_malloc", "cudaMalloc", 1 << 20), ("cuda_free", "cudaFree", 0), CLOSE,
            CLOSE],
           [("cuda_malloc", "cudaMalloc", 3 << 20), ("cuda_free", "cudaFree", 0)]]))
equal("ranks", [report["process"]["env.RANK"] for report in pair.reports], ["0", "1"])
equal("peaks", [report["peak"]["allocated"] for report in pair.reports], [3 << 20, 1 << 20])
equal("what is imported", [report["devices"][0]["balance"]["imported"] for report in pair.reports],
      [{"bytes": 0, "blocks": 0}, {"bytes": 0, "blocks": 1}])
equal("nothing odd", [any(report["oddities"].values()) for report in pair.reports], [False, False])
finish()
