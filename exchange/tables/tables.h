/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A trace as tables, for programs that query it. Everything that writes tables (Arrow, CSV,
 * Parquet) uses the names, types and units defined here. Columns are only ever added, at a table's
 * end. Everything here is constant: any thread.
 */
#ifndef MT_TABLES_H
#define MT_TABLES_H

#include <stdbool.h>
#include <stddef.h>

/* Types that every reader of tables has. Texts are UTF-8; a column of them has few that differ, so
 * it is a dictionary (indices of 32 bits). */
enum mt_column_type { MT_COLUMN_INT16, MT_COLUMN_INT32, MT_COLUMN_INT64, MT_COLUMN_TEXT };

/*
 * C(enumerator, name, type, whether it has nulls, unit ("": none), meaning).
 *
 * Blocks: one row for each block that the allocator handed out, PyTorch's or, on a device that
 * PyTorch does not use, CUDA's own.
 */
/* clang-format off */
#define MT_BLOCKS_COLUMNS(C)                                                                       \
    C(RANK, "rank", INT32, true, "", "rank of the process in its job")                             \
    C(DEVICE, "device", INT16, true, "", "CUDA device index")                                      \
    C(LEVEL, "level", TEXT, false, "", "allocator: pytorch or cuda")                               \
    C(ADDRESS, "address", INT64, false, "", "address of the first byte on the device")             \
    C(SIZE, "size", INT64, false, "bytes", "size, as the allocator counts it")                     \
    C(CATEGORY, "category", TEXT, false, "", "what the block is used for")                         \
    C(RULE, "rule", TEXT, false, "", "rule that decided the category")                             \
    C(CERTAINTY, "certainty", TEXT, false, "", "certain, likely or guess")                         \
    C(TIME_NS, "time_ns", INT64, false, "ns", "time of the allocation, since recording began")     \
    C(END_NS, "end_ns", INT64, true, "ns", "time of the free; null: live at the end")              \
    C(EVENT, "event", INT64, false, "", "event number of the allocation, from 1")                  \
    C(END_EVENT, "end_event", INT64, true, "", "event number of the free; null: live at the end")  \
    C(THREAD, "thread", INT32, false, "", "number in the trace of the thread that allocated")      \
    C(PHASE, "phase", TEXT, false, "", "phase of the allocation: outside, forward, backward or optimizer") \
    C(ITERATION, "iteration", INT32, true, "", "iteration of the allocation, from 1; null: start-up") \
    C(STACK, "stack", INT32, true, "", "stack of the allocation, in the table stacks")             \
    C(FORWARD_STACK, "forward_stack", INT32, true, "", "stack of the forward call, for memory allocated by backward") \
    C(FUNCTION, "function", TEXT, true, "", "function of your innermost line (in forward, if it has one)") \
    C(FILE, "file", TEXT, true, "", "file of that line")                                           \
    C(LINE, "line", INT32, true, "", "number of that line")                                        \
    C(MODULE, "module", TEXT, true, "", "torch.nn module that the block belongs to")               \
    C(OPERATOR, "operator", TEXT, true, "", "autograd node that ran at the allocation")            \
    C(DTYPE, "dtype", TEXT, true, "", "element type")                                              \
    C(NAME, "name", TEXT, true, "", "name given by the program")                                   \
    C(RANGE, "range", TEXT, true, "", "the program's open ranges at the allocation, outermost first") \
    C(AGE_NS, "age_ns", INT64, true, "ns", "age at the requested moment; null: the whole run was exported") \
    C(USES, "uses", TEXT, true, "", "used, written (and never read) or never, if uses were recorded; null: unknown") \
    C(FIRST_USE_NS, "first_use_ns", INT64, true, "ns", "time of the first use; null: none, or unknown") \
    C(LAST_USE_NS, "last_use_ns", INT64, true, "ns", "time of the last use; null: none, or unknown") \
    C(LAST_USE_STACK, "last_use_stack", INT32, true, "", "stack of the last use")                  \
    C(LAST_USE_KERNEL, "last_use_kernel", TEXT, true, "", "kernel of the last use; null: a copy, fill, or unknown")

/* Events: one row for each event of the trace, in its order. */
#define MT_EVENTS_COLUMNS(C)                                                                       \
    C(RANK, "rank", INT32, true, "", "rank of the process in its job")                             \
    C(EVENT, "event", INT64, false, "", "number of the event in the trace, from 1")                \
    C(TIME_NS, "time_ns", INT64, false, "ns", "time since recording began")                        \
    C(KIND, "kind", TEXT, false, "", "kind of the event, as in memtap-trace(5)")                   \
    C(DEVICE, "device", INT16, true, "", "CUDA device index")                                      \
    C(THREAD, "thread", INT32, false, "", "number of the thread in the trace")                     \
    C(STACK, "stack", INT32, true, "", "stack of the event, in the table stacks")                  \
    C(ADDRESS, "address", INT64, true, "", "address, for kinds that have one")                     \
    C(SIZE, "size", INT64, true, "bytes", "size, for kinds that have one")                         \
    C(ALLOCATED, "allocated", INT64, true, "bytes", "allocated by PyTorch on the device, after alloc, free and oom") \
    C(RESERVED, "reserved", INT64, true, "bytes", "reserved by PyTorch on the device, after alloc, free and oom")

/* Stacks: one row for each, with its innermost frame and the row of its caller. */
#define MT_STACKS_COLUMNS(C)                                                                       \
    C(RANK, "rank", INT32, true, "", "rank of the process in its job")                             \
    C(STACK, "stack", INT32, false, "", "number of the stack, from 1, within one trace")           \
    C(PARENT, "parent", INT32, true, "", "stack of the caller; null: none")                        \
    C(DEPTH, "depth", INT32, false, "", "number of frames")                                        \
    C(FUNCTION, "function", TEXT, true, "", "function of the innermost frame")                     \
    C(FILE, "file", TEXT, true, "", "file of that frame; for a native frame its source or library") \
    C(LINE, "line", INT32, true, "", "line of that frame")                                         \
    C(MODULE, "module", TEXT, true, "", "torch.nn module that the frame belongs to")

/* Categories: at a moment, one row for each device and category. */
#define MT_CATEGORIES_COLUMNS(C)                                                                   \
    C(RANK, "rank", INT32, true, "", "rank of the process in its job")                             \
    C(DEVICE, "device", INT16, true, "", "CUDA device index")                                      \
    C(LEVEL, "level", TEXT, false, "", "allocator of the blocks: pytorch or cuda")                 \
    C(CATEGORY, "category", TEXT, false, "", "what the blocks are used for")                       \
    C(BYTES, "bytes", INT64, false, "bytes", "bytes of the blocks")                                \
    C(BLOCKS, "blocks", INT64, false, "", "number of blocks")                                      \
    C(TIME_NS, "time_ns", INT64, false, "ns", "time of the moment, since recording began")         \
    C(EVENT, "event", INT64, false, "", "last event before the moment that changed the totals")

/* Phases: one row for each run of a phase, including the code outside the model that follows it. */
#define MT_PHASES_COLUMNS(C)                                                                       \
    C(RANK, "rank", INT32, true, "", "rank of the process in its job")                             \
    C(DEVICE, "device", INT16, true, "", "CUDA device index")                                      \
    C(PHASE, "phase", TEXT, false, "", "outside (before the first phase), forward, backward or optimizer") \
    C(ITERATION, "iteration", INT32, true, "", "number of the iteration, from 1; null: start-up")  \
    C(PART, "part", TEXT, false, "", "run, or evaluation if not part of an iteration")             \
    C(TIME_NS, "time_ns", INT64, false, "ns", "time of the first event, since recording began")    \
    C(EVENT, "event", INT64, false, "", "number of the first event in the trace")                  \
    C(LEAST, "least", INT64, false, "bytes", "least allocated in the phase")                       \
    C(MOST, "most", INT64, false, "bytes", "most allocated in the phase")                          \
    C(MOST_NS, "most_ns", INT64, false, "ns", "time when the most was allocated")                  \
    C(MOST_EVENT, "most_event", INT64, false, "", "event after which the most was allocated")      \
    C(MOST_RESERVED, "most_reserved", INT64, false, "bytes", "reserved by PyTorch at that moment")

/* Ranks: one row for each process and device. */
#define MT_RANKS_COLUMNS(C)                                                                        \
    C(RANK, "rank", INT32, true, "", "rank of the process in its job")                             \
    C(WORLD_SIZE, "world_size", INT32, true, "", "number of processes in the job")                 \
    C(PATH, "path", TEXT, false, "", "path of the trace")                                          \
    C(HOST, "host", TEXT, true, "", "host name")                                                   \
    C(PID, "pid", INT32, true, "", "process ID")                                                   \
    C(COMMAND, "command", TEXT, true, "", "command line")                                          \
    C(TORCH, "torch", TEXT, true, "", "version of PyTorch")                                        \
    C(ENDED, "ended", TEXT, false, "", "how the run ended, as in memtap-report(1)")                \
    C(EVENTS, "events", INT64, false, "", "events in the trace")                                   \
    C(LOST, "lost", INT64, false, "", "events that were not recorded")                             \
    C(LENGTH_NS, "length_ns", INT64, false, "ns", "length of the recording")                       \
    C(STARTED_UNIX_NS, "started_unix_ns", INT64, true, "ns", "time when recording began, since 1970") \
    C(DEVICE, "device", INT16, true, "", "CUDA device index; null: no memory was allocated")       \
    C(LEVEL, "level", TEXT, true, "", "allocator of the blocks: pytorch or cuda")                  \
    C(PEAK, "peak", INT64, true, "bytes", "most allocated at any time")                            \
    C(PEAK_RESERVED, "peak_reserved", INT64, true, "bytes", "reserved by PyTorch at the peak")     \
    C(PEAK_NS, "peak_ns", INT64, true, "ns", "time of the peak, since recording began")            \
    C(PEAK_EVENT, "peak_event", INT64, true, "", "event after which the peak was reached")         \
    C(PEAK_PHASE, "peak_phase", TEXT, true, "", "phase of the peak, as in the table phases")       \
    C(PEAK_ITERATION, "peak_iteration", INT32, true, "", "iteration of the peak, from 1; null: start-up") \
    C(ITERATIONS, "iterations", INT32, true, "", "number of iterations")                           \
    C(MOST_RESERVED, "most_reserved", INT64, true, "bytes", "most reserved by PyTorch at any time") \
    C(MEMORY, "memory", INT64, true, "bytes", "size of the device's memory; null: unknown")        \
    C(OUTSIDE, "outside", INT64, true, "bytes", "used on the device at the peak outside PyTorch's reserved memory") \
    C(GROWTH, "growth", INT64, true, "bytes", "what each iteration leaves allocated; 0: no growth") \
    C(STANDS_FOR, "stands_for", INT64, true, "", "number of ranks that it represents, including itself; null: unknown")

/* Samples: the run in up to 64 parts of equally many events, with the highest moment of each: one
 * row for each category with memory. */
#define MT_SAMPLES_COLUMNS(C)                                                                      \
    C(RANK, "rank", INT32, true, "", "rank of the process in its job")                             \
    C(DEVICE, "device", INT16, true, "", "CUDA device index")                                      \
    C(SAMPLE, "sample", INT32, false, "", "number of the sample, from 0")                          \
    C(EVENT, "event", INT64, false, "", "first event that the sample covers")                      \
    C(SPAN_NS, "span_ns", INT64, true, "ns", "start of the phase of that event")                   \
    C(PHASE, "phase", TEXT, true, "", "phase of that event, as in the table phases")               \
    C(ITERATION, "iteration", INT32, true, "", "last iteration begun by the end of the sample, from 1; null: start-up") \
    C(CATEGORY, "category", TEXT, false, "", "what the memory is used for")                        \
    C(BYTES, "bytes", INT64, false, "bytes", "allocated for the category at the highest moment")   \
    C(ALLOCATED, "allocated", INT64, false, "bytes", "allocated in total at that moment")          \
    C(RESERVED, "reserved", INT64, true, "bytes", "reserved by PyTorch at that moment")
#define MT_TABLES_SAMPLES 64u

/* Growth: the lines whose blocks from three or more earlier iterations were live at the peak. */
#define MT_GROWING_COLUMNS(C)                                                                       \
    C(RANK, "rank", INT32, true, "", "rank of the process in its job")                             \
    C(DEVICE, "device", INT16, true, "", "CUDA device index")                                      \
    C(CATEGORY, "category", TEXT, false, "", "category of the blocks")                             \
    C(FUNCTION, "function", TEXT, true, "", "function of your innermost line")                     \
    C(FILE, "file", TEXT, true, "", "file of that line")                                           \
    C(LINE, "line", INT32, true, "", "number of that line")                                        \
    C(ITERATIONS, "iterations", INT32, false, "", "number of iterations that left blocks")         \
    C(BYTES, "bytes", INT64, false, "bytes", "bytes of these blocks")                              \
    C(CERTAINTY, "certainty", TEXT, false, "", "certain, likely or guess: the least certain block")
/* clang-format on */

/* Every table, once: T(enumerator, its columns above, name, meaning). */
/* clang-format off */
#define MT_TABLES(T)                                                                               \
    T(BLOCKS, BLOCKS, "blocks", "every block, from its allocation to its free")                    \
    T(EVENTS, EVENTS, "events", "every event, in the trace's order")                               \
    T(STACKS, STACKS, "stacks", "every stack, by innermost frame and caller")                      \
    T(CATEGORIES, CATEGORIES, "categories", "bytes and blocks of each category at a moment")       \
    T(PHASES, PHASES, "phases", "each run of a phase, with its highest moment")                    \
    T(RANKS, RANKS, "ranks", "each process and device, with its peak")                             \
    T(SAMPLES, SAMPLES, "samples", "allocated memory by category over the run")                    \
    T(GROWTH, GROWING, "growth", "lines that leave blocks allocated in iteration after iteration")
/* clang-format on */

#define MT_BLOCKS_ENUM(id, ...) MT_BLOCKS_##id,
#define MT_EVENTS_ENUM(id, ...) MT_EVENTS_##id,
#define MT_STACKS_ENUM(id, ...) MT_STACKS_##id,
#define MT_CATEGORIES_ENUM(id, ...) MT_CATEGORIES_##id,
#define MT_PHASES_ENUM(id, ...) MT_PHASES_##id,
#define MT_RANKS_ENUM(id, ...) MT_RANKS_##id,
#define MT_SAMPLES_ENUM(id, ...) MT_SAMPLES_##id,
#define MT_GROWING_ENUM(id, ...) MT_GROWING_##id,
#define MT_COLUMNS_ENUM(id, columns, ...)                                                          \
    enum { MT_##columns##_COLUMNS(MT_##columns##_ENUM) MT_##columns##_N };
MT_TABLES(MT_COLUMNS_ENUM)

#define MT_COLUMNS_MOST 32u /* of a table */

struct mt_table_column {
    const char *name;
    enum mt_column_type type;
    bool has_nulls;
    const char *unit, *meaning;
};

struct mt_table {
    const char *name, *meaning;
    const struct mt_table_column *column;
    size_t n_columns;
};

#define MT_TABLE_ENUM(id, ...) MT_TABLE_##id,
#define MT_TABLE_NAME(id, columns, name, meaning) " " name
enum mt_table_id { MT_TABLES(MT_TABLE_ENUM) MT_TABLES_N };
#define MT_TABLE_NAMES (&(MT_TABLES(MT_TABLE_NAME))[1]) /* with blanks between them */
extern const struct mt_table mt_tables[MT_TABLES_N];

/* Find the table of that name; MT_TABLES_N: there is none. */
enum mt_table_id mt_table_find(const char *name);

#endif
