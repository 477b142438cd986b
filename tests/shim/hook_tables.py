# SPDX-License-Identifier: Apache-2.0
"""The tables of hooks, as the compiler's preprocessor expands them."""
import re
import subprocess


def expand(header, compiler):
    """The rows H(name, "symbol", "library", result, (parameters)) and D(name, "base", "symbol", since,
    until, (parameters)) of preload/hooks/hooks.h, as one text. MT_ANY stays."""
    source = f'#define MT_EXPORTS_MAP\n#include "{header}"\n#undef MT_ANY\nMT_HOOKS(H)\nMT_DRIVER_HOOKS(D)\n'
    return subprocess.run([*compiler, "-E", "-P", "-x", "c", "-"], input=source, check=True, text=True,
                          stdout=subprocess.PIPE).stdout


def symbols(text, table="HD"):
    """The symbols of the runtime's and PyTorch's table (H), of the driver's (D), or of both."""
    found = set(re.findall(r'\bH\(\w+,\s*"(\w+)"', text)) if "H" in table else set()
    return found | (set(re.findall(r'\bD\(\w+,\s*"\w+",\s*"(\w+)"', text)) if "D" in table else set())
