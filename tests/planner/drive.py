# SPDX-License-Identifier: Apache-2.0
"""drive.py FOLDER SEED EVENTS: drives PyTorch's own allocator with random requests on the simulated card,
and writes them (as planner/allocator/requests.h has them) and what the allocator had after each. Prints a
line of JSON: the release, the card, what was asked. late-events.c may be preloaded (LATE_EVENTS names it)."""
import ctypes
import json
import os
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
UNSEEN = 2**64 - 1
COUNTERS = ("allocated_bytes", "reserved_bytes", "active_bytes", "requested_bytes",
            "inactive_split_bytes")
RELEASED = tuple(int(number) for number in torch.__version__.split(".")[:2])
# PyTorch (to 2.15) counts the parts of a private pool's expandable segments wrongly when it unmaps them: its
# assertion fails, or the pool goes while blocks are in it, and it crashes. So such pools are kept.
KEEPS_POOLS = "expandable_segments:True" in os.environ.get("PYTORCH_CUDA_ALLOC_CONF", "")
IS_ASYNC = torch.cuda.get_allocator_backend() != "native"

# How often a request is something else than an allocation or a free, and how much of the card a program
# wants at most. A run goes from one to the next.
PATTERNS = [
    {"most": 0.5, "empty": 0.001},
    {"most": 0.6, "empty": 0.002, "record": 0.3, "hold": 0.02},
    {"most": 1.3, "empty": 0.001},
    {"most": 0.8, "empty": 0.003, "graphs": 0.02, "record": 0.1},
    {"most": 1.1, "empty": 0.003, "graphs": 0.01, "record": 0.2, "fraction": 0.002, "hold": 0.01},
    {"most": 0.3, "small": True},
]
if RELEASED >= (2, 6):
    PATTERNS.append({"most": 0.8, "empty": 0.002, "pools": 0.02, "record": 0.1, "graphs": 0.003})
if IS_ASYNC:
    PATTERNS = [{"most": most, "empty": 0.002} for most in (0.5, 0.9, 1.2)]


class Sizes:
    """Sizes as programs have them: a few that come again and again, and any."""

    def __init__(self, source, largest, small):
        self.random = source
        self.ranges = [(1, 4 * KIB), (4 * KIB, MIB), (MIB - 600, MIB + 600), (MIB, 10 * MIB),
                       (10 * MIB - 600, 10 * MIB + 600), (10 * MIB, 64 * MIB), (64 * MIB, largest)]
        self.weights = [6, 6, 1] + ([0] * 4 if small else [4, 1, 3, 1])
        self.usual = [self.any() for _ in range(source.randint(3, 30))]

    def any(self):
        low, high = self.random.choices(self.ranges, self.weights)[0]
        size = int(low * (high / low)**self.random.random())
        return size // 512 * 512 or 512 if self.random.random() < 0.5 else size

    def one(self):
        return self.random.choice(self.usual) if self.random.random() < 0.75 else self.any()


class Late:
    """Streams that are not done yet, by late-events.c."""

    def __init__(self):
        path = os.environ.get("LATE_EVENTS")
        self.library = ctypes.CDLL(path) if path else None
        self.held = set()
        self.waiting = {}  # number -> the streams that its free waits for

    def hold(self, index, stream):
        self.held.add(index)
        self.library.late_hold(ctypes.c_void_p(stream.cuda_stream))

    def release(self, index, stream):
        """The numbers of the blocks whose free is complete then."""
        self.held.discard(index)
        self.library.late_release(ctypes.c_void_p(stream.cuda_stream))
        done = []
        for number, streams in list(self.waiting.items()):
            streams.discard(index)
            if not streams:
                del self.waiting[number]
                done.append(number)
        return done


class Driver:

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.requests, self.states = bytearray(), bytearray()
        self.live = {}  # number -> (pointer or tensor, size, the streams recorded)
        self.numbers = []  # that are free
        self.last_number = 0
        self.held = 0
        self.streams = [torch.cuda.current_stream(), torch.cuda.Stream(), torch.cuda.Stream()]
        self.late = Late()
        self.graphs, self.pools = {}, {}  # by the number of the pool: its graphs; its MemPool
        self.last_pool = 0
        self.inside = None  # (pool, stream, what ends it, whether it holds frees back)
        self.later = []  # freed in a capture, and complete after it
        free, self.total = torch.cuda.mem_get_info()
        self.others = self.total - free
        self.counts = [0] * 12
        self.ooms = 0

    def note(self, kind, size=0, block=0, stream=0, pool=0):
        self.requests += REQUEST.pack(size, block, stream, pool | kind << 12)
        stats = torch._C._cuda_memoryStats(0)
        self.states += STATE.pack(*[stats[name]["all"]["current"] for name in COUNTERS],
                                  stats["num_ooms"] + stats.get("num_oom_rejections", 0))
        self.counts[kind] += 1

    def note_unseen(self, kind, size=0, block=0, stream=0, pool=0):
        """A part of one step of PyTorch: nothing is compared after it."""
        self.requests += REQUEST.pack(size, block, stream, pool | kind << 12)
        self.states += STATE.pack(*[UNSEEN] * 6)
        self.counts[kind] += 1

    def keep_graphs(self):
        """What the random generator allocates with the first graph, and keeps while there is one."""
        self.keeper = torch.cuda.CUDAGraph()
        with torch.cuda.stream(self.streams[1]):
            self.keeper.capture_begin()
            self.keeper.capture_end()
        stats = torch._C._cuda_memoryStats(0)
        self.allocate_unseen(stats["allocation"]["all"]["current"])

    def allocate_unseen(self, count):
        """The blocks of 8 bytes that a graph allocates before its capture: their numbers."""
        numbers = [self.number() for _ in range(count)]
        for number in numbers:
            self.note_unseen(ALLOCATE, 8, number, 1)
        return numbers

    def number(self):
        if self.numbers:
            return self.numbers.pop()
        self.last_number += 1
        return self.last_number - 1

    # --- blocks ---

    def allocate(self):
        size, number = self.sizes.one(), self.number()
        index = self.inside[1] if self.inside else self.random.choices((0, 1, 2), (8, 1, 1))[0]
        pool = self.inside[0] if self.inside else 0
        stream = self.streams[index]
        as_tensor = self.random.random() < self.pattern.get("record", 0)
        try:
            if as_tensor:
                with torch.cuda.stream(stream):
                    block = torch.empty(size, dtype=torch.uint8, device="cuda")
            else:
                block = torch._C._cuda_cudaCachingAllocator_raw_alloc(size, stream.cuda_stream)
        except torch.cuda.OutOfMemoryError:
            self.ooms += 1
            self.note(ALLOCATE, size, number, index, pool)
            self.note(FREE, block=number)
            self.numbers.append(number)
            return
        self.note(ALLOCATE, size, number, index, pool)
        self.held += size
        used = self.random.sample(range(3), self.random.randint(0, 2)) if as_tensor else []
        for other in used:
            block.record_stream(self.streams[other])
            self.note(RECORD, block=number, stream=other)
        self.live[number] = (block, size, {other for other in used if other != index})

    def free(self, number):
        block, size, used = self.live.pop(number)
        if isinstance(block, int):
            torch._C._cuda_cudaCachingAllocator_raw_delete(block)
        del block
        self.note(FREE, block=number)
        self.held -= size
        if used and self.inside and self.inside[3]:
            self.later.append(number)
        elif used & self.late.held:
            self.late.waiting[number] = used & self.late.held
        else:
            if used:
                self.note(COMPLETE, block=number)  # streams of the simulated card are always done
            self.numbers.append(number)

    def complete(self, numbers):
        for number in numbers:
            self.note(COMPLETE, block=number)
        self.numbers += numbers

    def pick(self):
        """The one that is freed: the last, the first, or any."""
        way = self.random.random()
        if way < 0.4:
            return next(reversed(self.live))
        return next(iter(self.live)) if way < 0.5 else self.random.choice(list(self.live))

    # --- what else there is: each is a row of PATTERNS ---

    def empty(self):
        if not self.inside:
            torch.cuda.empty_cache()
            self.note(EMPTY)

    def fraction(self):
        fraction = self.random.choice((1.0, 0.9, 0.75, 0.5))
        torch.cuda.set_per_process_memory_fraction(fraction)
        self.note(FRACTION, struct.unpack("<Q", struct.pack("<d", fraction))[0])

    def hold(self):
        """Holds a stream, or releases one."""
        if not self.late.library or self.inside:
            return
        if self.late.held and self.random.random() < 0.6:
            index = self.random.choice(sorted(self.late.held))
            self.complete(self.late.release(index, self.streams[index]))
            return
        self.allocate()  # which sees what is complete
        index = self.random.choice((1, 2))
        self.late.hold(index, self.streams[index])

    def release_all(self):
        for index in sorted(self.late.held):
            self.complete(self.late.release(index, self.streams[index]))
        self.allocate()

    def begin_capture(self):
        """Of a graph, which may share the pool of another."""
        self.release_all()
        pool = self.random.choice([*self.graphs, 0, 0, 0])
        graph, stream = torch.cuda.CUDAGraph(), torch.cuda.stream(self.streams[1])
        stream.__enter__()
        before = torch._C._cuda_memoryStats(0)["allocation"]["all"]["allocated"]
        graph.capture_begin(*([self.graphs[pool][0][0].pool()] if pool else []),
                            capture_error_mode="relaxed")
        if not pool:
            pool = self.last_pool = self.last_pool + 1
        count = torch._C._cuda_memoryStats(0)["allocation"]["all"]["allocated"] - before
        own = self.allocate_unseen(count)
        self.graphs.setdefault(pool, []).append((graph, own))

        def end():
            graph.capture_end()
            stream.__exit__(None, None, None)
            self.note(END, pool=pool)
            self.complete(self.later)
            self.later = []

        self.inside = (pool, 1, end, True)
        self.note(BEGIN, CAPTURES, pool=pool)

    def capture(self):
        if self.inside:
            self.leave()
        elif self.graphs and not KEEPS_POOLS and self.random.random() < 0.4:
            pool = self.random.choice(list(self.graphs))
            own = self.graphs[pool].pop()[1]
            for number in own:
                self.note_unseen(FREE, block=number)
            self.numbers += own
            if not self.graphs[pool]:
                del self.graphs[pool]
            self.note(RELEASE, pool=pool)
        else:
            self.begin_capture()

    def leave(self):
        end = self.inside[2]
        self.inside = None
        end()

    def use_pool(self):
        """Makes a MemPool, uses one, or lets one go."""
        if self.inside:
            self.leave()
        elif not self.pools or self.random.random() < 0.2:
            self.last_pool += 1
            self.pools[self.last_pool] = torch.cuda.MemPool()
            self.note(CREATE, pool=self.last_pool)
        elif not KEEPS_POOLS and self.random.random() < 0.2:
            pool = self.random.choice(list(self.pools))
            del self.pools[pool]
            # The release and what it empties are one step of PyTorch.
            if RELEASED < (2, 6):
                self.note(RELEASE, pool=pool)
            else:
                self.note_unseen(RELEASE, pool=pool)
                self.note(EMPTY, pool=pool)
        else:
            self.release_all()
            pool = self.random.choice(list(self.pools))
            context = torch.cuda.use_mem_pool(self.pools[pool])
            context.__enter__()

            def end():
                context.__exit__(None, None, None)
                self.note_unseen(END, pool=pool)
                self.note(RELEASE, pool=pool)
                self.complete(self.later)
                self.later = []

            self.inside = (pool, 0, end, RELEASED < (2, 13))
            self.note(BEGIN, pool=pool)

    def step(self):
        way = self.random.random()
        others = (("empty", self.empty), ("fraction", self.fraction), ("hold", self.hold),
                  ("graphs", self.capture), ("pools", self.use_pool))
        for name, act in others:
            way -= self.pattern.get(name, 0)
            if way < 0:
                act()
                return
        if self.live and (self.held > self.goal or self.random.random() < 0.4):
            self.free(self.pick())
        else:
            self.allocate()

    def run(self, events):
        if not IS_ASYNC:
            self.keep_graphs()
        while len(self.requests) < events * REQUEST.size:
            self.pattern = self.random.choice(PATTERNS)
            self.sizes = Sizes(self.random, max(65 * MIB, self.total // 8),
                               self.pattern.get("small"))
            for _ in range(self.random.randint(1, 6)):
                # Programs grow and shrink.
                self.goal = self.total * self.pattern["most"] * self.random.random()
                for _ in range(self.random.randint(20, 400)):
                    self.step()
            if self.inside:
                self.leave()


def main():
    folder, seed, events = sys.argv[1:]
    warnings.simplefilter("ignore")
    torch.cuda.init()
    driver = Driver(int(seed))
    driver.run(int(events))
    Path(folder, "requests").write_bytes(driver.requests)
    Path(folder, "states").write_bytes(driver.states)
    print(json.dumps({"release": torch.__version__, "total": driver.total, "others": driver.others,
                      "counts": driver.counts, "ooms": driver.ooms}), flush=True)
    os._exit(0)


main()
