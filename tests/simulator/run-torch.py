#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""run-torch.py VARIABLE CUDASIM LIBDIR SCRIPT...: runs the scripts with a CUDA build of PyTorch,
simulated.

The environment variable VARIABLE names the Pythons that have one, with colons between them. Exit
code 77: it is not set, or one of them has no CUDA build of PyTorch.
"""
import os
import subprocess
import sys

# Without importing PyTorch, which takes a second.
VERSION = """
import importlib.util, os, runpy
package = os.path.dirname(importlib.util.find_spec('torch').origin)
version = runpy.run_path(os.path.join(package, 'version.py'))
assert version['cuda']
print(version['__version__'])
"""


def version(python):
    """The release of PyTorch and its CUDA, None where there is none."""
    probe = subprocess.run([python, '-c', VERSION], text=True, capture_output=True)
    return None if probe.returncode else probe.stdout.strip()


def main():
    variable, cudasim, libdir, *scripts = sys.argv[1:]
    pythons = os.environ.get(variable)
    if not pythons:
        print(f'skipped: {variable} names no Python with a CUDA build of PyTorch')
        return 77
    missing, failures = [], []
    for python in pythons.split(':'):
        launch = [cudasim, libdir, '--gpu', 'a100-80g', '--', python]
        torch = version(python)
        if not torch:
            print(f'skipped: {python} has no CUDA build of PyTorch')
            missing.append(python)
            continue
        for script in scripts:
            print(f'=== torch {torch}: {os.path.basename(script)}', flush=True)
            if subprocess.run([*launch, script]).returncode:
                failures.append(f'{torch} {os.path.basename(script)}')
    if failures:
        print('failed:', ', '.join(failures))
        return 1
    return 77 if missing else 0


if __name__ == '__main__':
    sys.exit(main())
