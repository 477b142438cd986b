# SPDX-License-Identifier: Apache-2.0
"""test-old-glibc.py FILE...: programs and libraries need no function that glibc 2.28 does not have.

The versions that they ask for here are this machine's glibc's, and tell nothing: pthread_create is of
2.34 since it moved then. What has come later has no older version in the C library itself."""
import re
import subprocess
import sys

OLDEST = (2, 28)
# Older headers have these as inline functions, or under another name; the last one is the compiler's.
KNOWN_BEFORE = re.compile(r"(f|l|)stat(at|)(64|)|mknod(at|)|__isoc23_\w+|__memcmpeq")


def symbols(path, which):
    """(name, its version as numbers) of what the dynamic table defines or needs of the C library."""
    listing = subprocess.run(["nm", "-D", which, path], check=True, text=True,
                             stdout=subprocess.PIPE).stdout
    for name, version in re.findall(r"(\w+)@+GLIBC_([\d.]+)$", listing, re.M):
        yield name, tuple(int(number) for number in version.split("."))


def c_library():
    for line in open("/proc/self/maps"):
        path = line.split()[-1]
        if re.search(r"/libc(\.so\.6|-[\d.]+\.so)$", path):
            return path
    print("this machine has another C library")
    sys.exit(77)


oldest = {}
for name, version in symbols(c_library(), "--defined-only"):
    oldest[name] = min(version, oldest.get(name, version))
newer = {name for name, version in oldest.items()
         if version > OLDEST and not KNOWN_BEFORE.fullmatch(name)}
faults = seen = 0
for library in sys.argv[1:]:
    needed = {name for name, version in symbols(library, "--undefined-only")}
    seen += len(needed)
    for name in sorted(needed & newer):
        faults += 1
        print(f"{library} needs {name}, of glibc {'.'.join(map(str, oldest[name]))}")
is_new_here = max(oldest.values()) > OLDEST
print(f"{len(newer)} functions are newer than glibc {'.'.join(map(str, OLDEST))}")
print(f"{seen} uses of functions")
sys.exit(bool(faults) or not seen or is_new_here != bool(newer))
