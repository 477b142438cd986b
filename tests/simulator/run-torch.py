#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""run-torch.py CUDASIM LIBDIR SCRIPT: runs the script with a CUDA build of PyTorch, simulated.

The Python that has it is $MEMTAP_TEST_PYTHON. Exit code 77: there is none.
"""
import os
import subprocess
import sys


def skip(why):
    print(f'skipped: {why}')
    sys.exit(77)


def main():
    cudasim, libdir, script = sys.argv[1:4]
    python = os.environ.get('MEMTAP_TEST_PYTHON')
    if not python:
        skip('MEMTAP_TEST_PYTHON names no Python with a CUDA build of PyTorch')
    launch = [cudasim, libdir, '--gpu', 'a100-80g', '--', python]
    probe = subprocess.run([*launch, '-c', 'import torch; print(torch.version.cuda or "")'],
                           text=True, capture_output=True)
    if probe.returncode or not probe.stdout.strip():
        skip(f'{python} has no CUDA build of PyTorch')
    return subprocess.run([*launch, script]).returncode


if __name__ == '__main__':
    sys.exit(main())
