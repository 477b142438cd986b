#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test-entry-points.py LIBDIR GENERATE SET,... LIST...

The libraries export what the lists say, with the version node that they say, and need nothing of
NVIDIA's.
"""
import importlib.util
import os
import re
import subprocess
import sys

OWN = re.compile(r'lib(cudasim|c|m|dl|pthread)\.so(\.\d+)?\Z|ld-linux-x86-64\.so\.2\Z')


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


def main():
    libdir, generate, sets, lists = *sys.argv[1:3], sys.argv[3].split(','), sys.argv[4:]
    spec = importlib.util.spec_from_file_location('generate', generate)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    faults, libraries, total = [], 0, 0
    for entries in (module.List(path, name) for name in sets for path in lists):
        if entries.soname:
            libraries += 1
            total += len(entries.entries)
            faults += check(os.path.join(libdir, entries.soname), entries)
    print('\n'.join(faults) or f'{total} entry points in {libraries} libraries')
    return bool(faults)


if __name__ == '__main__':
    sys.exit(main())
