/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Traces in the formats of other tools. Each format has its own file; the table is below. Output is
 * written while the trace is read, so that only what is live is in memory.
 */
#ifndef MT_EXPORT_H
#define MT_EXPORT_H

#include "analyzer/findings/analysis.h"
#include "exchange/encode/sink.h"
#include "exchange/tables/source.h"

#include <stdbool.h>

/* The request. The caller owns all pointers. */
struct mt_export {
    char *const *paths; /* traces, at least one */
    size_t n_paths;
    struct mt_question question;
    bool has_moment;         /* question.moment is set; otherwise the whole run, or the peak */
    bool has_times;          /* from_ns and to_ns are set: only what is live then */
    uint64_t from_ns, to_ns; /* since each recording began */
    uint64_t newest;         /* events at most; 0: all */
    enum mt_table_id table;
    const char *with; /* a trace of another tool, to be joined; NULL: none */
};

/* An error, and its file. */
struct mt_export_error {
    const char *path;
    struct mt_trace_error fault; /* of that trace */
    char text[400];              /* not about a trace; "": none, or out of memory */
};

/* Write everything. Return 0, also if a trace is valid only up to a fault (which *error then has),
 * or a negative errno with *error filled. Errors kept by the sink need not be returned. */
typedef int mt_export_writer(const struct mt_export *export, struct mt_sink *sink,
                             struct mt_export_error *error);

enum mt_export_accepts {
    MT_ACCEPTS_MOMENT = 1,   /* --at */
    MT_ACCEPTS_TIMES = 2,    /* --from and --to */
    MT_ACCEPTS_TABLE = 4,    /* --table */
    MT_ACCEPTS_NEWEST = 8,   /* --newest */
    MT_ACCEPTS_SEVERAL = 16, /* traces */
    MT_ACCEPTS_WITH = 32,    /* --with */
    MT_ACCEPTS_EVERY = 64,   /* --every */
};

/* The formats: F(name, whether it is binary, the options it accepts, its writer mt_export_...;
 * NULL: the Python package writes it). */
/* clang-format off */
#define MT_ACCEPTS_FOR_TABLE (MT_ACCEPTS_MOMENT | MT_ACCEPTS_TIMES | MT_ACCEPTS_TABLE | MT_ACCEPTS_SEVERAL)
#define MT_EXPORT_FORMATS(F)                                                                       \
    F(memory_viz, true, MT_ACCEPTS_MOMENT | MT_ACCEPTS_NEWEST, mt_export_memory_viz)                   \
    F(perfetto, true, MT_ACCEPTS_SEVERAL | MT_ACCEPTS_WITH, mt_export_perfetto)                        \
    F(pprof, true, MT_ACCEPTS_MOMENT | MT_ACCEPTS_SEVERAL | MT_ACCEPTS_EVERY, mt_export_pprof)           \
    F(speedscope, false, MT_ACCEPTS_MOMENT | MT_ACCEPTS_SEVERAL, mt_export_speedscope)                 \
    F(folded, false, MT_ACCEPTS_MOMENT | MT_ACCEPTS_SEVERAL, mt_export_folded)                         \
    F(csv, false, MT_ACCEPTS_FOR_TABLE, mt_export_csv)                                               \
    F(arrow, true, MT_ACCEPTS_FOR_TABLE, mt_export_arrow)                                            \
    F(arrow_stream, true, MT_ACCEPTS_FOR_TABLE, mt_export_arrow_stream)                              \
    F(parquet, true, MT_ACCEPTS_SEVERAL, NULL)
/* clang-format on */

#define MT_EXPORT_NAME(name, ...) " " #name
#define MT_EXPORT_NAMES (&(MT_EXPORT_FORMATS(MT_EXPORT_NAME))[1]) /* with blanks between them */
#define MT_EXPORT_WRITER(name, ...) mt_export_writer mt_export_##name;
MT_EXPORT_FORMATS(MT_EXPORT_WRITER)

struct mt_export_format {
    const char *name;
    bool is_binary;
    unsigned accepts;        /* enum mt_export_accepts */
    mt_export_writer *write; /* NULL: the Python package writes it */
};
extern const struct mt_export_format mt_export_formats[]; /* a row of zeros ends them */

/* Note where a trace stops being valid, unless an earlier one did. Return rc. */
int mt_export_note(struct mt_export_error *error, const char *path,
                   const struct mt_trace_error *fault, int rc);

/* Write a pprof profile of what is live now in ongoing replays (follow.h), at a unix time. Return 0
 * or a negative errno; errors kept by the sink need not be returned. */
int mt_export_pprof_now(const struct mt_replay *const *replays, size_t n, uint64_t realtime_ns,
                        struct mt_sink *sink);

/* Read the rows of the export's table, batch by batch. If a trace stops being valid, note it and
 * continue with the next. Return as mt_export_writer. */
typedef int mt_export_taker(void *data, const struct mt_columns *columns);
int mt_export_rows(const struct mt_export *export, mt_export_taker *take, void *data,
                   struct mt_export_error *error);

/* Analyze a trace at the requested moment; -ENODATA and the reason if the trace does not have it.
 * Destroy the analysis in any case. */
int mt_export_analyze(const struct mt_export *export, const char *path,
                      struct mt_analysis *analysis, struct mt_export_error *error);

#endif
