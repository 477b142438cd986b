# SPDX-License-Identifier: Apache-2.0
"""drive.py FOLDER SEED EVENTS PATTERN: drives PyTorch's own allocator with random requests on the
simulated card, and writes them (as planner/allocator/requests.h has them) and what the allocator had
after each. Prints a line of JSON: the release, the card, what was asked."""
import json
import random
import struct
import sys
import warnings
from pathlib import Path

import torch

(ALLOCATE, FREE, RECORD, COMPLETE, EMPTY, FRACTION, BEGIN, END, RELEASE, CREATE, OTHERS,
 MARK) = range(12)
CAPTURES = 1
KIB, MIB = 1 << 10, 1 << 20
REQUEST, STATE = struct.Struct("<QIHH"), struct.Struct("<6Q")
COUNTERS = ("allocated_bytes", "reserved_bytes", "active_bytes", "requested_bytes",
            "inactive_split_bytes")


def sizes(random, largest):
    """Sizes as programs have them: a few that come again and again, and any."""
    ranges = [(1, 4 * KIB), (4 * KIB, MIB), (MIB - 600, MIB + 600), (MIB, 10 * MIB),
              (10 * MIB - 600, 10 * MIB + 600), (10 * MIB, 64 * MIB), (64 * MIB, largest)]
    weights = [6, 6, 1, 4, 1, 3, 1]

    def any_size():
        low, high = random.choices(ranges, weights)[0]
        size = int(low * (high / low)**random.random()) if high > low else high
        return size // 512 * 512 or 512 if random.random() < 0.5 else size

    usual = [any_size() for _ in range(random.randint(3, 30))]
    return lambda: random.choice(usual) if random.random() < 0.75 else any_size()


class Driver:

    def __init__(self, seed, pattern):
        self.random = random.Random(seed)
        self.pattern = pattern
        self.requests, self.states = bytearray(), bytearray()
        self.live = {}  # number -> (pointer or tensor, size, pool)
        self.numbers = []  # that are free
        self.last_number = 0
        self.held = 0
        self.streams = [torch.cuda.current_stream(), torch.cuda.Stream(), torch.cuda.Stream()]
        self.pools, self.last_pool, self.inside = {}, 0, None
        free, self.total = torch.cuda.mem_get_info()
        self.others = self.total - free
        self.counts = [0] * 12
        self.later = []  # freed in a capture, and to be completed after it
        self.ooms = 0
        self.size = sizes(self.random, max(65 * MIB, self.total // 8))

    def note(self, kind, size=0, block=0, stream=0, pool=0):
        self.requests += REQUEST.pack(size, block, stream, pool | kind << 12)
        stats = torch._C._cuda_memoryStats(0)
        self.states += STATE.pack(*[stats[name]["all"]["current"] for name in COUNTERS],
                                  stats["num_ooms"] + stats.get("num_oom_rejections", 0))
        self.counts[kind] += 1

    def keep_graphs(self):
        """What the random generator allocates with the first graph, and keeps while there is one."""
        self.keeper = torch.cuda.CUDAGraph()
        with torch.cuda.stream(self.streams[1]):
            self.keeper.capture_begin()
            self.keeper.capture_end()
        stats = torch._C._cuda_memoryStats(0)
        # What was allocated before: as many requests of 8 bytes.
        count = stats["allocation"]["all"]["current"]
        split = stats["inactive_split_bytes"]["all"]["current"] > 0  # not of expandable segments
        for number in range(count):
            self.requests += REQUEST.pack(8, number, 1, ALLOCATE << 12)
            self.states += STATE.pack(512 * (number + 1), 2 * MIB, 512 * (number + 1),
                                      8 * (number + 1), split * (2 * MIB - 512 * (number + 1)), 0)
        self.last_number = count

    def number(self):
        if self.numbers:
            return self.numbers.pop()
        self.last_number += 1
        return self.last_number - 1

    def allocate(self):
        size = self.size()
        index = self.inside[1] if self.inside else self.random.choices((0, 1, 2), (8, 1, 1))[0]
        pool = self.inside[0] if self.inside else 0
        stream = self.streams[index]
        number = self.number()
        as_tensor = self.pattern["record"] and self.random.random() < self.pattern["record"]
        try:
            if as_tensor:
                with torch.cuda.stream(stream):
                    block = torch.empty(size, dtype=torch.uint8, device="cuda")
            else:
                block = torch._C._cuda_cudaCachingAllocator_raw_alloc(size, stream.cuda_stream)
        except RuntimeError as error:
            if "out of memory" not in str(error):
                raise
            self.ooms += 1
            self.note(ALLOCATE, size, number, index, pool)
            self.note(FREE, block=number)
            self.numbers.append(number)
            return
        self.note(ALLOCATE, size, number, index, pool)
        self.live[number] = (block, size, index)
        self.held += size
        if as_tensor:
            for other in self.random.sample(range(3), self.random.randint(0, 2)):
                block.record_stream(self.streams[other])
                self.note(RECORD, block=number, stream=other)

    def free(self, number):
        block, size, _ = self.live.pop(number)
        if isinstance(block, int):
            torch._C._cuda_cudaCachingAllocator_raw_delete(block)
            del block
            self.note(FREE, block=number)
            self.numbers.append(number)
        else:
            del block
            self.note(FREE, block=number)
            if self.inside:
                self.later.append(number)
            else:
                self.note(COMPLETE, block=number)  # streams of the simulated card are always done
                self.numbers.append(number)
        self.held -= size

    def pick(self):
        """The one that is freed: the last, the first, or any."""
        way = self.random.random()
        if way < 0.4:
            return next(reversed(self.live))
        if way < 0.5:
            return next(iter(self.live))
        return self.random.choice(list(self.live)) if len(self.live) < 200 else \
            list(self.live)[self.random.randrange(len(self.live))]

    def empty(self):
        if not self.inside:
            torch.cuda.empty_cache()
            self.note(EMPTY)

    def fraction(self):
        fraction = self.random.choice((1.0, 0.9, 0.75, 0.5))
        torch.cuda.set_per_process_memory_fraction(fraction)
        self.note(FRACTION, struct.unpack("<Q", struct.pack("<d", fraction))[0])

    # --- private pools ---

    def capture(self):
        """Begins a graph, which may share the pool of another."""
        pool = self.random.choice(list(self.pools)) if self.pools and self.random.random() < 0.3 else 0
        graph = torch.cuda.CUDAGraph()
        stream = torch.cuda.stream(self.streams[1])
        stream.__enter__()
        graph.capture_begin(*([self.pools[pool][0].pool()] if pool else []),
                            capture_error_mode="relaxed")
        if not pool:
            self.last_pool += 1
            pool = self.last_pool
            self.pools[pool] = []
        self.pools[pool].append(graph)
        self.inside = (pool, 1, graph, stream)
        self.note(BEGIN, CAPTURES, pool=pool)

    def end_capture(self):
        pool, _, graph, stream = self.inside
        graph.capture_end()
        stream.__exit__(None, None, None)
        self.inside = None
        self.note(END, pool=pool)
        for number in self.later:
            self.note(COMPLETE, block=number)
        self.numbers += self.later
        self.later = []

    def release_graph(self):
        pool = self.random.choice(list(self.pools))
        self.pools[pool].pop().reset()
        if not self.pools[pool]:
            del self.pools[pool]
        self.note(RELEASE, pool=pool)

    def graphs(self):
        if self.inside:
            self.end_capture()
        elif self.pools and self.random.random() < 0.4:
            self.release_graph()
        else:
            self.capture()

    def step(self):
        way = self.random.random()
        pattern = self.pattern
        if way < pattern["empty"]:
            self.empty()
        elif way < pattern["empty"] + pattern["fraction"]:
            self.fraction()
        elif way < pattern["empty"] + pattern["fraction"] + pattern["graphs"]:
            self.graphs()
        elif self.live and (self.held > self.goal or self.random.random() < 0.4):
            self.free(self.pick())
        else:
            self.allocate()

    def run(self, events):
        if self.pattern["graphs"]:
            self.keep_graphs()
        while len(self.requests) < events * REQUEST.size:
            # Programs grow and shrink.
            self.goal = self.total * self.pattern["most"] * self.random.random()
            for _ in range(self.random.randint(20, 400)):
                self.step()
        if self.inside:
            self.end_capture()


def main():
    folder, seed, events, pattern = sys.argv[1:]
    warnings.simplefilter("ignore")
    torch.cuda.init()
    driver = Driver(int(seed), json.loads(pattern))
    driver.run(int(events))
    Path(folder, "requests").write_bytes(driver.requests)
    Path(folder, "states").write_bytes(driver.states)
    print(json.dumps({"release": torch.__version__, "total": driver.total, "others": driver.others,
                      "counts": driver.counts, "ooms": driver.ooms}), flush=True)
    driver.live.clear()
    import os
    os._exit(0)


main()
