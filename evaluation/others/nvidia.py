# SPDX-License-Identifier: Apache-2.0
"""NVIDIA's own libraries on a machine without a GPU: Debian's driver (libcuda1, libnvidia-ml1, non-free), the runtime of NVIDIA's wheels,
shared and linked in. They are downloaded into the folder of the logs, and not installed:

    python3 evaluation/others/nvidia.py

Each call of no-device.c must return the same."""
import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "others"))
import others

RUNTIME = "nvidia-cuda-runtime-cu12==12.9.79"
PACKAGES = ["libcuda1", "libnvidia-ml1"]
SOURCE = "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian bookworm non-free"


class Nvidia(others.Suite):
    name = "NVIDIA's driver and runtime"
    ways = ["plain"]

    def prepare(self, args):
        self.work = args.work
        driver = self.fetch_driver()
        if not (self.work / "wheel").exists():
            subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", self.work, RUNTIME], check=True)
            for wheel in self.work.glob("*.whl"):
                subprocess.run([sys.executable, "-m", "zipfile", "-e", wheel, self.work / "wheel"], check=True)
        self.runtime = self.work / "wheel/nvidia/cuda_runtime/lib"
        self.driver = self.work / "root/usr/lib/x86_64-linux-gnu/nvidia/current"
        self.build("runtime", "-DRUNTIME", self.runtime / "libcudart.so.12")
        self.build("static", "-DRUNTIME", self.runtime / "libcudart_static.a", "-ldl", "-lrt", "-lpthread")
        self.build("driver", "-DDRIVER", self.driver / "libcuda.so.1")
        self.build("nvml", "-DNVML", self.driver / "libnvidia-ml.so.1")
        return f"{driver}; {RUNTIME}"

    def fetch_driver(self):
        """By lists of packages of our own: the machine's stay as they are."""
        (self.work / "lists" / "partial").mkdir(parents=True, exist_ok=True)
        (self.work / "sources").write_text(SOURCE + "\n")
        apt = ["apt-get", "-qq", "-o", f"Dir::Etc::SourceList={self.work}/sources", "-o", "Dir::Etc::SourceParts=/dev/null",
               "-o", f"Dir::State::Lists={self.work}/lists", "-o", f"Dir::Cache={self.work}/cache", "-o", "APT::Sandbox::User=root"]
        if not (self.work / "root").exists():
            (self.work / "cache" / "archives" / "partial").mkdir(parents=True, exist_ok=True)
            subprocess.run([*apt, "update"], check=True)
            subprocess.run([*apt, "download", *PACKAGES], cwd=self.work, check=True)
            for package in self.work.glob("*.deb"):
                subprocess.run(["dpkg", "-x", package, self.work / "root"], check=True)
        return ", ".join(sorted(package.name.rsplit("_", 1)[0] for package in self.work.glob("*.deb")))

    def build(self, name, *options):
        subprocess.run(["cc", "-O1", "-o", self.work / name, Path(others.__file__).with_name("no-device.c"), *options], check=True)

    def units(self, args):
        """The last two are linked to the driver, and do not start without."""
        return ["runtime", "static", "driver", "nvml", "runtime without a driver", "static without a driver"]

    def command(self, args, unit, folder):
        libraries = [self.runtime] + ([] if "without" in unit else [self.driver])
        # Of the program alone: the path would be the shell's too.
        return ["env", f"LD_LIBRARY_PATH={':'.join(map(str, libraries))}", self.work / unit.split()[0]]

    def results(self, unit, folder, output):
        return dict(re.findall(r"^(\w+): (\d+)$", output, re.M))


others.main(Nvidia())
