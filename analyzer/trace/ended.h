/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a recorded run ended, for every command: E(enumerator, name for --allow-ended and JSON). Only
 * a "whole" run can pass.
 */
#ifndef MT_ENDED_H
#define MT_ENDED_H

#include <stdbool.h>

#include "survey.h"

/* clang-format off */
#define MT_ENDS(E)                                                                                 \
    E(WHOLE, "whole")                                                                              \
    E(OUT_OF_MEMORY, "oom")                                                                        \
    E(EXIT, "exit")                                                                                \
    E(KILLED, "killed")                                                                            \
    E(RUNNING, "running")                                                                          \
    E(EXECUTED, "executed")                                                                        \
    E(STOPPED, "stopped")                                                                          \
    E(OPEN, "open")                                                                                \
    E(CUT, "cut")
/* clang-format on */

enum mt_ended_how {
#define MT_ENDED_ENUM(id, name) MT_ENDED_##id,
    MT_ENDS(MT_ENDED_ENUM)
#undef MT_ENDED_ENUM
        MT_ENDED_COUNT
};

struct mt_ended {
    enum mt_ended_how how;
    int exit_code;      /* -1: none, or unknown */
    int signal;         /* 0: none, or unknown */
    long killer;        /* the process that sent SIGKILL; 0: unknown */
    bool is_by_starter; /* the killer is an ancestor */
    uint64_t ooms;      /* how often memory ran out, caught or not */
    bool is_recovered;  /* by memtap recover */
    bool is_unnumbered; /* the format is too old to show missing blocks */
    bool lacks_tail;    /* it was not closed, and nothing shows that its end is there */
    char what[200];     /* executed: the program; stopped, cut: why; "": unknown */
    const char *note;   /* a note on the trace, such as "the trace may lack its end"; "": none */
};

/* Find the end of a trace that was read to its end, or up to a fault (NULL: none known). */
struct mt_ended mt_ended_of(const struct mt_survey *survey, const struct mt_trace_error *fault);

const char *mt_ended_name(enum mt_ended_how how);

/* Return the end of this name; MT_ENDED_COUNT: none. */
enum mt_ended_how mt_ended_find(const char *name, size_t size);

/* Write it as text: "killed by signal 9 (SIGKILL)", "out of memory, not caught; exit code 1",
 * "whole". Return out. */
#define MT_ENDED_TEXT 400
const char *mt_ended_text(char out[MT_ENDED_TEXT], const struct mt_ended *ended);

/* Write it as a sentence without a full stop, with the note on the trace: "Ended: killed; ...". */
const char *mt_ended_line(char out[MT_ENDED_TEXT], const struct mt_ended *ended);

/* Return whether there is nothing to report: the run is complete and not recovered, memory never
 * ran out, and missing blocks would be noticed. */
static inline bool mt_ended_is_plain(const struct mt_ended *ended)
{
    return ended->how == MT_ENDED_WHOLE && !ended->ooms && !ended->is_recovered &&
           !ended->is_unnumbered;
}

/* Return whether reports begin with how the run ended, or what is unknown about the trace. */
static inline bool mt_ended_is_reported(const struct mt_ended *ended)
{
    return ended->how != MT_ENDED_WHOLE || ended->is_recovered || ended->is_unnumbered;
}

/* Return the command that shows the cause: "oom" or "report". */
const char *mt_ended_command(const struct mt_ended *ended);

/* The ends that a user accepts besides complete runs: --allow-ended. */

/* One bit for each enum mt_ended_how. */
typedef unsigned mt_allowed_ends;

static inline bool mt_is_allowed_end(mt_allowed_ends allowed, const struct mt_ended *ended)
{
    return (ended->how == MT_ENDED_WHOLE || (allowed >> ended->how & 1)) &&
           (!ended->lacks_tail || (allowed >> MT_ENDED_OPEN & 1));
}

#endif
