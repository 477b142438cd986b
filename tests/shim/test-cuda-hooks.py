# SPDX-License-Identifier: Apache-2.0
"""test-cuda-hooks.py INCLUDE HOOKS.H NOT-HOOKED.LIST CC...: every function of CUDA's headers that gives or takes
memory, copies or sets it is hooked, with the headers' parameters, or on the list with a reason."""
import re
import subprocess
import sys

import hook_tables

include, table, unhooked_list, *compiler = sys.argv[1:]
MEMORY = re.compile(
    r"Malloc|Alloc|Free|Host(Unr|R)egister|Mem(Create|Release|Map|Unmap)|Import|Export|Ipc|"
    r"Array(3D)?Create|ArrayDestroy|Ctx(Create|Destroy)|PrimaryCtx(Retain|Release|Reset)|"
    r"ModuleLoad|ModuleUnload|Library(Load|Unload)|Multicast|GreenCtx(Create|Destroy)|CtxFromGreen|CtxStreamCreate|PoolCreate|PoolDestroy|"
    r"Stream(Create|Destroy)|ExternalMemory|DeviceReset|GraphMem|GraphLaunch|Checkpoint|Memcpy|Memset|MemPrefetch|MemDiscard")
# The newest headers that were compared. What newer ones have in addition is told, and no fault; what
# older ones lack, neither.
KNOWN_VERSION = 13020
# Matched by the pattern, and about something else.
OTHER = re.compile(r"GetLoadingMode|Semaphores")
EIGHT = {"size_t", "unsigned long long", "long long", "uint64_t", "cuuint64_t", "unsigned long"}
BY_VALUE = {"struct mt_extent": 24, "struct cudaExtent": 24,
            "struct mt_pitched": 32, "struct cudaPitchedPtr": 32, "struct mt_ipc_handle": 64, "cudaIpcMemHandle_t": 64, "CUipcMemHandle": 64}


def preprocess(header):
    return subprocess.run([*compiler, "-E", "-P", "-x", "c", "-I" + include,
                           f"{include}/{header}"], check=True, text=True,
                          stdout=subprocess.PIPE).stdout


def split(text):
    text = " ".join(text.split())
    return [] if text in ("", "void") else [part.strip() for part in text.split(",")]


class Header:
    def __init__(self, name):
        text = preprocess(name)
        self.pointers = set(re.findall(r"typedef struct \w+ *\* *(\w+) *;", text))
        self.typedefs = dict(reversed(pair) for pair in
                             re.findall(r"typedef ((?:unsigned )?[\w ]+?) (\w+) *;", text))
        self.functions = {
            name: split(parameters) for name, parameters in
            re.findall(r"(?:cudaError_t|CUresult)\s+(cu\w+)\s*\(([^;{}]*?)\)\s*;", text)}

    def kind(self, parameter):
        """How the parameter is passed: a pointer or so many bytes."""
        if "*" in parameter or "[" in parameter:
            return "pointer"
        words = [word for word in parameter.split() if word != "const"]
        kind = " ".join(words[:-1] if len(words) > 1 and words[-1] not in ("int", "long") else words)
        for _ in range(8):
            if kind in self.pointers:
                return "pointer"
            if kind in BY_VALUE:
                return f"{BY_VALUE[kind]} bytes"
            if kind in EIGHT:
                return "8 bytes"
            if kind not in self.typedefs:
                break
            kind = self.typedefs[kind]
        return "4 bytes"  # int, unsigned, an enum


def read_hooks(text):
    found = re.findall(r'\b[HD]\(\w+,((?:\s*"\w+",)+)[^()]*\(([^()]*)\)\)', text)
    return {re.findall(r'"(cu\w+)"', names)[-1]: split(parameters)
            for names, parameters in found if '"cu' in names}


def without_version(symbol):
    return re.sub(r"(_v\d+)?(_ptsz|_ptds)?$", "", symbol)


version = int(re.search(r"define CUDART_VERSION +(\d+)",
                        open(f"{include}/cuda_runtime_api.h").read())[1])
hooks, faults = read_hooks(hook_tables.expand(table, compiler)), []
reasons = {name for line in open(unhooked_list) if not line.startswith("#")
           for name in line.partition(":")[0].split("|")}
seen, hooked = set(), {without_version(symbol) for symbol in hooks}
compared = noticed_calls = 0
for header in (Header("cuda_runtime_api.h"), Header("cuda.h")):
    for symbol, parameters in header.functions.items():
        base = without_version(symbol)
        stem = re.sub(r"^cuda|^cu", "", base)
        if symbol in hooks and hooks[symbol] == ["MT_ANY"]:
            noticed_calls += 1
        elif symbol in hooks:
            compared += 1
            ours = hooks[symbol]
            if [header.kind(p) for p in parameters] != [header.kind(p) for p in ours]:
                faults.append(f"{symbol}: the header has {parameters}, the hook {ours}")
        elif MEMORY.search(symbol) and not OTHER.search(symbol) and base not in hooked:
            seen.add(stem)
            if stem not in reasons and version <= KNOWN_VERSION:
                faults.append(f"{symbol}: neither hooked nor in {unhooked_list}")
            elif stem not in reasons:
                print(f"{symbol} is newer than this test")
if version >= KNOWN_VERSION:
    faults += [f"{name}: listed as not hooked, but in no header" for name in sorted(reasons - seen)]
print("\n".join(faults) or f"{compared} hooks compared, {len(seen)} functions with a reason")
sys.exit(bool(faults) or compared < 60 or noticed_calls < 15)
