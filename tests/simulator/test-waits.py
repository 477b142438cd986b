# SPDX-License-Identifier: Apache-2.0
"""test-waits.py CUDASIM LIBDIR RANK-WAITS: whoever waits for others for long says for whom, once, and goes on waiting."""
import os
import pathlib
import socket
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
from checks import check, finish

CUDASIM, LIBDIR, RANK_WAITS = (str(pathlib.Path(path).resolve()) for path in sys.argv[1:4])
ENVIRONMENT = {**os.environ, "CUDASIM_PATIENCE": "1"}


def start(*command, options=(), **more):
    return subprocess.Popen([CUDASIM, LIBDIR, *options, "--", *command], stderr=subprocess.PIPE, text=True, env=ENVIRONMENT, **more)


def ended(processes):
    for process in processes:
        process.kill()
        process.communicate()


def ranks(how, numbers):
    return [start(RANK_WAITS, str(rank), how) for rank in numbers]


def test_start():
    """Rank 0 waits for both others, rank 2 for those below."""
    for first, line in ((0, "rank 0 of 3 has waited 1 s for 1, 2 to start; still waiting"),
                        (2, "rank 2 of 3 has waited 1 s for 0, 1 to start; still waiting")):
        waiting = ranks("starts", [first])
        said = waiting[0].stderr.readline()
        check(said == f"cudasim: NCCL: {line}\n", f"{said!r}")
        # It does go on: the others come, and all end well.
        others = ranks("starts", {0, 1, 2} - {first})
        codes = [process.wait() for process in waiting + others]
        check(codes == [0, 0, 0], f"exit codes {codes}")
        ended(waiting + others)


def test_call():
    """Rank 2 makes no call."""
    both = ranks("reduces", [0, 1, 2])
    said = [next(line for line in process.stderr if "to start" not in line) for process in both[:2]]  # all may take their time
    wanted = [f"cudasim: NCCL: rank {rank} of 3 has waited 1 s for 2 to make the same call; still waiting\n" for rank in range(2)]
    check(said == wanted, f"{said}")
    ended(both)


def test_file(folder):
    """A rank that is alone waits for a file of another one; it ends once the file is there."""
    loop = "while [ ! -e flag ]; do sleep 0.1; done; echo ended >&2"
    waiting = start("sh", "-c", loop, options=["--world-size", "4", "--rank", "3"], cwd=folder)
    said = waiting.stderr.readline()
    check(said.startswith("cudasim: rank 3 of 4 is simulated alone, and has waited ") and
          " s for flag, which another rank may write; still waiting; run that rank first" in said, f"{said!r}")
    (pathlib.Path(folder) / "flag").touch()
    rest = waiting.stderr.read()
    check(rest == "ended\n" and not waiting.wait(), f"one line is enough: {rest!r}")


# How a rank may wait for another in a socket of its own; another thread's wait is nobody's concern.
LISTENS = """
import socket, threading
aside = socket.create_server(("127.0.0.1", 0))
threading.Thread(target=aside.accept, daemon=True).start()
at = socket.create_server(("127.0.0.1", 0))
print(at.getsockname()[1], flush=True)
"""
ASKS = """
import socket, sys, time
while True:
    try:
        print(socket.create_connection(("127.0.0.1", int(sys.argv[1]))).recv(9))
        break
    except ConnectionRefusedError:
        time.sleep(0.05)
"""


def alone(program, *arguments):
    return start(sys.executable, "-c", program, *map(str, arguments), options=["--world-size", "4", "--rank", "3"],
                 stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def check_wait(waiting, wanted):
    said = waiting.stderr.readline()
    check(said.startswith("cudasim: rank 3 of 4 is simulated alone, and has waited ") and
          f" s for {wanted}, as another rank may; still waiting" in said, f"{said!r}, not {wanted!r}")


def check_end(waiting, peer):
    """It goes on waiting, says nothing more, and gets what comes."""
    peer.sendall(b"come")
    out, rest = waiting.communicate()
    check(out == "b'come'\n" and not rest and not waiting.returncode, f"it goes on: {out!r}, {rest!r}")
    peer.close()


def test_sockets():
    accepts, receives = alone(LISTENS + "print(at.accept()[0].recv(9))"), alone(LISTENS + "input(); one = at.accept()[0]; print(one.recv(9))")
    ports = [int(waiting.stdout.readline()) for waiting in (accepts, receives)]
    silent = socket.create_connection(("127.0.0.1", ports[1]))
    print(file=receives.stdin, flush=True)
    closed = socket.socket()
    closed.bind(("127.0.0.1", 0))
    asks = alone(ASKS, closed.getsockname()[1])
    check_wait(accepts, f"a process to connect to 127.0.0.1:{ports[0]}")
    check_wait(receives, f"127.0.0.1:{silent.getsockname()[1]} to send something")
    check_wait(asks, f"a process to listen at 127.0.0.1:{closed.getsockname()[1]}")
    closed.listen()
    check_end(accepts, socket.create_connection(("127.0.0.1", ports[0])))
    check_end(receives, silent)
    check_end(asks, closed.accept()[0])
    closed.close()


test_start()
test_call()
test_sockets()
with tempfile.TemporaryDirectory(prefix="memtap-test-") as WORK:
    test_file(WORK)
finish()
