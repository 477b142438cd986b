/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Traces in the formats of other tools. Each format stands in a file of its own; below is
 * their table. Everything is written as it is read: only what is live is held.
 */
#ifndef MT_EXPORT_H
#define MT_EXPORT_H

#include "analyzer/findings/analysis.h"
#include "exchange/encode/sink.h"
#include "exchange/tables/source.h"

#include <stdbool.h>

/* What is asked for. All pointers are the caller's. */
struct mt_export {
    char *const *paths; /* traces, at least one */
    size_t n_paths;
    struct mt_question question;
    bool has_moment;         /* question.moment was given; else the whole run, or the peak */
    bool has_times;          /* from_ns and to_ns were given: only what lives then */
    uint64_t from_ns, to_ns; /* since each recording began */
    uint64_t newest;         /* events at most; 0: all */
    enum mt_table_id table;
    const char *with; /* a trace of another tool, to be joined; NULL: none */
};

/* What went wrong, and with which file. */
struct mt_export_error {
    const char *path;
    struct mt_trace_error fault; /* of that trace */
    char text[400];              /* not of a trace; "": nothing, or out of memory */
};

/* A format writes everything. 0, also where a trace is sound only up to a fault (which error says),
 * or a negative errno with *error filled. What the sink keeps need not be returned. */
typedef int mt_export_writer(const struct mt_export *export, struct mt_sink *sink,
                             struct mt_export_error *error);

enum mt_export_takes {
    MT_TAKES_MOMENT = 1,   /* --at */
    MT_TAKES_TIMES = 2,    /* --from and --to */
    MT_TAKES_TABLE = 4,    /* --table */
    MT_TAKES_NEWEST = 8,   /* --newest */
    MT_TAKES_SEVERAL = 16, /* traces */
    MT_TAKES_WITH = 32,    /* --with */
    MT_TAKES_EVERY = 64,   /* --every */
};

/* Every format, once: F(name, whether it is binary, what it takes, its writer mt_export_...; NULL:
 * the Python package writes it). */
/* clang-format off */
#define MT_TAKES_FOR_TABLE (MT_TAKES_MOMENT | MT_TAKES_TIMES | MT_TAKES_TABLE | MT_TAKES_SEVERAL)
#define MT_EXPORT_FORMATS(F)                                                                       \
    F(memory_viz, true, MT_TAKES_MOMENT | MT_TAKES_NEWEST, mt_export_memory_viz)                   \
    F(perfetto, true, MT_TAKES_SEVERAL | MT_TAKES_WITH, mt_export_perfetto)                        \
    F(pprof, true, MT_TAKES_MOMENT | MT_TAKES_SEVERAL | MT_TAKES_EVERY, mt_export_pprof)           \
    F(speedscope, false, MT_TAKES_MOMENT | MT_TAKES_SEVERAL, mt_export_speedscope)                 \
    F(folded, false, MT_TAKES_MOMENT | MT_TAKES_SEVERAL, mt_export_folded)                         \
    F(csv, false, MT_TAKES_FOR_TABLE, mt_export_csv)                                               \
    F(arrow, true, MT_TAKES_FOR_TABLE, mt_export_arrow)                                            \
    F(arrow_stream, true, MT_TAKES_FOR_TABLE, mt_export_arrow_stream)                              \
    F(parquet, true, MT_TAKES_SEVERAL, NULL)
/* clang-format on */

#define MT_EXPORT_NAME(name, ...) " " #name
#define MT_EXPORT_NAMES (&(MT_EXPORT_FORMATS(MT_EXPORT_NAME))[1]) /* with blanks between them */
#define MT_EXPORT_WRITER(name, ...) mt_export_writer mt_export_##name;
MT_EXPORT_FORMATS(MT_EXPORT_WRITER)

struct mt_export_format {
    const char *name;
    bool is_binary;
    unsigned takes;          /* enum mt_export_takes */
    mt_export_writer *write; /* NULL: the Python package writes it */
};
extern const struct mt_export_format mt_export_formats[]; /* a row of zeros ends them */

/* Note where a trace stops being sound, unless an earlier one did. Return rc. */
int mt_export_note(struct mt_export_error *error, const char *path,
                   const struct mt_trace_error *fault, int rc);

/* Write pprof's profile of what is live now in replays that go on (follow.h), at a time since 1970.
 * 0 or a negative errno; what the sink keeps need not be returned. */
int mt_export_pprof_now(const struct mt_replay *const *replays, size_t n, uint64_t realtime_ns,
                        struct mt_sink *sink);

/* Read the rows of the export's table, a batch after the other. Where a trace stops being sound,
 * note it and go on with the next. As mt_export_writer. */
typedef int mt_export_taker(void *data, const struct mt_columns *columns);
int mt_export_rows(const struct mt_export *export, mt_export_taker *take, void *data,
                   struct mt_export_error *error);

/* Analyze a trace at the moment that is asked for; where the trace does not have it, -ENODATA and
 * why. To be destroyed in any case. */
int mt_export_analyze(const struct mt_export *export, const char *path,
                      struct mt_analysis *analysis, struct mt_export_error *error);

#endif
