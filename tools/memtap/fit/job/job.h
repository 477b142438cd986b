/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job: the command with its variables, and the result of a run.
 */
#ifndef MT_FIT_JOB_H
#define MT_FIT_JOB_H

#include "analyzer/replay/unsimulated.h"
#include "simulator/catalogue.h"
#include "simulator/launch.h"
#include "tools/memtap/launch/simulation.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A --vary variable and its values. */

#define MT_VALUE_TEXT 24 /* size of a number as text */

struct mt_variable {
    char *name;
    char **text; /* a list's values; NULL: numbers, first + i * step */
    uint64_t first, step;
    size_t n;            /* number of values */
    bool is_ordered;     /* a range: its values rise */
    bool has_step;       /* the range names a step */
    bool is_of_layout;   /* used by --world-size, so not searched */
    bool is_environment; /* passed in the environment, not on the command line */
};

/* Parse "NAME=VALUES": a range (1..512; 8..512+8: every 8th; 1..512*2: doubling) or a list (0,1;
 * "\," is a comma in a value). Return 0; -ENOMEM; or -EINVAL, with a predicate for the message that
 * follows the text. Clear the variable in any case. */
int mt_variable_read(struct mt_variable *variable, const char *text, char *wrong, size_t size);
void mt_variable_clear(struct mt_variable *variable);

/* Reduce a range without steps to doubling values and the last one. Return 0 or -ENOMEM. */
int mt_variable_double(struct mt_variable *variable);

/* Return value i as text: owned by the variable, or written to `room`. */
const char *mt_variable_text(const struct mt_variable *variable, size_t i,
                             char room[MT_VALUE_TEXT]);

/* Return whether value i is an integer, and store it. */
bool mt_variable_number(const struct mt_variable *variable, size_t i, uint64_t *number);

#define MT_MOST_VARIABLES 16u
#define MT_MOST_LINES 256u          /* most combinations of values that are all run */
#define MT_MOST_COMBINATIONS 65536u /* most combinations before --world-size filters them */
#define MT_MOST_FIT_CARDS 32u
#define MT_ALL_STEPS UINT32_MAX
#define MT_ALL_DIFFERENT "all-different" /* --rank's word for one rank of each kind */
#define MT_MOST_RANK_RUNS 128u           /* most ranks of a job whose kinds are searched */

/* How a run ended. O(enumerator, name in JSON) */
/* clang-format off */
#define MT_FIT_ENDS(O)                                                                             \
    O(FITS, "fits")                                                                                \
    O(FULL, "out of memory")                                                                       \
    O(REFUSED, "refused")                                                                          \
    O(KILLED, "killed")                                                                            \
    O(LATE, "timeout")                                                                             \
    O(UNSEEN, "no trace")                                                                          \
    O(UNREADABLE, "unreadable")                                                                    \
    O(BROKEN, "not started")
/* clang-format on */

enum mt_fit_end {
#define MT_FIT_ENUM(id, name) MT_FIT_##id,
    MT_FIT_ENDS(MT_FIT_ENUM)
#undef MT_FIT_ENUM
};

const char *mt_fit_end_name(enum mt_fit_end end);

/* The numbers of a run: literal, "{NAME}", or a product such as "{tp}*{dp}". O(enumerator, option,
 * least, most) */
/* clang-format off */
#define MT_JOB_COUNTS(O)                                                                           \
    O(PROCESSES, "nproc", 1, SIM_MAX_GPUS)                                                         \
    O(CARDS, "gpus", 1, SIM_MAX_GPUS) /* as many by default */                                     \
    O(RANKS, "world-size", 1, SIM_MAX_RANKS) /* 0: all ranks run together; may end in "=N" */            \
    O(RANK, "rank", 0, SIM_MAX_RANKS - 1)
/* clang-format on */

enum mt_job_count {
#define MT_JOB_ENUM(id, ...) MT_JOB_##id,
    MT_JOB_COUNTS(MT_JOB_ENUM)
#undef MT_JOB_ENUM
        MT_JOB_COUNT_LIMIT
};

extern const struct mt_job_count_form {
    const char *option;
    unsigned least, most;
} mt_job_count_form[MT_JOB_COUNT_LIMIT];

/* The outcome of a run. Sizes are in bytes, of the run's fullest card. */
struct mt_outcome {
    enum mt_fit_end end;
    int exit_code, signal; /* the program's, if that explains the end */
    bool was_caught;       /* memory ran out, but the program continued */
    bool was_stopped;      /* ended by memtap once its peak was known */
    bool fills_card;       /* uses a large part of an unlimited card, as servers do */
    uint64_t advice;       /* the largest value that fits, as reported by a server; 0: none */
    uint32_t iterations;   /* complete training iterations */
    uint64_t used;         /* peak use of the card, by anybody */
    uint64_t floor;        /* the same without PyTorch's cache */
    uint64_t reserved, allocated; /* PyTorch's peaks of reserved and allocated memory */
    uint64_t flushes;             /* how often PyTorch emptied its cache to continue */
    uint64_t host;                /* the processes' peak of host memory */
    uint64_t host_now;            /* the current use */
    uint64_t wall_ns;
    char unknown[1024]; /* sizes that depend on values that are not simulated; "": none */
    uint64_t handles;   /* part of `used` held by library handles outside PyTorch */
    const char
        *workspaces; /* a sentence about workspaces that are not simulated; NULL or "": none */
    char cudnn[MT_CUDNN_TEXT]; /* the cuDNN that answered for workspaces; "": unknown */
    char last[1024]; /* if it failed: the program's last lines of output; broken, unreadable: why */
};

struct mt_fit_card {
    const struct sim_gpu *gpu;
    uint64_t memory; /* bytes that the job may use */
};

struct mt_job {
    char *const *words; /* the command's words, terminated by NULL */
    size_t n_words;
    struct mt_variable variable[MT_MOST_VARIABLES];
    size_t n_variables;
    int searched; /* the searched variable; -1: all combinations are run */
    size_t n_lines;
    uint32_t *combination; /* each line's combination; NULL: line i is combination i */
    struct mt_fit_card card[MT_MOST_FIT_CARDS];
    size_t n_cards;
    bool is_smaller; /* the job may use only a part of each card */
    double fraction;
    const char *count[MT_JOB_COUNT_LIMIT]; /* NULL: not given */
    bool finds_ranks;                      /* run one rank of each kind of --world-size */
    bool is_for_ranks;                     /* only search for the kinds of ranks */
    struct mt_simulation simulation;       /* as typed; gpu and memory name the cards */
    bool allows_unknown;                   /* show results even if sizes depend on unknown values */
    uint32_t steps;        /* end a run after this many iterations; 0: when they repeat */
    double timeout_s;      /* the time limit of a run */
    const char *temporary; /* absolute path of the folder that contains the runs' folders */
    const char *kept;      /* the user's folder for traces and outputs; NULL: keep nothing */
};

/* Return the memory that a card's context leaves. */
static inline uint64_t mt_room_of_card(const struct mt_job *job, size_t card)
{
    return job->card[card].memory - job->card[card].gpu->context;
}

/* A value for each variable: the line's combination, and a position of the searched variable
 * (MT_NONE: none). */
#define MT_NONE SIZE_MAX
struct mt_choice {
    size_t line, at;
};

/* Return variable i's value as text: owned by the variable, or written to `room`. */
const char *mt_choice_value(const struct mt_job *job, struct mt_choice choice, size_t i,
                            char room[MT_VALUE_TEXT]);

/* Return whether the value is an integer, and store it. */
bool mt_choice_number(const struct mt_job *job, struct mt_choice choice, size_t i,
                      uint64_t *number);

/* Return the searched variable; NULL: none. */
static inline const struct mt_variable *mt_job_searched(const struct mt_job *job)
{
    return job->searched < 0 ? NULL : &job->variable[job->searched];
}

/* Return the number of searched positions; 1 if no variable is searched. */
size_t mt_job_positions(const struct mt_job *job);

/* Return the value at a position; 0 if no variable is searched. */
uint64_t mt_job_searched_value(const struct mt_job *job, size_t position);

/* Return the card with the most memory. */
size_t mt_job_largest_card(const struct mt_job *job);

/* Choose the searched variable (the first range that the world size does not use; other ranges are
 * reduced to doubling values) and count the lines. "{tp}*{dp}=64" leaves out combinations with
 * another world size. Return 0, -ENOMEM, -E2BIG (too many lines) or -ENOENT (none left). */
int mt_job_finish(struct mt_job *job);
void mt_job_clear(struct mt_job *job);

/* Write the values as "batch=64, ckpt=0". Return out. */
const char *mt_choice_text(const struct mt_job *job, struct mt_choice choice, char *out,
                           size_t size);

/* Return the command with the values filled in, without words that become empty. Free it with
 * mt_words_free. */
char **mt_job_words(const struct mt_job *job, struct mt_choice choice);
void mt_words_free(char **words);

/* Parse a number or a product of numbers, up to "=" or the end. Return whether it is between the
 * form's least and `most`. */
bool mt_job_count_read(const char *text, enum mt_job_count which, unsigned most, unsigned *number);

/* Evaluate all numbers of a run. Return 0, or -EINVAL with a message about the first invalid one.
 */
int mt_job_counts(const struct mt_job *job, struct mt_choice choice,
                  unsigned count[MT_JOB_COUNT_LIMIT], char *why, size_t size);

/* Return the length of "{NAME}" at the start of a text; 0: it does not start there. */
size_t mt_place_length(const char *text, const char *name);

/* Return whether a text contains "{NAME}". */
bool mt_has_place(const char *text, const char *name);

#endif
