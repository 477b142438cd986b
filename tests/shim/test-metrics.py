# SPDX-License-Identifier: Apache-2.0
"""test-metrics.py MEMTAP SHIM: memtap metrics --follow next to a running program: the file is whole whenever it is read, grows with
the program, and has at the end what memtap metrics prints; then memtap metrics ends, however the program did. Likewise the profiles of
memtap export --every, of which so many remain as are to be kept."""
import contextlib
import gzip
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import openmetrics
import wire
from checks import check, finish, until

memtap, shim = (os.path.abspath(path) for path in sys.argv[1:])
program = str(pathlib.Path(__file__).with_name("top-program.py"))


def figure(families, name, **labels):
    return next((value for own, value in families[name]["samples"] if labels.items() <= own.items()), None)


def wait_until(file, holds):
    """The families once they hold; each state of the file that is seen must be whole."""
    def read():
        families = file.exists() and openmetrics.read(file.read_text())
        return families if families and holds(families) else None

    families = until(read)
    assert families, f"{file} does not come to that"
    return families


def follow(folder, number):
    trace, file = folder / "t.mtap", folder / "memtap.prom"
    follower = subprocess.Popen([memtap, "metrics", "--follow", "--every", "0.1", "-o", str(file), str(trace)], stderr=subprocess.PIPE,
                                text=True)  # before there is a trace
    environment = {**os.environ, "LD_PRELOAD": shim, "MEMTAP_OUTPUT": str(trace), "MEMTAP_QUIET": "1"}
    process = subprocess.Popen([sys.executable, program], env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        first = wait_until(file, lambda families: figure(families, "memtap_allocated_bytes"))
        bytes_first = figure(first, "memtap_allocated_bytes")
        check(figure(first, "memtap_run_state", state="running") == 1, "running", first["memtap_run_state"])
        check(bytes_first >= 64 << 20, "64 MiB at least", bytes_first)
        later = wait_until(file, lambda families: figure(families, "memtap_allocated_bytes") > bytes_first)
        parts = sum(value for _, value in later["memtap_peak_category_allocated_bytes"]["samples"])
        check(parts == figure(later, "memtap_peak_allocated_bytes") > 0, "the peak so far has its categories", parts)
    finally:
        process.send_signal(number)
        process.wait()
        said = follower.communicate()[1]
    printed = subprocess.run([memtap, "metrics", str(trace)], stdout=subprocess.PIPE, text=True, check=True).stdout
    check(follower.returncode == 0 and not said, "it ends with the program", follower.returncode, said)
    check(file.read_text() == printed, "the end is the finished trace's", file.read_text(), printed)
    check(figure(openmetrics.read(printed), "memtap_run_state", state="running") == 0, "no longer running")
    check(not [each for each in folder.iterdir() if ".tmp" in each.name], "nothing else is left", *folder.iterdir())


def live_bytes(profile):
    return sum(wire.packed(wire.first(sample, 2))[1] for sample in wire.every(gzip.decompress(profile), 2))


def follow_by_profiles(folder):
    trace, profiles, seen = folder / "t.mtap", folder / "profiles", {}
    profiles.mkdir()
    old = profiles / "memtap-20200101T000000Z.pb.gz"
    for other in (old, profiles / "memtap-20200101.pb.gz"):  # the second one is not ours
        other.touch()
    follower = subprocess.Popen([memtap, "export", "-f", "pprof", "--every", "1s", "--keep", "2", "-o", str(profiles), str(trace)],
                                stderr=subprocess.PIPE, text=True)
    environment = {**os.environ, "LD_PRELOAD": shim, "MEMTAP_OUTPUT": str(trace), "MEMTAP_QUIET": "1"}
    process = subprocess.Popen([sys.executable, program], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    most = 0

    def four_are_seen():
        nonlocal most
        there = sorted(set(profiles.glob("memtap-*T*")) - {old})
        most = max(most, len(there))
        for each in there:
            with contextlib.suppress(FileNotFoundError):  # removed since
                seen.setdefault(each.name, each.read_bytes())
        return len(seen) >= 4

    try:
        until(four_are_seen)
    finally:
        process.send_signal(signal.SIGINT)
        process.wait()
        said = follower.communicate()[1]
    left = sorted(each.name for each in profiles.iterdir())
    sizes = [live_bytes(profile) for profile in seen.values()]
    check(len(seen) >= 4 and sizes == sorted(sizes) and sizes[0] < sizes[-1], "a profile each second, with what is live", sizes)
    check(all(wire.first(gzip.decompress(each), 9) >> 60 for each in seen.values()), "a profile says when it is")
    check(len(left) == 3 and left[0] == "memtap-20200101.pb.gz", "so many remain, and what is not ours", left)
    check(most <= 3, "never more than one too many", most)
    check(follower.returncode == 0 and not said, "it ends with the program", follower.returncode, said)
    at_end = subprocess.run([memtap, "export", "-f", "pprof", "--at", "end", str(trace)], stdout=subprocess.PIPE, check=True).stdout
    last = (profiles / left[-1]).read_bytes()
    check(live_bytes(last) == live_bytes(at_end) > 64 << 20, "the last one has what is live at the end", live_bytes(last), live_bytes(at_end))


with tempfile.TemporaryDirectory() as place:
    follow_by_profiles(pathlib.Path(place))
for how in (signal.SIGINT, signal.SIGKILL):
    with tempfile.TemporaryDirectory() as place:
        follow(pathlib.Path(place), how)
finish()
