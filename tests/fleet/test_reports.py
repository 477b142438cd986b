# SPDX-License-Identifier: Apache-2.0
"""test_reports.py MAKE-TRACES MAKE-RANKS MEMTAP SANITIZE: memtap report of many ranks is the same whatever the order of the
operands, has each rank's own report to the byte and a row for each kind of many ranks, takes no more memory for more ranks, and
says where it needs room."""
import json
import os
import pathlib
import random
import resource
import signal
import subprocess
import sys
import tempfile

make_traces, make_ranks, memtap = map(os.path.abspath, sys.argv[1:4])
is_plain = sys.argv[4] == "none"
FEW, MANY = 8, 256
KINDS = ("training", "mixed", "native")


def make_job(recordings, top, ranks):
    top.mkdir()
    lines = []
    for rank in range(ranks):
        infos = [f"rank={rank}", f"world_size={ranks}", f"env.RANK={rank}", f"env.WORLD_SIZE={ranks}", f"host=node{rank}"]
        lines.append("\t".join([str(recordings / f"{KINDS[rank % len(KINDS)]}.mtap"), str(top / f"{rank:03d}.mtap"), *infos]))
    subprocess.run([make_ranks], input="\n".join(lines) + "\n", text=True, check=True)
    return sorted(top.iterdir())


def run(*words, code=0, limit=None):
    def prepare():
        if limit:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    done = subprocess.run([memtap, *map(str, words)], capture_output=True, check=False, preexec_fn=prepare)
    assert done.returncode == code, (words[:4], done.returncode, done.stderr)
    return done


def check_order(paths):
    mixed = paths[:]
    random.Random(1).shuffle(mixed)
    for options in (["report"], ["report", "--format", "json"], ["report", "--format", "json", "--by", "file"]):
        assert run(*options, *paths).stdout == run(*options, *mixed).stdout, options


def check_pieces(paths):
    whole = run("report", "--format", "json", *paths).stdout.decode()
    read = json.loads(whole)
    assert list(read) == ["schema", "highest", "imbalance", "shared", "ranks"] and len(read["ranks"]) == len(paths)
    peaks = [one["report"]["peak"]["allocated"] for one in read["ranks"]]
    assert read["highest"] == peaks.index(max(peaks)) and read["imbalance"]["above"] == max(peaks) - sorted(peaks)[(len(peaks) - 1) // 2]
    at = 0
    for rank, path in enumerate(paths):
        own = run("report", "--format", "json", path).stdout.decode().rstrip("\n").replace("\n", "\n      ")
        piece = f'    {{\n      "rank": {rank},\n      "report": {own}\n    }}'
        at = whole.index(piece, at) + len(piece)
        assert whole[at:at + 2] == (",\n" if rank < len(paths) - 1 else "\n "), whole[at:at + 20]
    assert whole[at:] == "\n  ]\n}\n"


def check_kinds(paths):
    """Of many ranks each kind has a row: its first rank, and how many are alike; the highest peak first."""
    lines = run("report", *paths).stdout.decode().splitlines()
    first = next(at for at, line in enumerate(lines) if line.startswith("rank  alike")) + 1
    rows = [line.split()[:2] for line in lines[first:lines.index(" identical ranks share a row; -f json lists each")]]
    assert sorted(rows) == [["0", "86"], ["1", "85"], ["2", "85"]], rows
    assert lines[0].startswith(f"The peak of rank {rows[0][0]} on device 0 is "), lines[0]
    assert f"{MANY} processes of one job" in lines


def memory(*words):
    """The most memory that the command had, in KiB."""
    process = subprocess.Popen([memtap, *map(str, words)], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    assert status == 0
    return used.ru_maxrss


def main():
    with tempfile.TemporaryDirectory() as name:
        work = pathlib.Path(name)
        (work / "recordings").mkdir()
        subprocess.run([make_traces, "."], cwd=work / "recordings", check=True)
        few, many = make_job(work / "recordings", work / "few", FEW), make_job(work / "recordings", work / "many", MANY)
        check_order(few)
        check_pieces(few)
        check_kinds(many)
        for form in ("json", "text"):
            a, b = memory("report", "--format", form, *few), memory("report", "--format", form, *many)
            assert not is_plain or b - a < MANY * 4, (form, a, b)  # an analysis of such a trace takes 1,600 KiB
        said = run("report", "--format", "json", *few, code=2, limit=4096)
        assert said.stdout == b"" and b"cannot write a temporary file" in said.stderr and said.stderr.count(b"\n") == 1, said


main()
