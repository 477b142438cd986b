/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A digest: a trace's analysis without run-specific values (addresses, ids of stacks and strings).
 * Everything is stored by name, so that it outlives the trace and can be compared with other runs.
 * diff, check, budget and history all use it.
 */
#ifndef MT_DIGEST_H
#define MT_DIGEST_H

#include <stdbool.h>

#include "analyzer/findings/analysis.h"

/* The line that saves a site's blocks for backward, where that is another line. */
struct mt_digest_saver {
    char *function, *file; /* of the line with most bytes; NULL: none */
    uint32_t line;
    uint64_t bytes; /* of all such lines */
};

/* Blocks at the peak from one call site (sites.h), with names instead of ids. */
struct mt_digest_site {
    enum mt_category category;
    char *function, *file;       /* the user's line; "?": unknown */
    uint32_t line;               /* 0: unknown */
    char *operator_name;         /* of the backward node; "": none */
    char *module;                /* "layers.3.mlp"; "": unknown */
    const char *guess;           /* the rule that guessed the category; NULL: not a guess */
    enum mt_certainty certainty; /* of the category, for the block where it is least */
    char *stack; /* the largest part's: "main (train.py:7);...;forward (net.py:9)" */
    struct mt_digest_saver saver;
    uint64_t bytes, blocks;           /* at the peak */
    uint64_t unused;                  /* bytes beyond what was requested, as far as known */
    uint64_t allocations, most_bytes; /* of its place */
};

/* What holds most of the blocks at the peak from one line, of one category and operator. */
struct mt_digest_held {
    enum mt_category category;
    char *function, *file, *operator_name;
    uint32_t line;
    struct mt_held_most most;
};

/* All blocks of one line and operator over the whole run, also of lines without blocks at the
 * peak. */
struct mt_digest_place {
    char *function, *file;
    uint32_t line;
    char *operator_name;
    uint64_t allocations, most_bytes; /* number of blocks, and their peak of live bytes */
    uint64_t saved;                   /* blocks that another line saved for backward */
    uint64_t phases;                  /* sum of phase changes during its blocks' lifetimes */
};

struct mt_digest_share {
    char *name;
    uint64_t bytes, blocks; /* at the peak */
};

struct mt_digest_shares {
    struct mt_digest_share *share; /* by name */
    size_t n;
};

/* One device of the process. All sizes in bytes. */
struct mt_digest_device {
    int device;                       /* CUDA's index; MT_NO_DEVICE: unknown */
    bool of_cuda;                     /* as in struct mt_device: no PyTorch blocks */
    uint64_t allocated;               /* at the peak */
    uint64_t reserved, most_reserved; /* at the peak of allocated memory; at its own peak */
    uint64_t category[MT_CATEGORY_ROOM];
    enum mt_certainty certainty[MT_CATEGORY_ROOM]; /* mt_sites_certainty */
    uint64_t cached;                               /* reserved - allocated */
    uint64_t unseen;                               /* as in struct mt_device: in no category */
    uint64_t memory;                               /* of the device; 0: unknown */
    enum mt_phase phase;                           /* of the peak */
    uint32_t iteration, iterations;                /* of the peak, from 1; how many there were */
    char where[64]; /* the peak, in report's words; "": unknown, or in no iteration */
    uint64_t most_in_phase[MT_PHASE_COUNT]; /* peak of allocated memory in each phase of the run */
    uint64_t most_event[MT_PHASE_COUNT]; /* the event after which it occurred; 0: no such phase */
    const struct mt_digest_device *in_phase[MT_PHASE_COUNT]; /* at that event; NULL: not read */
    uint64_t growth;             /* per iteration; 0: none, as far as known */
    struct mt_digest_site grows; /* where most of it is from; function NULL: unknown */
    uint64_t at_end;             /* allocated after the last event */
    struct mt_digest_site *site; /* by category, file, function, operator, module, line */
    size_t n_sites;
    struct mt_digest_held *held; /* in no order; a line may have several */
    size_t n_held;
    struct mt_digest_place *place; /* by mt_digest_place_order */
    size_t n_places;
    struct mt_digest_shares modules, operators;
    struct mt_digest_shares ranges; /* ranges named by the program, digits as #, and their peaks */
    /* "activations;main (train.py);...;forward (net.py)": whole stacks, without lines. */
    struct mt_digest_shares stacks;
};

struct mt_digest {
    char *path;
    /* The process, from its info records; "" (NULL in a history): unknown. */
    char *program, *command, *title, *host, *device_name, *torch, *cuda, *python, *memtap;
    char *allocator; /* PyTorch's settings for it: "expandable_segments:True"; "": none */
    uint64_t started_unix_ns, length_ns;
    long pid, parent_pid, rank, world_size; /* -1: not known */
    unsigned group;                         /* for mt_processes_match; 0: unknown */
    uint64_t events, lost;
    uint64_t cut_stacks; /* stacks of sites with middle frames left out: "(N frames)" */
    struct mt_ended ended;
    bool complete;     /* the recording was closed */
    bool is_sound;     /* the trace was valid to its end; else see fault */
    char *fault;       /* "": none */
    char *unsimulated; /* sizes that depend on values that are not simulated; "": none */
    struct mt_digest_device *devices; /* by index */
    size_t n_devices;
    struct mt_digest *in_phase[MT_PHASE_COUNT]; /* owns the devices of devices[].in_phase */
};

/* A zeroed digest is empty. */
void mt_digest_clear(struct mt_digest *digest);

/* Read a trace and make its digest. Return 0, even if only its beginning is valid (is_sound), or a
 * negative errno with the reason in *error. Call mt_digest_clear in any case. */
int mt_digest_read(struct mt_digest *digest, const char *path, const struct mt_user_rules *rules,
                   struct mt_trace_error *error);

/* Make a digest with the caller's question. */
int mt_digest_query(struct mt_digest *digest, const char *path, const struct mt_question *question,
                    struct mt_trace_error *error);

/* Attach the digest of the same trace at the main device's highest moment in a phase, and take
 * ownership of it. */
void mt_digest_attach(struct mt_digest *digest, enum mt_phase phase, struct mt_digest *there);

/* Clear a site; for the parts only. */
void mt_digest_site_clear(struct mt_digest_site *site);
void mt_digest_place_clear(struct mt_digest_place *place);

/* Sort the places, and merge those with the same line and operator. */
void mt_digest_places_merge(struct mt_digest_device *to);

/* Compare, for qsort, by file, function, line, operator. */
int mt_digest_place_order(const void *left, const void *right);

/* Return one of a digest's texts; "": unknown. */
static inline const char *mt_digest_text(const char *text)
{
    return text ? text : "";
}

/* Return whether there were enough iterations to show growth. */
static inline bool mt_digest_has_growth(const struct mt_digest_device *device)
{
    return device->iterations >= MT_GROWTH_ITERATIONS;
}

/* Return the device with the highest peak; NULL: no memory was allocated. */
const struct mt_digest_device *mt_digest_main_device(const struct mt_digest *digest);

#endif
