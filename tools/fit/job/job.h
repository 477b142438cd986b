/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The job that is to fit: the command with its variables, and how each run of it is made.
 */
#ifndef MT_FIT_JOB_H
#define MT_FIT_JOB_H

#include "simulator/catalogue.h"
#include "variable.h"

#include <stdbool.h>

#define MT_MOST_VARIABLES 16u
#define MT_MOST_LINES 256u /* combinations of what is tried value by value */
#define MT_MOST_FIT_CARDS 32u
#define MT_ALL_STEPS UINT32_MAX

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
    struct mt_fit_card card[MT_MOST_FIT_CARDS];
    size_t n_cards;
    bool is_smaller; /* the job may not have all of each card */
    double fraction;
    const char *gpus, *processes; /* numbers or "{NAME}"; NULL: one */
    const char *values;           /* tensors up to this size are computed; NULL: the default */
    bool allows_unknown;          /* borders are shown though sizes hang on unknown values */
    uint32_t steps;               /* a run ends after so many; 0: when they repeat */
    double timeout_s;             /* of a run */
    const char *temporary;        /* the folder with a folder for each run; absolute */
    const char *kept; /* a folder of the user's for traces and outputs; NULL: nothing is kept */
};

/* What a card's context leaves. */
static inline uint64_t mt_room_of_card(const struct mt_job *job, size_t card)
{
    return job->card[card].memory - job->card[card].gpu->context;
}

/* One value of each variable: of the line's, and of the one that is searched. */
struct mt_choice {
    size_t line, at;
};

/* The number of the value that variable i has there. */
size_t mt_job_value(const struct mt_job *job, struct mt_choice choice, size_t i);

/* Values that are searched; 1 where none is. */
size_t mt_job_positions(const struct mt_job *job);

/* Finds what is searched and how many lines there are: the first range is, others are doubled. 0,
 * -E2BIG or -ENOMEM. */
int mt_job_finish(struct mt_job *job);

/* "batch=64, ckpt=0": all values, or only those of the line. Returns out. */
enum mt_choice_part { MT_CHOICE_ALL, MT_CHOICE_LINE };
const char *mt_choice_text(const struct mt_job *job, struct mt_choice choice,
                           enum mt_choice_part part, char *out, size_t size);

/* A text with "{NAME}" replaced by values; malloc'ed, or NULL. */
char *mt_job_fill(const struct mt_job *job, struct mt_choice choice, const char *text);

/* The command with these values, words that are empty then left out; to be freed by mt_words_free.
 */
char **mt_job_words(const struct mt_job *job, struct mt_choice choice);
void mt_words_free(char **words);

/* Whether a text has "{NAME}". */
int mt_has_place(const char *text, const char *name);

#endif
