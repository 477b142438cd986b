# SPDX-License-Identifier: Apache-2.0
"""deb.py WHEEL OUT: turns a finished wheel into a Debian package: the same files, in the places that Debian expects. The package needs
only glibc, so it installs on Debian 11, Ubuntu 20.04 and anything newer. Requires dpkg-deb. The same wheel gives the same bytes. Prints
the package's name."""

import gzip
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from email.utils import formatdate

import sysroot

# The place in the wheel, and the place on the system.
PLACES = (
    (r"memtap-[^/]*\.data/scripts/", "usr/bin/"),
    (r"memtap-[^/]*\.data/data/", "usr/"),
    (r"memtap-[^/]*\.data/(?:pure|plat)lib/", "usr/lib/python3/dist-packages/"),
    (r"(?=memtap/)", "usr/lib/python3/dist-packages/"),
    (r"memtap-[^/]*\.dist-info/sboms/", "usr/share/doc/memtap/"),
    (r"memtap-[^/]*\.dist-info/licenses/(?!LICENSE)", "usr/share/doc/memtap/licenses/"),
)
MOVED = (("usr/share/zsh/site-functions", "usr/share/zsh/vendor-completions"),)
MAINTAINER = f"{os.environ.get('DEBFULLNAME', 'memtap')} <{os.environ.get('DEBEMAIL', 'memtap@localhost')}>"
CONTROL = """Package: memtap
Version: {version}-1
Architecture: {cpu}
Maintainer: {maintainer}
Installed-Size: {kib}
Depends: libc6 (>= {glibc}), libgcc-s1 | libgcc1
Suggests: python3
Section: devel
Priority: optional
Description: GPU memory profiler for PyTorch and CUDA programs
 memtap records the GPU memory of an unmodified program and explains it: which
 bytes are parameters, gradients, optimizer state or activations, and which line
 requested them. Without a GPU it runs the program on a simulated card.
"""
COPYRIGHT = """Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: memtap

Files: *
Copyright: 2026 memtap's authors
License: Apache-2.0
 On Debian systems the text of the Apache License, version 2.0, is in
 /usr/share/common-licenses/Apache-2.0.
Comment:
 The libraries that are linked in, with their versions, are in
 memtap.cdx.json next to this file, their licences in licenses/.
"""
OVERRIDES = """# One package for many releases carries what it needs; memtap.cdx.json lists it.
memtap: embedded-library *
# Stand-ins for CUDA's libraries, whose functions only call those of libcudasim.so.
memtap: library-not-linked-against-libc *
memtap: shared-library-lacks-prerequisites *
# Not one of Debian's own packages: no Debian bug requests it, and $DEBEMAIL names the maintainer.
memtap: initial-upload-closes-no-bugs *
memtap: bogus-mail-host *
memtap: bogus-mail-host-in-debian-changelog *
"""


def place(name):
    for pattern, target in PLACES:
        found = re.match(pattern, name)
        if found:
            path = target + name[found.end() :]
            for old, new in MOVED:
                path = path.replace(old, new)
            return path
    return None


def write(root, name, data, mode=0o644):
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    path.chmod(mode)


def compressed(data):
    return gzip.compress(data, 9, mtime=0)


def fill(root, wheel, version, stamp):
    with zipfile.ZipFile(wheel) as files:
        for entry in files.infolist():
            path = place(entry.filename)
            if not path:
                continue
            data = files.read(entry)
            if path.startswith("usr/share/man/"):
                path, data = path + ".gz", compressed(data)
            write(root, path, data, 0o755 if path.startswith("usr/bin/") else 0o644)
    (root / "usr/share/bash-completion/completions/memtap.bash").rename(
        root / "usr/share/bash-completion/completions/memtap"
    )
    doc = "usr/share/doc/memtap/"
    write(root, doc + "copyright", COPYRIGHT.encode())
    date = formatdate(stamp, usegmt=True).replace("GMT", "+0000")
    entry = (
        f"memtap ({version}-1) unstable; urgency=medium\n\n  * Release {version}; its changes are in changelog.gz.\n\n"
        f" -- {MAINTAINER}  {date}\n"
    )
    write(root, doc + "changelog.Debian.gz", compressed(entry.encode()))
    write(root, doc + "changelog.gz", compressed((sysroot.HERE.parent / "CHANGELOG.md").read_bytes()))
    write(root, "usr/share/lintian/overrides/memtap", OVERRIDES.encode())


def main(wheel, out):
    version = pathlib.Path(wheel).name.split("-")[1]
    stamp = max(int(os.environ["SOURCE_DATE_EPOCH"]), 315532800)
    path = pathlib.Path(out, f"memtap_{version}-1_{sysroot.DEBIAN_CPU}.deb")
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder, "memtap")
        fill(root, wheel, version, stamp)
        kib = sum((one.stat().st_size + 1023) // 1024 for one in root.rglob("*") if one.is_file())
        control = CONTROL.format(
            version=version, cpu=sysroot.DEBIAN_CPU, kib=kib, glibc=sysroot.GLIBC, maintainer=MAINTAINER
        )
        write(root, "DEBIAN/control", control.encode())
        sums = subprocess.run(
            "find usr -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum",
            shell=True,
            cwd=root,
            check=True,
            capture_output=True,
        ).stdout
        write(root, "DEBIAN/md5sums", sums)
        for one in [root, *root.rglob("*")]:
            if one.is_dir():
                one.chmod(0o755)
            os.utime(one, (stamp, stamp))
        done = subprocess.run(
            ["dpkg-deb", "--root-owner-group", "-Zxz", "--build", root, path],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            sysroot.fail(f"dpkg-deb cannot build the package: {done.stderr.strip()}")
    print(path)


if __name__ == "__main__":
    if not shutil.which("dpkg-deb"):
        sysroot.fail("dpkg-deb, which builds the package, is missing; run this on Debian 12")
    main(*sys.argv[1:])
