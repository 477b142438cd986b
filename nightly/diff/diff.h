/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What differs between old runs and new ones of a program. There may be several of each: ranks of a
 * job, and the same job again and again, so that what changes from run to run by itself is told
 * from what has really changed.
 */
#ifndef MT_DIFF_H
#define MT_DIFF_H

#include <stdbool.h>

#include "nightly/digest/match.h"

/* A number in old and new runs: medians. */
struct mt_change {
    uint64_t old, now;
    uint64_t spread; /* between the least and the most of the old runs, or of the new ones */
    bool is_noise;   /* there is a change, not larger than the spread */
};

static inline int64_t mt_change_of(const struct mt_change *change)
{
    return (int64_t)(change->now - change->old);
}

/* How large a change is, whichever way it goes. */
static inline uint64_t mt_magnitude(int64_t bytes)
{
    return bytes < 0 ? 0 - (uint64_t)bytes : (uint64_t)bytes;
}

enum mt_diff_kind {
    MT_DIFF_SAME,
    MT_DIFF_NEW,    /* the line had never allocated */
    MT_DIFF_GONE,   /* it never allocates any more */
    MT_DIFF_GROWN,  /* it did, less */
    MT_DIFF_SHRUNK, /* it did, more */
    MT_DIFF_LONGER, /* it allocates as before: what it did is freed later, and lives at the peak */
    MT_DIFF_EARLIER,
    MT_DIFF_MOVED, /* the same, where the peak itself is in another phase */
    MT_DIFF_KINDS
};

/* "new", "gone" ...; for JSON. */
extern const char *const mt_diff_kind_names[MT_DIFF_KINDS];

/* A call site. */
struct mt_diff_site {
    enum mt_category category;
    const struct mt_line *line;
    const struct mt_line *was;      /* the line that it seems to have been before; NULL: the same */
    const char *operator_name;      /* "": none */
    const char *module;             /* that all of its change is in; "": none, or several */
    const char *guess;              /* as in struct mt_digest_site, of any run */
    const char *stack;              /* of a new run where one has it */
    struct mt_change bytes, blocks; /* at the peak */
    struct mt_change allocations, most, phases; /* over the whole run, as of its place */
    enum mt_diff_kind kind;
    double part;  /* of its change that other sites do not take back, 0 to 1 */
    double blame; /* bytes: that part; but what only follows parameters counts for these */
};

struct mt_diff_share {
    const char *name;
    struct mt_change bytes;
};

struct mt_diff_shares {
    struct mt_diff_share *share; /* by name */
    size_t n;
};

/* One device of one rank. */
struct mt_diff_device {
    long rank;  /* -1: not known */
    int device; /* of the new runs */
    size_t n_old, n_new;
    const struct mt_digest_device **runs;     /* the new ones, then the old ones */
    const struct mt_digest_device *old, *now; /* of the middle runs */
    struct mt_change allocated, reserved;     /* the peak, and the most reserved at any time */
    struct mt_change cached, unseen;          /* at the peak */
    struct mt_change category[MT_CATEGORY_ROOM];
    struct mt_change phase[MT_PHASES]; /* the most in it */
    struct mt_change growth, at_end;
    int of_cuda; /* no PyTorch's: nothing is reserved */
    int peak_moved;
    /* Categories and sites are those at the peaks; -1. Or at the highest moments of a phase: where
     * the peak is now, if it has moved; where most has changed, if the peak hardly has. */
    int in_phase;
    struct mt_change compared; /* what was allocated at these moments */
    int64_t following; /* of gradients' and optimizer state's change: what follows parameters' */
    struct mt_matching matching;
    struct mt_diff_site *site; /* by blame: what made the peak change as it did comes first */
    size_t n_sites;
    struct mt_diff_shares modules, operators, stacks;
};

struct mt_diff {
    const struct mt_digest *old, *now;
    size_t n_old, n_new;
    struct mt_diff_device *device; /* by rank and device */
    size_t n_devices;
};

/* Compares. 0 or -ENOMEM; to be cleared in any case. The digests have to live as long. */
int mt_diff_make(struct mt_diff *diff, const struct mt_digest *old, size_t n_old,
                 const struct mt_digest *now, size_t n_new);
void mt_diff_clear(struct mt_diff *diff);

/* The device whose peak has changed most; where none has, the one with the highest. NULL: none. */
const struct mt_diff_device *mt_diff_main_device(const struct mt_diff *diff);

/* Whether anything has changed, noise aside. */
bool mt_diff_is_same(const struct mt_diff_device *device);

/* The phase (enum mt_phase) in which the runs should be compared, and are not, for want of
 * mt_digest_attach; -1: none. */
int mt_diff_wants_phase(const struct mt_diff *diff);

/* The parts (diff-numbers.c, diff-sites.c, diff-shares.c, diff-moved.c, diff-kinds.c,
 * diff-weigh.c). values: of the new runs, then of the old ones; they are sorted. */
struct mt_change mt_change_make(uint64_t *values, size_t n_new, size_t n_old);
int mt_diff_numbers(struct mt_diff_device *device);
int mt_diff_categories(struct mt_diff_device *device);
int mt_diff_collect_sites(struct mt_diff_device *device);
int mt_diff_collect_shares(struct mt_diff_shares *to, const struct mt_diff_device *device,
                           size_t field); /* its offset in a digest's device */
void mt_diff_pair_moved(struct mt_diff_device *device);
void mt_diff_name_kinds(struct mt_diff_device *device);
int mt_diff_weigh(struct mt_diff_device *device);

#endif
