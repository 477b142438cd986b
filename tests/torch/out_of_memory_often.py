# SPDX-License-Identifier: Apache-2.0
"""out_of_memory_often.py: runs out of memory 200 times, while other threads allocate and end; and waits for any child meanwhile."""
import os
import threading
import time

import torch

end = threading.Event()
seen = set()


def allocate():
    """Python's, the C library's, and PyTorch's memory, all the time."""
    kept = []
    while not end.is_set():
        kept.append([bytearray(1 << 16), {}, torch.ones(1000)])
        if len(kept) > 100:
            kept.clear()
        threading.Thread(target=lambda: None).start()


def wait_for_any():
    while not end.is_set():
        try:
            seen.add(os.waitpid(-1, os.WNOHANG)[0])
        except ChildProcessError:
            seen.add("none")
        time.sleep(0.001)


def children():
    own = []
    for name in os.listdir("/proc"):
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8") as stat:
                parent = stat.read().rsplit(")", 1)[1].split()[1]
        except OSError:
            continue
        if name.isdigit() and int(parent) == os.getpid():
            own.append(name)
    return own


threads = [threading.Thread(target=run) for run in (allocate, allocate, wait_for_any)]
for thread in threads:
    thread.start()
device = torch.zeros(1000, device="cuda")
times = 0
for i in range(200):
    try:
        torch.empty(1 << 45, device="cuda")
    except torch.cuda.OutOfMemoryError:
        times += 1
end.set()
for thread in threads:
    thread.join()
while children():  # the recorder's own thread waits for them
    time.sleep(0.01)
print(f"{times} times, children: {', '.join(map(str, seen))}, left: none")
