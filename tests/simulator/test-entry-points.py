#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test-entry-points.py LIBDIR GENERATE INCLUDE SET,... LIST...

The libraries export what the lists say, with the version node that they say, and need nothing of
NVIDIA's; and the lists of the newest libraries have what CUDA's headers declare.
"""
import importlib.util
import os
import re
import subprocess
import sys

# Declared for programs of old toolkits only; a template.
OLD = {'cuGraphInstantiate_v2', 'cuTexRefSetAddress2D_v2', 'nvrtcGetTypeName'}
OWN = re.compile(r'lib(cudasim|c|m|dl|pthread)\.so(\.\d+)?\Z|ld-linux-x86-64\.so\.2\Z')

# The libraries' headers, which are not everywhere: names begin with the library's.
HEADERS = {
    'cublas': ('cublas_api.h', 'cublasXt.h'), 'cublasLt': ('cublasLt.h',), 'cufft': ('cufft.h', 'cufftXt.h'),
    'cudnn': ('cudnn_ops.h', 'cudnn_adv.h', 'cudnn_cnn.h', 'cudnn_graph.h', 'cudnn_backend.h'),
    'curand': ('curand.h',), 'cusolver': ('cusolverDn.h', 'cusolverRf.h', 'cusolverSp.h', 'cusolver_common.h'),
    'cusparse': ('cusparse.h',), 'cusparseLt': ('cusparseLt.h',), 'nvrtc': ('nvrtc.h',), 'nvml': ('nvml.h',),
}

# The newest headers that the lists were compared with.
KNOWN_VERSION = 13020


def readelf(option, path):
    return subprocess.run(['readelf', '-W', option, path], check=True, text=True,
                          capture_output=True).stdout


def exports(path):
    """Every exported function with its version node, '' where there is none."""
    found = set()
    for line in readelf('--dyn-syms', path).splitlines():
        words = line.split()
        if len(words) < 8 or words[6] in ('UND', 'ABS', 'Ndx') or words[4] == 'LOCAL':
            continue
        name, _, node = words[7].partition('@@')
        found.add((name, node))
    return found


def check(path, entries):
    faults = []
    expected = {(name, entries.node()) for name in entries.entries}
    dynamic = readelf('--dynamic', path)
    found = exports(path)
    faults += [f'{name}@@{node} is not exported' for name, node in expected - found]
    faults += [f'{name}@@{node} is in no list' for name, node in found - expected]
    if re.search(r'SONAME.*\[(.*)\]', dynamic)[1] != entries.soname:
        faults.append('has another SONAME')
    faults += [f'needs {needed}' for needed in re.findall(r'NEEDED.*\[(.*)\]', dynamic)
               if not OWN.match(needed)]
    return [f'{entries.soname}: {fault}' for fault in faults]


def declared(include):
    """What the headers of each library declare, by its name in the lists, as the macros rename it."""
    for library, headers, mark in (
            ('cudart', ('cuda_runtime_api.h', 'cuda_profiler_api.h'), 'CUDARTAPI'),
            ('cuda', ('cuda.h', 'cudaProfiler.h'), 'CUDAAPI'),
            ('cupti', ('cupti_callbacks.h', 'cupti_activity.h', 'cupti_result.h'), 'CUPTIAPI')):
        text = ''
        for header in headers:
            path = os.path.join(include, header)
            if not os.path.exists(path):  # NVIDIA's wheels lack some
                print(f'{header} is not there and was not compared')
                continue
            with open(path) as file:
                text += file.read()
        renamed = dict(re.findall(r'^#define (cu\w+)\s+(cu\w+)\s*$', text, re.M))
        renamed |= {name: new for name, new in
                    re.findall(r'^ *# *define (cu\w+)\s+__CUDA_API_PT\w+\((\w+)\)', text, re.M)}
        names = set(re.findall(mark + r'\s+(cu(?:da|pti|[A-Z])\w+)\s*\(', text))
        yield library, {renamed.get(name, name) for name in names
                        if not re.search(r'_(ptsz|ptds)\Z', name)}


def declared_by_libraries(include):
    """The same of the libraries over CUDA, whose headers mark functions in many ways."""
    for library, headers in HEADERS.items():
        paths = [path for path in (os.path.join(include, header) for header in headers) if os.path.exists(path)]
        text = re.sub(r'/\*.*?\*/|//[^\n]*', '', ''.join(open(path).read() for path in paths), flags=re.S)
        renamed = dict(re.findall(r'^ *# *define +(\w+) +(\w+) *$', text, re.M))
        text = re.sub(r'^ *#(?:[^\n\\]|\\\n|\\.)*$', '', text, flags=re.M)
        text = re.sub(r'static\s+inline.*?\n}|typedef[^;{]*;', '', text, flags=re.S)
        names = re.findall(rf'\b({library}[A-Z]\w*)\s*\([^;{{}}]*\)\s*;', text)
        if paths:
            yield {'nvml': 'nvidia-ml'}.get(library, library), {renamed.get(name, name) for name in names}


def missing(include, lists):
    faults = []
    for library, names in (*declared(include), *declared_by_libraries(include)):
        listed = {name for entries in lists if entries.fields['library'] == library
                  for name in entries.entries}
        assert len(names) > 20, f'{library}: the headers were not understood'
        faults += [f'{library}: {name} is in the headers and in no list'
                   for name in sorted(names - listed - OLD)]
    version = re.search(r'define CUDART_VERSION +(\d+)',
                        open(os.path.join(include, 'cuda_runtime_api.h')).read())[1]
    if int(version) > KNOWN_VERSION:
        print(*faults, f'CUDA {version} is newer than the lists', sep='\n')
        return []
    return faults


def main():
    libdir, generate, include = sys.argv[1:4]
    sets, lists = sys.argv[4].split(','), sys.argv[5:]
    spec = importlib.util.spec_from_file_location('generate', generate)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    newest = [module.List(path, sets[0]) for path in lists]
    faults, libraries, total = missing(include, newest), 0, 0
    for entries in (module.List(path, name) for name in sets for path in lists):
        if entries.soname:
            libraries += 1
            total += len(entries.entries)
            faults += check(os.path.join(libdir, entries.soname), entries)
    print('\n'.join(faults) or f'{total} entry points in {libraries} libraries')
    return bool(faults)


if __name__ == '__main__':
    sys.exit(main())
