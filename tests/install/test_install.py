# SPDX-License-Identifier: Apache-2.0
"""test_install.py BUILD PREFIX: what `meson install` leaves works where it lies: the command finds its
libraries, man pages and completion are where they are looked for, and a program that reads traces
compiles by pkg-config alone."""
import os
import pathlib
import sys
import tempfile

from installed import check_there, check_works, run

build, prefix = sys.argv[1:]

READER = r"""
#include <stdio.h>
#include <trace-format/encoder.h>
#include <trace-format/reader.h>
int main(int argc, char **argv)
{
    struct mt_reader *reader;
    struct mt_trace_error error;
    struct mt_batch batch;
    size_t events = 0;
    if (argc != 2 || mt_reader_open(&reader, argv[1], &error))
        return 2;
    while (mt_reader_next(reader, &batch, &error) > 0)
        events += batch.type == MT_BATCH_EVENTS ? batch.n_events : 0;
    mt_reader_close(reader);
    printf("%zu events\n", events);
    return 0;
}
"""

with tempfile.TemporaryDirectory() as folder:
    run("meson", "install", "--no-rebuild", "-C", build, "--destdir", folder)
    root = pathlib.Path(folder + prefix)
    memtap = root / "bin" / "memtap"
    assert pathlib.Path(run(memtap, "lib").strip()).is_relative_to(root.resolve())
    check_works(memtap, sys.executable, folder)
    check_there(root / "share", "man/man1/memtap-report.1", "man/man7/libmemtap.7", "zsh/site-functions/_memtap",
                "bash-completion/completions/memtap.bash", "fish/vendor_completions.d/memtap.fish")
    check_there(root / "include", "memtap.h")
    assert any(root.rglob("python*/*-packages/memtap/__init__.py"))
    check_there(next(root.rglob("libmemtap.so")).parent, "libmemtap-reader.so")

    pc = next(root.rglob("memtap-trace.pc"))
    flags = run("pkg-config", "--cflags", "--libs", "memtap-trace",
                env={**os.environ, "PKG_CONFIG_PATH": str(pc.parent), "PKG_CONFIG_SYSROOT_DIR": ""})
    # The tree is not where it will be.
    flags = flags.replace(prefix + "/", str(root) + "/").split()
    pathlib.Path(folder, "read.c").write_text(READER)
    run(os.environ.get("CC", "cc"), "-o", "read", "read.c", *flags, cwd=folder)
    assert int(run("./read", "trace.mtap", cwd=folder).split()[0]) >= 10
