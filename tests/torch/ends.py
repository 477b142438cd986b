# SPDX-License-Identifier: Apache-2.0
"""A program that allocates a little and then ends in the way of its first argument (test_ended.py); by CUDA itself where PyTorch, which
takes a second to import, has no part in the end."""
import ctypes
import os
import signal
import subprocess
import sys

TOO_MUCH = 1 << 45
BY_CUDA = "plain", "exit", "_exit", "abort", "killed", "crash", "exec"
if sys.argv[1] not in (*BY_CUDA, "ranks"):
    import torch


def use_memory(how):
    if how not in BY_CUDA:
        return torch.zeros(1024, 1024, device="cuda"), torch.zeros(10, device="cuda")
    cuda, at = ctypes.CDLL("libcudart.so.13"), ctypes.c_void_p()
    assert cuda.cudaMalloc(ctypes.byref(at), ctypes.c_size_t(4 << 20)) == 0
    return at


def caught():
    try:
        torch.empty(TOO_MUCH, device="cuda")
    except torch.OutOfMemoryError:
        pass


def ranks():
    """This process has no memory of its own: two that have, of which one runs out of it."""
    children = [subprocess.Popen([sys.executable, __file__, how], env={**os.environ, "RANK": str(rank)})
                for rank, how in enumerate(("well", "oom"))]
    sys.exit(max(child.wait() for child in children))


def end(how):
    if how == "ranks":
        ranks()
    kept = use_memory(how)
    if how == "oom":
        torch.empty(TOO_MUCH, device="cuda")
    elif how == "oom_signal":
        caught()
        os.abort()
    elif how == "caught":
        caught()
        torch.zeros(10, device="cuda")
    elif how == "caught_last":
        caught()
    elif how == "caught_then_exit":
        caught()
        torch.zeros(10, device="cuda")
        sys.exit(3)
    elif how == "raise":
        raise ValueError(how)
    elif how == "exit":
        sys.exit(3)
    elif how == "_exit":
        os._exit(4)
    elif how == "abort":
        os.abort()
    elif how == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif how == "killed":  # by somebody else, whom no hook sees
        subprocess.run(["kill", "-KILL", str(os.getpid())], check=False)
    elif how == "crash":
        ctypes.string_at(0)
    elif how == "wait":
        print("ready", flush=True)
        input()
    elif how == "exec":
        os.execv("/bin/sh", ["sh", "-c", "exit 0"])
    del kept


end(sys.argv[1])
