# SPDX-License-Identifier: Apache-2.0
"""Prints the folder of CUDA's headers: an installed CUDA Toolkit's, else that of NVIDIA's wheels in this
Python (where pip's isolated build has them); an empty line if there are none."""

import importlib.util
import os
import pathlib
import re
import shutil


def candidates():
    for name in ("CUDA_HOME", "CUDA_PATH"):
        if os.environ.get(name):
            yield pathlib.Path(os.environ[name]) / "include"
    nvcc = shutil.which("nvcc")
    if nvcc:
        yield pathlib.Path(nvcc).resolve().parent.parent / "include"
    yield pathlib.Path("/usr/local/cuda/include")
    yield pathlib.Path("/opt/cuda/include")
    spec = importlib.util.find_spec("nvidia")
    for folder in spec.submodule_search_locations if spec else ():
        yield from pathlib.Path(folder).glob("cu1*/include")


def has_headers(folder):
    """Return whether the folder has all headers, of CUDA 12 or newer."""
    if not all((folder / name).exists() for name in ("cuda_runtime_api.h", "cupti.h", "crt/host_defines.h")):
        return False
    return re.search(r"^#define CUDA_VERSION 1[2-9]", (folder / "cuda.h").read_text(), re.M)


print(next((folder for folder in candidates() if has_headers(folder)), ""))
