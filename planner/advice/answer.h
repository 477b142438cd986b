/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cheapest changes that make a recorded job fit a card: settings of PyTorch's allocator,
 * changes of the program, and two of these together, each replayed over the whole trace.
 */
#ifndef MT_PLANNER_ANSWER_H
#define MT_PLANNER_ANSWER_H

#include <jansson.h>
#include <stdio.h>

#include "analyzer/support/text.h"
#include "judge.h"
#include "plan.h"
#include "planner/changes/changes.h"

/* Something to do: a setting, a change, or both. Sizes are bytes. */
struct mt_way {
    char conf[MT_PLAN_CONF];     /* "" with has_conf: PyTorch's defaults */
    bool has_conf;               /* else the recorded setting stays */
    char change[MT_CHANGE_NAME]; /* "checkpoint:layers.*+optimizer:sgd"; "": none */
    enum mt_served served;       /* all that is known of the run; never MT_SERVED_NO */
    enum mt_served request;      /* the request that failed, where what follows is modelled */
    enum mt_reach reach;         /* how far the run comes then, at least */
    bool is_replayed;
    unsigned error; /* per thousand of the card that it holds within; 0: replayed, or no bound */
    uint64_t peak_reserved, free; /* free: the least that is left of the card */
    uint64_t operators;           /* that are run again, over the whole trace */
    bool is_async;                /* the setting is another allocator's */
    bool is_first;                /* it is a first forward or backward, whose rest is not known */
    uint64_t retries; /* of CUDA's allocation, after the cache was freed; settings alone */
};

/* The batch is tried in so many parts: sharper ones are within the model's error. */
#define MT_BATCH_PARTS 8u

/* The largest batch that fits, in such parts of the recorded one. */
struct mt_largest_batch {
    unsigned about;    /* as modelled; 0: not known */
    unsigned least;    /* known to fit; 0: none is */
    bool of_iteration; /* through this iteration: several were complete, so this one needs more */
};

struct mt_plan_answer {
    const struct mt_plan *plan;
    const struct mt_rest
        *rest;           /* memory ran out, and what follows is modelled; NULL: all is recorded */
    enum mt_served fits; /* as recorded; MT_SERVED_UNKNOWN too where the card is not known */
    uint64_t free;       /* as recorded, the least that is left of the card; 0 if it does not fit */
    struct mt_way
        *way; /* the cheapest first; what may fit comes last. If it fits: what leaves more room */
    size_t n, capacity;
    uint64_t missing;      /* there is no way: bytes more of the card that the nearest way needs;
                            * 0: not found */
    struct mt_way nearest; /* that way */
    uint64_t forward;      /* allocations in forward, over the whole trace */
    bool infers;           /* the run ends in an evaluation: nothing is trained there */
    bool is_narrow;        /* forward makes 16-bit tensors */
    char optimizer[32];    /* the class that steps, "AdamW"; "": no step was seen */
    char calls[96];        /* the line that called the model last, "train.py:9"; "": not known */
    char copies[96];       /* the line that made all copies of weights; so */
    struct mt_largest_batch largest;
    const struct mt_modelled_changes *changes; /* NULL: none were asked for */
    bool is_cut;                               /* not all combinations were tried */
};

/* Add what the run would have gone on to request to the recording, and model changes: those of the
 * names, or all that make sense, also by what the device does not need; the best come first. 0,
 * -ENOMEM; -EINVAL: there is no change of names[*wrong]. All are to be cleared in any case. */
int mt_answer_model(struct mt_modelled_changes *changes, struct mt_cut_run *cut,
                    struct mt_recording *recording, const struct mt_replay *replay,
                    const struct mt_requests *requests, const struct mt_unneeded *unneeded,
                    const char *const *names, size_t n_names, size_t *wrong);

/* Return by how much less the change of that name lets be live, as modelled; 0: not known. */
uint64_t mt_answer_saves(const struct mt_modelled_changes *changes, const char *name);

/* Fill in what the run is: infers, is_narrow, optimizer, calls, copies. */
void mt_answer_about(struct mt_plan_answer *answer, const struct mt_recording *recording);

/* Make the answer. cut: what would have followed, in the recording, too; NULL: the trace ends by
 * itself. recording: with what failed in it (mt_failed_add_all); changes: those to try, modelled;
 * both NULL: only settings. 0 or -ENOMEM; to be cleared in any case. */
int mt_answer_make(struct mt_plan_answer *answer, const struct mt_plan *plan,
                   const struct mt_cut_run *cut, const struct mt_recording *recording,
                   const struct mt_modelled_changes *changes);
void mt_answer_clear(struct mt_plan_answer *answer);

/* Return what is known of a way: 0, it fits; 1, it serves the request that failed; 2, it may. */
unsigned mt_way_known(const struct mt_way *way);

/* Return whether a way is more than one thing to do. */
bool mt_way_is_two(const struct mt_way *way);

/* Return whether a way is a smaller batch, and nothing else. */
bool mt_way_is_batch(const struct mt_way *way);

/* Find the largest batch, where a way is a smaller one and all that follows is modelled. 0 or
 * -ENOMEM. */
int mt_find_largest_batch(struct mt_plan_answer *answer, struct mt_judge *judge);

/* Sort the ways, the cheapest first. */
void mt_answer_sort(struct mt_plan_answer *answer);

/* Return whether the job fits, or something makes it fit for certain; true where the card is not
 * known. */
bool mt_answer_is_found(const struct mt_plan_answer *answer);

/* Write the answer, which stands first on a page. names_device: there are others. */
void mt_answer_text(const struct mt_plan_answer *answer, bool names_device, FILE *out,
                    const struct mt_style *style);

/* Return the member `answer` of memtap-plan-json(5). */
json_t *mt_answer_json(const struct mt_plan_answer *answer);

/* What a way is in words, for people and for programs alike. */

#define MT_WAY_ACTIONS (MT_CHANGE_PARTS + 1)
#define MT_WAY_TEXT 400u

/* What to do: a line to paste, and what to write into the program. */
struct mt_way_words {
    char action[MT_WAY_ACTIONS][MT_WAY_TEXT];
    size_t n;
    const char *costs; /* "nothing", "time", "cards", "exactness" */
    char price[2 * MT_WAY_TEXT];
};

void mt_way_words(struct mt_way_words *words, const struct mt_plan_answer *answer,
                  const struct mt_way *way);

#endif
