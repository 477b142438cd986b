/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The job that is to fit: the command with its variables, and what a run of it shows.
 */
#ifndef MT_FIT_JOB_H
#define MT_FIT_JOB_H

#include "analyzer/replay/uncomputed.h"
#include "simulator/catalogue.h"
#include "simulator/launch.h"
#include "tools/launch/simulation.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A variable of --vary: the values that it is to have, as the command line gives them. */

#define MT_VALUE_TEXT 24 /* bytes of a number's text */

struct mt_variable {
    char *name;
    char **text; /* of a list; NULL: numbers, first + i * step */
    uint64_t first, step;
    size_t n;            /* values */
    bool is_ordered;     /* a range: its values go up */
    bool has_step;       /* the range says which of its values */
    bool is_of_layout;   /* --world-size has it: no value of it is searched */
    bool is_environment; /* the program has it in its environment, not in its command line */
};

/* Read "NAME=VALUES": a range (1..512; 8..512+8: every 8th; 1..512*2: each twice the one before)
 * or a list (0,1; "\," is a comma in a value). 0; -EINVAL and what is wrong with it, in words that
 * follow the text; or -ENOMEM. To be cleared in any case. */
int mt_variable_read(struct mt_variable *variable, const char *text, char *wrong, size_t size);
void mt_variable_clear(struct mt_variable *variable);

/* Keep, of a range without steps, values that are each twice the one before, and the last. 0 or
 * -ENOMEM. */
int mt_variable_double(struct mt_variable *variable);

/* Return the text of value i: in the variable, or in `room`. */
const char *mt_variable_text(const struct mt_variable *variable, size_t i,
                             char room[MT_VALUE_TEXT]);

/* Return whether value i is a whole number, and which. */
bool mt_variable_number(const struct mt_variable *variable, size_t i, uint64_t *number);

#define MT_MOST_VARIABLES 16u
#define MT_MOST_LINES 256u          /* combinations of what is tried value by value */
#define MT_MOST_COMBINATIONS 65536u /* of which --world-size leaves so many */
#define MT_MOST_FIT_CARDS 32u
#define MT_ALL_STEPS UINT32_MAX
#define MT_ALL_DIFFERENT "all-different" /* --rank: one of each kind */
#define MT_MOST_RANK_RUNS 128u           /* of a job, to see which of its ranks differ */

/* How a run ended. O(enumerator, name in JSON) */
/* clang-format off */
#define MT_FIT_ENDS(O)                                                                             \
    O(FITS, "fits")                                                                                \
    O(FULL, "out of memory")                                                                       \
    O(REFUSED, "refused")                                                                          \
    O(KILLED, "killed")                                                                            \
    O(LATE, "timeout")                                                                             \
    O(UNSEEN, "no trace")                                                                          \
    O(BROKEN, "not started")
/* clang-format on */

enum mt_fit_end {
#define MT_FIT_ENUM(id, name) MT_FIT_##id,
    MT_FIT_ENDS(MT_FIT_ENUM)
#undef MT_FIT_ENUM
};

const char *mt_fit_end_name(enum mt_fit_end end);

/* Numbers of a run: as such, "{NAME}", or products: "{tp}*{dp}". O(enumerator, option, least, most)
 */
/* clang-format off */
#define MT_JOB_COUNTS(O)                                                                           \
    O(PROCESSES, "nproc", 1, SIM_MAX_GPUS)                                                         \
    O(CARDS, "gpus", 1, SIM_MAX_GPUS) /* by default as many */                                     \
    O(RANKS, "world-size", 1, SIM_MAX_RANKS) /* 0: no rank is alone; maybe with "=N" */            \
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

/* What a run showed. All sizes in bytes, of the fullest card of the run. */
struct mt_outcome {
    enum mt_fit_end end;
    int exit_code, signal;        /* of the program, where that says why */
    bool was_caught;              /* memory ran out, and the program continued */
    bool was_stopped;             /* its peak was known before its end */
    bool takes_all;               /* of a card that has room for anything it takes a good part */
    uint64_t advice;              /* the largest value that fits, as a server says; 0: nothing */
    uint32_t iterations;          /* of training, that were complete */
    uint64_t used;                /* the most that was taken of the card, by anybody */
    uint64_t floor;               /* what of this PyTorch's cache is not */
    uint64_t reserved, allocated; /* the most that PyTorch had reserved, and allocated */
    uint64_t flushes;             /* how often PyTorch gave its cache back to go on */
    uint64_t host;                /* the most that the processes had in the host's memory */
    uint64_t host_now;            /* while it goes on */
    uint64_t wall_ns;
    char unknown[1024];        /* which sizes hang on values that were not computed; "": none */
    uint64_t handles;          /* of `used`, what handles of libraries hold beside PyTorch */
    const char *workspaces;    /* which are not in it, a sentence; NULL or "": none */
    char cudnn[MT_CUDNN_TEXT]; /* whose answer they are; "": not known */
    char last[1024];           /* the last lines that the program printed, where it ended badly */
};

struct mt_fit_card {
    const struct sim_gpu *gpu;
    uint64_t memory; /* bytes that the job may take of it */
};

struct mt_job {
    char *const *words; /* the command's; NULL ends them */
    size_t n_words;
    struct mt_variable variable[MT_MOST_VARIABLES];
    size_t n_variables;
    int searched; /* the variable that is searched, or -1: every value of all is tried */
    size_t n_lines;
    uint32_t *combination; /* of each line, in the order of all; NULL: a line has its number */
    struct mt_fit_card card[MT_MOST_FIT_CARDS];
    size_t n_cards;
    bool is_smaller; /* the job may not have all of each card */
    double fraction;
    const char *count[MT_JOB_COUNT_LIMIT]; /* NULL: not given */
    bool finds_ranks;                      /* of --world-size, one of each kind is run */
    bool is_for_ranks;                     /* nothing else is to be found */
    struct mt_simulation simulation;       /* as typed: gpu has the cards, and memory theirs */
    bool allows_unknown;   /* borders are shown though sizes hang on unknown values */
    uint32_t steps;        /* a run ends after so many; 0: when they repeat */
    double timeout_s;      /* of a run */
    const char *temporary; /* the folder with a folder for each run; absolute */
    const char *kept; /* a folder of the user's for traces and outputs; NULL: nothing is kept */
};

/* Return what a card's context leaves. */
static inline uint64_t mt_room_of_card(const struct mt_job *job, size_t card)
{
    return job->card[card].memory - job->card[card].gpu->context;
}

/* One value of each variable: of the line's, and of the one that is searched (MT_NONE: of none). */
#define MT_NONE SIZE_MAX
struct mt_choice {
    size_t line, at;
};

/* Return the text of the value that variable i has there: in the variable, or in `room`. */
const char *mt_choice_value(const struct mt_job *job, struct mt_choice choice, size_t i,
                            char room[MT_VALUE_TEXT]);

/* Return whether it is a whole number, and which. */
bool mt_choice_number(const struct mt_job *job, struct mt_choice choice, size_t i,
                      uint64_t *number);

/* Return the variable that is searched; NULL: none is. */
static inline const struct mt_variable *mt_job_searched(const struct mt_job *job)
{
    return job->searched < 0 ? NULL : &job->variable[job->searched];
}

/* Return how many values are searched; 1 where none is. */
size_t mt_job_positions(const struct mt_job *job);

/* Return one of them; 0 where none is searched. */
uint64_t mt_job_searched_value(const struct mt_job *job, size_t position);

/* Return the card with the most memory: what does not fit there, fits nowhere. */
size_t mt_job_largest_card(const struct mt_job *job);

/* Find what is searched and how many lines there are: the first range is that the world size does
 * not have; others are doubled. Where the world size is "{tp}*{dp}=64", combinations with another
 * one are left out. 0, -E2BIG, -ENOENT: none is left, or -ENOMEM. */
int mt_job_finish(struct mt_job *job);
void mt_job_clear(struct mt_job *job);

/* Write the values: "batch=64, ckpt=0". Return out. */
const char *mt_choice_text(const struct mt_job *job, struct mt_choice choice, char *out,
                           size_t size);

/* Return the command with these values, words that are empty then left out; to be freed by
 * mt_words_free. */
char **mt_job_words(const struct mt_job *job, struct mt_choice choice);
void mt_words_free(char **words);

/* Read a number, or numbers with * between, up to an "=" or the end. Return whether it is one from
 * the form's least to `most`. */
bool mt_job_count_read(const char *text, enum mt_job_count which, unsigned most, unsigned *number);

/* Find all numbers of a run. 0, or -EINVAL and what is wrong with the first that is. */
int mt_job_counts(const struct mt_job *job, struct mt_choice choice,
                  unsigned count[MT_JOB_COUNT_LIMIT], char *why, size_t size);

/* Return the length of "{NAME}" at the begin of a text; 0: it is not there. */
size_t mt_place_length(const char *text, const char *name);

/* Return whether a text has "{NAME}". */
bool mt_has_place(const char *text, const char *name);

#endif
