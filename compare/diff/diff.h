/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The differences between old and new runs of a program. There may be several of each: ranks of a
 * job, and repetitions of the job, which distinguish noise from real changes.
 */
#ifndef MT_DIFF_H
#define MT_DIFF_H

#include <stdbool.h>

#include "compare/digest/match.h"
#include "compare/digest/processes.h"

/* A number in old and new runs: medians. */
struct mt_change {
    uint64_t old, now;
    uint64_t spread; /* between the least and the most of the old runs, or of the new ones */
    bool is_noise;   /* there is a change, but it does not exceed the spread */
};

static inline int64_t mt_change_of(const struct mt_change *change)
{
    return (int64_t)(change->now - change->old);
}

/* Return the magnitude of a change. */
static inline uint64_t mt_magnitude(int64_t bytes)
{
    return bytes < 0 ? 0 - (uint64_t)bytes : (uint64_t)bytes;
}

enum mt_diff_kind {
    MT_DIFF_SAME,
    MT_DIFF_NEW,    /* the line had never allocated */
    MT_DIFF_GONE,   /* it no longer allocates */
    MT_DIFF_GROWN,  /* it allocated less before */
    MT_DIFF_SHRUNK, /* it allocated more before */
    MT_DIFF_LONGER, /* it allocates as before, but frees later: the blocks live at the peak */
    MT_DIFF_EARLIER,
    MT_DIFF_MOVED, /* it allocates as before, but the peak is in another phase */
    MT_DIFF_KINDS
};

/* "new", "gone" ...; for JSON. */
extern const char *const mt_diff_kind_names[MT_DIFF_KINDS];

/* A call site. */
struct mt_diff_site {
    enum mt_category category;
    const struct mt_line *line;
    const struct mt_line *was;           /* its likely line before; NULL: the same */
    const char *operator_name;           /* "": none */
    const char *module;                  /* the only one that has changed; "": none or several */
    const char *guess;                   /* as in struct mt_digest_site, of any run */
    enum mt_certainty certainty;         /* in the run in which it is lowest */
    const char *stack;                   /* a new run's, if one has it */
    const struct mt_digest_saver *saver; /* whose line keeps more of its blocks than before, by
                                          * saving them for backward; NULL: none */
    const struct mt_held_most *held;     /* what holds most of them in a new run, if it is known and
                                          * they have grown; else NULL */
    struct mt_change bytes, blocks;      /* at the peak */
    struct mt_change unused;             /* bytes beyond what was requested, as far as known */
    struct mt_change allocations, most, phases, saved; /* over the whole run, of its place */
    enum mt_diff_kind kind;
    bool is_scaled; /* one of the device's n_scaled */
    double part;  /* part of its change that was requested and other sites do not offset, 0 to 1 */
    double blame; /* bytes: that part; for parameters, also what follows them */
};

struct mt_diff_share {
    char *name;
    struct mt_change bytes;
};

struct mt_diff_shares {
    struct mt_diff_share *share; /* by name */
    size_t n;
};

/* One device of one process. */
struct mt_diff_device {
    long rank;                  /* -1: unknown */
    char process[MT_PART_NAME]; /* one of several without ranks; "": not so */
    int device;                 /* of the new runs */
    size_t order;
    size_t n_old, n_new;
    const struct mt_digest_device **runs;     /* the new digests, then the old ones */
    const struct mt_digest_device *old, *now; /* of the median runs */
    struct mt_change allocated, reserved;     /* peaks of allocated and reserved memory */
    struct mt_change cached, unseen;          /* at the peak */
    struct mt_change category[MT_CATEGORY_ROOM];
    enum mt_certainty certainty[MT_CATEGORY_ROOM]; /* in the run in which it is lowest */
    struct mt_change phase[MT_PHASE_COUNT];        /* peak of allocated memory in it */
    struct mt_change growth, at_end;
    bool of_cuda; /* without PyTorch: nothing is reserved */
    bool peak_moved;
    /* The compared moments of categories and sites. -1: the peaks. Else the highest moments of this
     * phase: the new peak's if the peak has moved, or the most changed one if the peak has hardly
     * changed. */
    int in_phase;
    struct mt_change compared; /* allocated at these moments */
    double scale;              /* factor of the batch or length; 0: none */
    struct mt_change scaled;   /* bytes of the n_scaled lines that changed with it */
    size_t n_scaled;
    int64_t unused;    /* change of the bytes beyond what was requested: rounding, cached blocks */
    int64_t following; /* change of gradients and optimizer state that follows parameters' */
    struct mt_matching matching;
    struct mt_diff_site *site; /* by contribution to the peak's change, the largest first */
    size_t n_sites;
    struct mt_diff_shares modules, operators, stacks;
};

struct mt_diff {
    const struct mt_digest *old, *now;
    size_t n_old, n_new;
    struct mt_processes processes;
    struct mt_part_list parts;     /* parts parts that one side has and the other lacks */
    struct mt_diff_device *device; /* by rank, process and device */
    size_t n_devices;
};

/* Compare digests. Return 0 or -ENOMEM. Call mt_diff_clear in any case. The digests must outlive
 * the diff. */
int mt_diff_make(struct mt_diff *diff, const struct mt_digest *old, size_t n_old,
                 const struct mt_digest *now, size_t n_new);
void mt_diff_clear(struct mt_diff *diff);

/* Return the device of both sides whose peak changed most; if none has changed, the one with the
 * highest peak. NULL: no device. */
const struct mt_diff_device *mt_diff_main_device(const struct mt_diff *diff);

/* Return -1: only the old side has the device; 1: only the new one; 0: both have it. */
int mt_diff_only(const struct mt_diff_device *device);

/* Return whether anything changed apart from noise. */
bool mt_diff_is_same(const struct mt_diff_device *device);

/* Return whether a single rank of each side is compared, so that neither counts as missing. */
bool mt_diff_is_of_two_ranks(const struct mt_diff *diff);

/* Return the phase (enum mt_phase) in which the runs should be compared but were not, because it
 * needs mt_digest_attach; -1: none. */
int mt_diff_wants_phase(const struct mt_diff *diff);

/* List the shares that have changed, the most changed first: layers of consecutive numbers with the
 * same bytes and change are one, "blocks.0-11.mlp". Return 0 or -ENOMEM. Call mt_diff_shares_clear
 * in any case. */
int mt_diff_fold(struct mt_diff_shares *folded, const struct mt_diff_shares *shares);

/* The parts of mt_diff_make (diff-numbers.c, diff-sites.c, diff-shares.c, diff-moved.c,
 * diff-kinds.c, diff-weigh.c, diff-scale.c). values: of the new runs, then of the old ones; they
 * are sorted. */
struct mt_change mt_change_make(uint64_t *values, size_t n_new, size_t n_old);
int mt_diff_numbers(struct mt_diff_device *device);
int mt_diff_categories(struct mt_diff_device *device);
int mt_diff_collect_sites(struct mt_diff_device *device);
int mt_diff_collect_shares(struct mt_diff_shares *to, const struct mt_diff_device *device,
                           size_t field); /* its offset in a digest's device */
void mt_diff_shares_clear(struct mt_diff_shares *shares);
void mt_diff_pair_moved(struct mt_diff_device *device);
void mt_diff_name_kinds(struct mt_diff_device *device);
int mt_diff_weigh(struct mt_diff_device *device);
int mt_diff_find_scale(struct mt_diff_device *device);

#endif
