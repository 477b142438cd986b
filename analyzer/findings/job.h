/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several processes of one job (ranks), side by side. Their analyses need not be in memory
 * together: a struct mt_job_rank has what comparing them takes.
 */
#ifndef MT_JOB_H
#define MT_JOB_H

#include "analysis.h"

struct mt_job_rank {
    long rank;       /* -1: unknown */
    long stands_for; /* number of ranks that it represents, including itself; -1: unknown */
    size_t given;    /* its place among the traces as the caller has them */
    char *host, *parent_pid, *pid, *world_size, *master_address; /* own; "": unknown */
    char *title;                /* the process's name in ps, where it chose one */
    char *visible;              /* CUDA_VISIBLE_DEVICES, likewise */
    bool is_simulated;          /* each process has simulated cards of its own */
    uint64_t begin_ns, last_ns; /* of the recording, as clock_gettime(CLOCK_REALTIME) counts */
    bool has_device;            /* the main device's, at the moment; else all 0 */
    int device;
    uint64_t allocated, time_ns;
    const char *phase;                             /* for people; "": unknown */
    uint64_t category[MT_CATEGORY_ROOM];           /* bytes */
    enum mt_certainty certainty[MT_CATEGORY_ROOM]; /* mt_sites_certainty */
    uint64_t growth; /* bytes in each iteration, or in growth_every of them; 0: none */
    uint32_t growth_every;
    char *growth_line; /* own: "train.py:12 main", where most of it is requested; "": unknown */
    struct mt_ended ended;
    const char *path;                      /* the caller's; only mt_job_follow_cards asks for it */
    bool of_cuda;                          /* `allocated` is CUDA's, not PyTorch's */
    bool has_every_level;                  /* the trace has all that changed it, up to its peak */
    uint64_t together, card_most, card_ns; /* mt_job_follow_cards */
};

/* Return a process's rank; -1 if the trace does not give it. */
long mt_rank(const struct mt_analysis *analysis);
long mt_rank_in(const struct mt_definitions *definitions);

/* Read only the trace's begin. Return 0 and *rank, or the errors of mt_reader_open. */
int mt_trace_rank(const char *path, long *rank, struct mt_trace_error *error);

/* Fill in a rank from its analysis, which may go afterwards. 0, or -ENOMEM. Call mt_job_rank_clear
 * in any case. */
int mt_job_rank_take(struct mt_job_rank *rank, const struct mt_analysis *analysis, size_t given);
void mt_job_rank_clear(struct mt_job_rank *rank);

/* Sort by rank, then as they are given. */
void mt_job_sort(struct mt_job_rank *ranks, size_t n);

/* Return whether two traces can be of one job; if not, *why is the reason in words. */
bool mt_same_job(const struct mt_job_rank *a, const struct mt_job_rank *b, const char **why);

/* Return whether a process has a higher peak than another, or the same one and stands before it
 * (mt_job_sort). */
bool mt_is_higher(const struct mt_job_rank *a, const struct mt_job_rank *b);

/* Processes that used one card at a time. */
struct mt_card_share {
    size_t first; /* index of the first of them */
    size_t n;
    uint64_t peaks; /* the sum of their peaks, in bytes */
    uint64_t most;  /* that they had at one time; 0: not known (mt_job_follow_cards) */
    uint64_t ns;    /* when, as clock_gettime(CLOCK_REALTIME) counts */
};

/* Return whether two processes used the same card while both ran. */
bool mt_share_card(const struct mt_job_rank *a, const struct mt_job_rank *b);

/* Return whether a process is one of them. */
static inline bool mt_card_share_has(const struct mt_card_share *share,
                                     const struct mt_job_rank *ranks, size_t i)
{
    return i == share->first || mt_share_card(&ranks[share->first], &ranks[i]);
}

/* Find the processes that shared the card of ranks[first]. False: none did, or a process before it
 * is among them. */
bool mt_card_share_find(struct mt_card_share *share, const struct mt_job_rank *ranks, size_t n,
                        size_t first);

/* Replay the traces of processes that shared a card, side by side, and find the most that each card
 * had at one time: card_most and card_ns of the first of its processes, and what each had then,
 * `together`. Where it cannot be known (a compact copy, a light recording, no memory, more than 64
 * processes), card_most stays 0. */
void mt_job_follow_cards(struct mt_job_rank *ranks, size_t n);

/* Return the index of the process with the highest peak; n is not 0. */
size_t mt_job_highest(const struct mt_job_rank *ranks, size_t n);

/*
 * How far the rank with the highest peak is above the other ranks of its job, and in which
 * categories.
 */

/* In bytes, relative to the median of the ranks that have device memory (mt_median); a rank that
 * stands for others counts as often. */
struct mt_imbalance {
    uint64_t median;                    /* of the peaks */
    uint64_t above;                     /* of the highest */
    int64_t category[MT_CATEGORY_ROOM]; /* the highest rank's minus the category's median */
    enum mt_category most;              /* the category furthest above */
};

/* Compare n > 0 ranks; `highest` is the index of one of them. 0, or -ENOMEM. */
int mt_imbalance_find(struct mt_imbalance *imbalance, const struct mt_job_rank *ranks, size_t n,
                      size_t highest);

#endif
