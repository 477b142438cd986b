#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test-entry-points.py LIBDIR SIMULATOR INCLUDE SET,... LIST...

The libraries export what the lists say, with the version node that they say, and need nothing of
NVIDIA's; and the lists have what CUDA's headers declare.
"""
import os
import re
import subprocess
import sys

OWN = re.compile(r'lib(cudasim|c|m|dl|pthread)\.so(\.\d+)?\Z|ld-linux-x86-64\.so\.2\Z')

# The newest headers that the lists were compared with.
KNOWN_VERSION = 13050


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
    libdir, folder, include = sys.argv[1:4]
    sets, lists = sys.argv[4].split(','), sys.argv[5:]
    sys.path.insert(0, folder)
    import generate
    import headers
    faults, libraries, total = [], 0, 0
    name, version = headers.soname_set(include)
    for library, names in headers.missing(include, [headers.listed(path, name) for path in lists]).items():
        for missing in names:
            faults.append(f'{library}: {missing} is in the headers and in no list')
    if version > KNOWN_VERSION:
        print(*faults, f'CUDA {version} is newer than the lists', sep='\n')
        faults = []
    for entries in (generate.List(path, name) for name in sets for path in lists):
        if entries.soname:
            libraries += 1
            total += len(entries.entries)
            faults += check(os.path.join(libdir, entries.soname), entries)
    print('\n'.join(faults) or f'{total} entry points in {libraries} libraries')
    return bool(faults)


if __name__ == '__main__':
    sys.exit(main())
