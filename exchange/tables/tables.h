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
    C(RANK, "rank", INT32, true, "", "the process's rank in its job")                              \
    C(DEVICE, "device", INT16, true, "", "CUDA's index of the device")                             \
    C(LEVEL, "level", TEXT, false, "", "the allocator: pytorch or cuda")          \
    C(ADDRESS, "address", INT64, false, "", "of its first byte, on the device")                     \
    C(SIZE, "size", INT64, false, "bytes", "as the allocator counts it")                           \
    C(CATEGORY, "category", TEXT, false, "", "its use")                                \
    C(RULE, "rule", TEXT, false, "", "the rule that decided the category")                                      \
    C(CERTAINTY, "certainty", TEXT, false, "", "certain, likely or guess")                         \
    C(TIME_NS, "time_ns", INT64, false, "ns", "of the allocation, since the recording began")      \
    C(END_NS, "end_ns", INT64, true, "ns", "of the free; null: the trace ends before it")          \
    C(EVENT, "event", INT64, false, "", "the allocation's number in the trace, from 1")            \
    C(END_EVENT, "end_event", INT64, true, "", "the free's; null: the trace ends before it")       \
    C(THREAD, "thread", INT32, false, "", "the trace's number of the thread that allocated")       \
    C(PHASE, "phase", TEXT, false, "", "outside, forward, backward or optimizer, at the allocation")    \
    C(ITERATION, "iteration", INT32, true, "", "of the allocation, from 1; null: start-up")        \
    C(STACK, "stack", INT32, true, "", "the allocation's, in the table stacks")                    \
    C(FORWARD_STACK, "forward_stack", INT32, true, "", "of what backward made: its forward line's") \
    C(FUNCTION, "function", TEXT, true, "", "of the user's innermost line (forward's, if it has one)") \
    C(FILE, "file", TEXT, true, "", "of that line")                                                \
    C(LINE, "line", INT32, true, "", "its number")                                                 \
    C(MODULE, "module", TEXT, true, "", "the torch.nn module it belongs to")                       \
    C(OPERATOR, "operator", TEXT, true, "", "autograd's node that ran at the allocation")          \
    C(DTYPE, "dtype", TEXT, true, "", "of a tensor in it")                                         \
    C(NAME, "name", TEXT, true, "", "what the program calls it")                                   \
    C(RANGE, "range", TEXT, true, "", "the program's ranges around the allocation, outermost first") \
    C(AGE_NS, "age_ns", INT64, true, "ns", "from the allocation to the moment that was asked for; null: the whole run was")

/* Events: one row for each event of the trace, in its order. */
#define MT_EVENTS_COLUMNS(C)                                                                       \
    C(RANK, "rank", INT32, true, "", "the process's rank in its job")                              \
    C(EVENT, "event", INT64, false, "", "its number in the trace, from 1")                         \
    C(TIME_NS, "time_ns", INT64, false, "ns", "since the recording began")                         \
    C(KIND, "kind", TEXT, false, "", "memtap-trace(5) has the kinds")                              \
    C(DEVICE, "device", INT16, true, "", "CUDA's index of the device")                             \
    C(THREAD, "thread", INT32, false, "", "the trace's number of the thread")                      \
    C(STACK, "stack", INT32, true, "", "in the table stacks")                                      \
    C(ADDRESS, "address", INT64, true, "", "of the kinds that have one")                           \
    C(SIZE, "size", INT64, true, "bytes", "of the kinds that have one")                            \
    C(ALLOCATED, "allocated", INT64, true, "bytes", "PyTorch's total on the device, after alloc, free and oom") \
    C(RESERVED, "reserved", INT64, true, "bytes", "likewise: what it has from CUDA")

/* Stacks: one row for each, which says its innermost frame and the row that has its caller. */
#define MT_STACKS_COLUMNS(C)                                                                       \
    C(RANK, "rank", INT32, true, "", "the process's rank in its job")                              \
    C(STACK, "stack", INT32, false, "", "its number, from 1: within one trace only")               \
    C(PARENT, "parent", INT32, true, "", "the caller's stack; null: there is none")                \
    C(DEPTH, "depth", INT32, false, "", "how many frames it has")                                  \
    C(FUNCTION, "function", TEXT, true, "", "of the innermost frame")                              \
    C(FILE, "file", TEXT, true, "", "the same frame's; of a native one the library's, or its source's") \
    C(LINE, "line", INT32, true, "", "the same frame's")                                           \
    C(MODULE, "module", TEXT, true, "", "the torch.nn module that it works for")

/* Categories: at a moment, one row for each device and category. */
#define MT_CATEGORIES_COLUMNS(C)                                                                   \
    C(RANK, "rank", INT32, true, "", "the process's rank in its job")                              \
    C(DEVICE, "device", INT16, true, "", "CUDA's index of the device")                             \
    C(LEVEL, "level", TEXT, false, "", "pytorch, or cuda: which allocator's blocks")               \
    C(CATEGORY, "category", TEXT, false, "", "what they are used for")                             \
    C(BYTES, "bytes", INT64, false, "bytes", "that its blocks take")                               \
    C(BLOCKS, "blocks", INT64, false, "", "how many there are")                                    \
    C(TIME_NS, "time_ns", INT64, false, "ns", "the moment, since the recording began")             \
    C(EVENT, "event", INT64, false, "", "the last one before it that changed the totals")

/* Phases: one row for each time that a phase of the program ran, and what is done outside of the model after it. */
#define MT_PHASES_COLUMNS(C)                                                                       \
    C(RANK, "rank", INT32, true, "", "the process's rank in its job")                              \
    C(DEVICE, "device", INT16, true, "", "CUDA's index of the device")                             \
    C(PHASE, "phase", TEXT, false, "", "outside (before all others), forward, backward or optimizer")   \
    C(ITERATION, "iteration", INT32, true, "", "from 1; null: start-up")                           \
    C(PART, "part", TEXT, false, "", "run; or evaluation: beside the training")                    \
    C(TIME_NS, "time_ns", INT64, false, "ns", "of its first event, since the recording began")     \
    C(EVENT, "event", INT64, false, "", "the first one's number in the trace")                     \
    C(LEAST, "least", INT64, false, "bytes", "the least that was allocated in it")                 \
    C(MOST, "most", INT64, false, "bytes", "the most")                                             \
    C(MOST_NS, "most_ns", INT64, false, "ns", "when that was")                                     \
    C(MOST_EVENT, "most_event", INT64, false, "", "the event after which it was")                  \
    C(MOST_RESERVED, "most_reserved", INT64, false, "bytes", "what PyTorch had reserved then")

/* Ranks: one row for each process and device. */
#define MT_RANKS_COLUMNS(C)                                                                        \
    C(RANK, "rank", INT32, true, "", "the process's rank in its job")                              \
    C(WORLD_SIZE, "world_size", INT32, true, "", "how many processes the job has")                 \
    C(PATH, "path", TEXT, false, "", "the trace's file")                                           \
    C(HOST, "host", TEXT, true, "", "the machine's name")                                          \
    C(PID, "pid", INT32, true, "", "the process's number there")                                   \
    C(COMMAND, "command", TEXT, true, "", "its command line")                                      \
    C(TORCH, "torch", TEXT, true, "", "PyTorch's version")                                         \
    C(ENDED, "ended", TEXT, false, "", "how the run ended, as in memtap-report(1)")                \
    C(EVENTS, "events", INT64, false, "", "events in the trace")                                   \
    C(LOST, "lost", INT64, false, "", "events that were not recorded")                             \
    C(LENGTH_NS, "length_ns", INT64, false, "ns", "of the recording")                              \
    C(STARTED_UNIX_NS, "started_unix_ns", INT64, true, "ns", "when it began, since 1970")          \
    C(DEVICE, "device", INT16, true, "", "CUDA's index of the device; null: no memory was allocated") \
    C(LEVEL, "level", TEXT, true, "", "pytorch, or cuda: which allocator's blocks")                \
    C(PEAK, "peak", INT64, true, "bytes", "the most that was allocated")                           \
    C(PEAK_RESERVED, "peak_reserved", INT64, true, "bytes", "what PyTorch had reserved then")      \
    C(PEAK_NS, "peak_ns", INT64, true, "ns", "when that was, since the recording began")           \
    C(PEAK_EVENT, "peak_event", INT64, true, "", "the event after which it was")                   \
    C(PEAK_PHASE, "peak_phase", TEXT, true, "", "as in phases")                                    \
    C(PEAK_ITERATION, "peak_iteration", INT32, true, "", "from 1; null: start-up")                 \
    C(ITERATIONS, "iterations", INT32, true, "", "how many there are")                             \
    C(MOST_RESERVED, "most_reserved", INT64, true, "bytes", "the most that PyTorch had reserved")  \
    C(MEMORY, "memory", INT64, true, "bytes", "that the device has; null: it was not asked")       \
    C(OUTSIDE, "outside", INT64, true, "bytes", "taken on the device at the peak beside what PyTorch reserved") \
    C(GROWTH, "growth", INT64, true, "bytes", "what each iteration leaves over; 0: nothing grows") \
    C(STANDS_FOR, "stands_for", INT64, true, "", "how many ranks of its kind, itself among them; null: nobody looked")

/* Samples: at up to 64 places of the run, at equal numbers of events, the highest moment up to the next place: a
 * row for each category that has something. */
#define MT_SAMPLES_COLUMNS(C)                                                                      \
    C(RANK, "rank", INT32, true, "", "the process's rank in its job")                              \
    C(DEVICE, "device", INT16, true, "", "CUDA's index of the device")                             \
    C(SAMPLE, "sample", INT32, false, "", "its number, from 0")                                    \
    C(EVENT, "event", INT64, false, "", "the number of the first event that it covers")            \
    C(SPAN_NS, "span_ns", INT64, true, "ns", "when the phase began in which that event is")        \
    C(PHASE, "phase", TEXT, true, "", "that phase, as in phases")                                  \
    C(ITERATION, "iteration", INT32, true, "", "that has begun at its end, from 1; null: start-up") \
    C(CATEGORY, "category", TEXT, false, "", "what the bytes are used for")                        \
    C(BYTES, "bytes", INT64, false, "bytes", "of the category at the highest moment")              \
    C(ALLOCATED, "allocated", INT64, false, "bytes", "of all categories then")                     \
    C(RESERVED, "reserved", INT64, true, "bytes", "what PyTorch had reserved then")
#define MT_TABLES_SAMPLES 64u

/* Growth: the lines whose blocks of three and more earlier iterations were live at the peak. */
#define MT_GROWING_COLUMNS(C)                                                                       \
    C(RANK, "rank", INT32, true, "", "the process's rank in its job")                              \
    C(DEVICE, "device", INT16, true, "", "CUDA's index of the device")                             \
    C(CATEGORY, "category", TEXT, false, "", "of one of these blocks")                             \
    C(FUNCTION, "function", TEXT, true, "", "of the user's innermost line")                        \
    C(FILE, "file", TEXT, true, "", "of that line")                                                \
    C(LINE, "line", INT32, true, "", "its number")                                                 \
    C(ITERATIONS, "iterations", INT32, false, "", "how many left blocks of it")                    \
    C(BYTES, "bytes", INT64, false, "bytes", "of those blocks")                                    \
    C(CERTAINTY, "certainty", TEXT, false, "", "certain, likely or guess: of the category, for the block where it is least")
/* clang-format on */

/* Every table, once: T(enumerator, its columns above, name, meaning). */
/* clang-format off */
#define MT_TABLES(T)                                                                               \
    T(BLOCKS, BLOCKS, "blocks", "every block, from its allocation to its free")                    \
    T(EVENTS, EVENTS, "events", "every event, in the trace's order")                               \
    T(STACKS, STACKS, "stacks", "every stack, as its innermost frame and its caller")              \
    T(CATEGORIES, CATEGORIES, "categories", "what each category has at a moment")                  \
    T(PHASES, PHASES, "phases", "each run of a phase, with its highest moment")                    \
    T(RANKS, RANKS, "ranks", "each process and device, with its peak")                             \
    T(SAMPLES, SAMPLES, "samples", "what is allocated by category over the run")                   \
    T(GROWTH, GROWING, "growth", "lines that leave blocks over, iteration by iteration")
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
