#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test-torch-imports.py VARIABLE LIBDIR: whatever PyTorch's libraries import from CUDA's, the stand-ins
export, with the version that is asked for.

VARIABLE names the Pythons whose PyTorch is looked at, with colons between them. Exit code 77: it is
not set, or one of them has no PyTorch.
"""
import os
import re
import subprocess
import sys
from pathlib import Path

# Version nodes of CUDA's libraries, and the names in those that have none.
NODE = re.compile(r'lib(cu|nv)\w+\.so\.\d+\Z|NVSHMEM\Z')
NAME = re.compile(r'(nccl|cu|nvml)[A-Z]')
FIND = 'import importlib.util as u; s = u.find_spec("torch"); print(s.origin if s else "")'


def symbols(path, undefined):
    """(name, version node or '') of the symbols that a library needs, or that it has."""
    lines = subprocess.run(['readelf', '-W', '--dyn-syms', path], check=True, text=True,
                           capture_output=True).stdout.splitlines()
    for line in lines:
        words = line.split()
        if len(words) < 8 or words[4] != 'GLOBAL' or (words[6] == 'UND') != undefined:
            continue
        name, _, node = words[7].replace('@@', '@').partition('@')
        yield name, node


def main():
    variable, libdir = sys.argv[1:]
    pythons = os.environ.get(variable)
    if not pythons:
        print(f'skipped: {variable} names no Python')
        return 77
    have = {symbol for path in Path(libdir).glob('lib*.so.*') if path.is_file()
            for symbol in symbols(path, False)}
    missing = False
    for python in pythons.split(':'):
        origin = subprocess.run([python, '-c', FIND], text=True, capture_output=True).stdout.strip()
        if not origin:
            print(f'skipped: {python} has no PyTorch')
            return 77
        needed = {symbol for path in Path(origin).parent.glob('lib/*.so*')
                  for symbol in symbols(path, True)
                  if NODE.match(symbol[1]) or (not symbol[1] and NAME.match(symbol[0]))}
        print(f'{python}: {len(needed)} entry points')
        for name, node in sorted(needed - have):
            print(f'missing: {name}@{node}')
            missing = True
        missing = missing or not needed
    return missing


if __name__ == '__main__':
    sys.exit(main())
