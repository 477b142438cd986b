#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compare the entry-point lists with what NVIDIA's headers declare.

    headers.py INCLUDE LIST...           print the names that a list lacks
    headers.py --add INCLUDE LIST...     add them, as not supported; model by hand what should succeed

INCLUDE is a folder with the headers of one CUDA version, for all libraries or some.
"""

import os
import re
import sys

import generate

# Declared only for programs of old toolkits; a template; functions of device code.
OLD = {"cuGraphInstantiate_v2", "cuTexRefSetAddress2D_v2", "nvrtcGetTypeName"}

# The libraries above CUDA: their headers, and the prefixes of their names.
LIBRARIES = {
    "cublas": ("cublas", "cublas_api.h", "cublasXt.h"),
    "cublasLt": ("cublasLt", "cublasLt.h"),
    "cufft": ("cufft", "cufft.h", "cufftXt.h"),
    "cudnn": ("cudnn", "cudnn_ops.h", "cudnn_adv.h", "cudnn_cnn.h", "cudnn_graph.h", "cudnn_backend.h"),
    "cufile": ("cuFile", "cufile.h"),
    "curand": ("curand", "curand.h"),
    "cusolver": ("cusolver", "cusolverDn.h", "cusolverRf.h", "cusolverSp.h", "cusolver_common.h"),
    "cusparse": ("cusparse", "cusparse.h"),
    "cusparseLt": ("cusparseLt", "cusparseLt.h"),
    "nccl": ("p?nccl", "nccl.h"),
    "nvrtc": ("nvrtc", "nvrtc.h"),
    "nvidia-ml": ("nvml", "nvml.h"),
}

# Libraries whose headers mark each function.
MARKED = {
    "cudart": ("CUDARTAPI", "cuda_runtime_api.h", "cuda_profiler_api.h"),
    "cuda": ("CUDAAPI", "cuda.h", "cudaProfiler.h"),
    "cupti": ("CUPTIAPI", "cupti_callbacks.h", "cupti_activity.h", "cupti_result.h"),
}

# The behaviour of a new entry point, by its name; the first match applies.
BEHAVIOURS = (
    (r"nvml|cu[A-Z]|cuda|cuFile|cupti|p?nccl.*(Get|Query)", "unsupported"),
    (r"\w+(_destroyDescr|DescrDestroy|DescDestroy)\Z", "success"),
    (r"\w+(LoggerSet|_internal\Z)", "success"),
    (r"", "refuses"),
)


def text_of(include, headers):
    """Return the headers' text without comments. Some of NVIDIA's wheels lack one."""
    text = ""
    for header in headers:
        path = os.path.join(include, header)
        if os.path.exists(path):
            with open(path, encoding="utf-8", errors="replace") as file:
                text += file.read()
    return re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.S)


def declared(include):
    """Return the names that the headers declare, as renamed by their macros: a set for each library."""
    found = {}
    for library, (mark, *headers) in MARKED.items():
        text = text_of(include, headers)
        renamed = dict(re.findall(r"^#define (cu\w+)\s+(cu\w+)\s*$", text, re.M))
        renamed |= dict(re.findall(r"^ *# *define (cu\w+)\s+__CUDA_API_PT\w+\((\w+)\)", text, re.M))
        names = set(re.findall(mark + r"\s+(cu(?:da|pti|[A-Z])\w+)\s*\(", text))
        found[library] = {renamed.get(name, name) for name in names if not re.search(r"_(ptsz|ptds)\Z", name)}
    for library, (begin, *headers) in LIBRARIES.items():
        text = text_of(include, headers)
        renamed = dict(re.findall(r"^ *# *define +(\w+) +(\w+) *$", text, re.M))
        text = re.sub(r"^ *#(?:[^\n\\]|\\\n|\\.)*$", "", text, flags=re.M)
        text = re.sub(r"static\s+inline.*?\n}|typedef[^;{]*;", "", text, flags=re.S)
        names = re.findall(rf"\b({begin}[A-Z]\w*)\s*\([^;{{}}]*\)\s*;", text)
        found[library] = {renamed.get(name, name) for name in names}
    return {library: names - OLD for library, names in found.items() if names}


def soname_set(include):
    """Return the SONAME set that the headers belong to, and their CUDA version."""
    version = int(re.search(r"define CUDART_VERSION +(\d+)", text_of(include, ["cuda_runtime_api.h"]))[1])
    return f"cuda{version // 1000}", version


def listed(path, name):
    """Return a list restricted to a set. A library with the same SONAME in all sets has the newest set's entries."""
    entries = generate.List(path, name)
    return entries if entries.soname else generate.List(path, "cuda13")


def missing(include, lists):
    """Return the declared names that no list has, by library. lists: those of the headers' set."""
    faults = {}
    for library, names in declared(include).items():
        assert len(names) > 20, f"{library}: the headers were not understood"
        listed = {name for entries in lists if entries.fields["library"] == library for name in entries.entries}
        if names - listed:
            faults[library] = sorted(names - listed)
    return faults


def behaviour(name):
    if name.startswith("pnccl"):  # names for profilers
        return "alias=" + name[1:]
    return next(word for pattern, word in BEHAVIOURS if re.match(pattern, name))


def add(path, names, words):
    """Insert the names into a list, in alphabetical order. words: text to add after each."""
    with open(path) as file:
        lines = file.read().splitlines()
    first = lines.index("") + 1
    column = max(line.index(line.split()[1]) for line in lines[first:] if line and line[0] != "#")
    for name in names:
        after = [i for i, line in enumerate(lines) if i >= first and line.split()[:1] > [name]]
        lines.insert(after[0] if after else len(lines), f"{name:{column - 1}} {behaviour(name)}{words}")
    with open(path, "w") as file:
        file.write("\n".join(lines) + "\n")


def main():
    arguments = sys.argv[1:]
    adds = arguments[0] == "--add"
    include, *paths = arguments[adds:]
    name, version = soname_set(include)
    lists = {path: listed(path, name) for path in paths}
    faults = missing(include, lists.values())
    for path, entries in lists.items():
        names = faults.get(entries.fields["library"], [])
        if adds and names:
            library = entries.fields["library"]
            add(path, names, f" since={version}" if library == "cuda" else f" only={name}" if name != "cuda13" else "")
        for added in names:
            print(f"{os.path.basename(path)}: {added}")
    return bool(faults) and not adds


if __name__ == "__main__":
    sys.exit(main())
