# SPDX-License-Identifier: Apache-2.0
"""Makes a job of many ranks from recordings of tests/zoo/pipeline_ranks.py with four ranks each:

    many_ranks.py MAKE-RANKS RECORDINGS OUT RANKS [NIGHT]

RECORDINGS has a folder for each of plain, long, short (other lengths of sequences), leak, activation, late and cache (a rank
that is unlike its stage). Of the OUT job's ranks a quarter are of each stage; they have the three lengths in turn. Of 16 ranks
and more, one is of each odd recording. Prints what is odd, as JSON.

Or RECORDINGS has a folder night-0, night-1, ... for each night, with one rank for each of four stages and four places of experts
(pipeline_ranks.py --experts 8 --places 4 as rank 0 to 15): the ranks of a stage have its places in turn, and none is odd."""
import json
import pathlib
import subprocess
import sys

STAGES = PLACES = 4
LENGTHS = ("plain", "long", "short")
ODD = {"leak": 2, "activation": 1, "late": 3, "cache": 0}  # in which stage
START_NS = 1_795_000_000_000_000_000
DAY_NS = 86_400_000_000_000


def odd_ranks(ranks):
    """A rank in the middle of its stage, by what is odd in it."""
    each = ranks // STAGES
    return {name: stage * each + each // 2 for name, stage in ODD.items()} if each >= 4 else {}


def lines(recordings, out, ranks, night, odd):
    names = {rank: name for name, rank in odd.items()}
    for rank in range(ranks):
        stage = rank * STAGES // ranks
        recording = recordings / names.get(rank, LENGTHS[rank % len(LENGTHS)]) / f"trace-{stage}.mtap"
        if not names and (recordings / f"night-{night}").is_dir():
            recording = recordings / f"night-{night}" / f"trace-{stage * PLACES + rank % PLACES}.mtap"
        infos = {"rank": rank, "world_size": ranks, "local_rank": rank % 8, "host": f"node{rank // 8:04d}", "pid": 1000 + rank,
                 "env.RANK": rank, "env.WORLD_SIZE": ranks, "start_realtime_ns": START_NS + night * DAY_NS + rank}
        yield "\t".join([str(recording), str(out / f"trace-{rank:04d}.mtap"),
                         *(f"{key}={value}" for key, value in infos.items())])


def make(maker, recordings, out, ranks, night=0, odd=None):
    """Returns the odd ranks."""
    if odd is None:
        odd = {} if (recordings / f"night-{night}").is_dir() else odd_ranks(ranks)
    out.mkdir(parents=True, exist_ok=True)
    subprocess.run([maker], input="\n".join(lines(recordings, out, ranks, night, odd)) + "\n", text=True, check=True)
    return odd


if __name__ == "__main__":
    program, base, to, number = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3]), int(sys.argv[4])
    print(json.dumps(make(program, base, to, number, int(sys.argv[5]) if len(sys.argv) > 5 else 0)))
