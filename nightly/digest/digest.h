/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is compared between runs: one trace's analysis, free of all that only this run knows
 * (addresses, ids of stacks and strings). Everything is in it by name, so that it outlives the
 * trace. diff, check, budget and history all begin with it.
 */
#ifndef MT_DIGEST_H
#define MT_DIGEST_H

#include <stdbool.h>

#include "analyzer/findings/analysis.h"

#define MT_PHASES 4u /* enum mt_phase */

/* Blocks at the peak that come from one place: a call site (sites.h) with names for ids. */
struct mt_digest_site {
    enum mt_category category;
    char *function, *file;  /* the user's line; "?": not known */
    uint32_t line;          /* 0: not known */
    char *operator_name;    /* of the backward node; "": none */
    char *module;           /* "layers.3.mlp"; "": not known */
    const char *guess;      /* the rule by which the category is guessed; NULL: it is none */
    char *stack;            /* the largest part's: "main (train.py:7);...;forward (net.py:9)" */
    uint64_t bytes, blocks; /* at the peak */
    uint64_t allocations, most_bytes; /* of its place */
};

/* Over the whole run, all blocks of one line and operator, whatever became of them; also of lines
 * that have nothing at the peak. */
struct mt_digest_place {
    char *function, *file;
    uint32_t line;
    char *operator_name;
    uint64_t allocations, most_bytes; /* how many, and the most that was live at one time */
    uint64_t phases;                  /* changes of phase that its blocks lived through, in all */
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
    int device;                       /* CUDA's index; MT_NO_DEVICE: not known */
    int of_cuda;                      /* as in struct mt_device: no PyTorch blocks */
    uint64_t allocated;               /* at the peak */
    uint64_t reserved, most_reserved; /* at the peak of allocated; the most at any time */
    uint64_t category[MT_CATEGORY_ROOM];
    uint64_t cached;                   /* reserved - allocated */
    uint64_t unseen;                   /* as in struct mt_device: in no category */
    uint64_t memory;                   /* that the device has; 0: not known */
    enum mt_phase phase;               /* of the peak */
    uint32_t iteration, iterations;    /* of the peak, from 1; how many there were */
    uint64_t most_in_phase[MT_PHASES]; /* the most allocated in each phase of the run */
    uint64_t most_event[MT_PHASES];    /* the event after which it was; 0: there is no such phase */
    const struct mt_digest_device *in_phase[MT_PHASES]; /* then, not at the peak; NULL: not read */
    uint64_t growth;             /* an iteration; 0: nothing grows, as far as is known */
    struct mt_digest_site grows; /* where most of that is from; function NULL: not known */
    uint64_t at_end;             /* allocated after the last event */
    struct mt_digest_site *site; /* by category, file, function, operator, module, line */
    size_t n_sites;
    struct mt_digest_place *place; /* by mt_digest_place_order */
    size_t n_places;
    struct mt_digest_shares modules, operators;
    /* "activations;main (train.py);...;forward (net.py)": whole stacks, without lines. */
    struct mt_digest_shares stacks;
};

struct mt_digest {
    char *path;
    /* The process, as its info records tell; "": not known. */
    char *program, *command, *host, *device_name, *torch, *cuda, *python, *memtap;
    char *allocator; /* PyTorch's settings of it: "expandable_segments:True"; "": none */
    uint64_t started_unix_ns, length_ns;
    long pid, rank, world_size; /* -1: not known */
    uint64_t events, lost;
    uint64_t cut_stacks; /* of sites, whose middle frames stand as "(N frames)" */
    struct mt_ended ended;
    int complete; /* the recording was closed */
    bool is_sound; /* the trace could be read to its end; else fault says where not */
    char *fault;  /* "": none */
    struct mt_digest_device *devices; /* by index */
    size_t n_devices;
    struct mt_digest *in_phase[MT_PHASES]; /* whose devices are those of devices[].in_phase */
};

/* Takes the digest of an analysis at the peak of a question with whole_run (else there are no
 * places). 0 or -ENOMEM. Cleared with mt_digest_clear in any
 * case; a digest of zeros is empty. */
int mt_digest_take(struct mt_digest *digest, const char *path, const struct mt_analysis *analysis);
void mt_digest_clear(struct mt_digest *digest);

/* Reads a trace and takes its digest. 0, also where the trace is sound only up to some place
 * (is_sound); otherwise a negative errno and why in *error. */
int mt_digest_read(struct mt_digest *digest, const char *path, const struct mt_user_rules *rules,
                   struct mt_trace_error *error);

/* The same with more to ask for; the moment has to be the peak. */
int mt_digest_ask(struct mt_digest *digest, const char *path, const struct mt_question *question,
                  struct mt_trace_error *error);

/* Takes over the digest of the same trace at the moment when the main device had most allocated in
 * a phase. */
void mt_digest_attach(struct mt_digest *digest, enum mt_phase phase, struct mt_digest *there);

/* The parts' own. */
void mt_digest_site_clear(struct mt_digest_site *site);
void mt_digest_place_clear(struct mt_digest_place *place);

/* For qsort: by file, function, line, operator. */
int mt_digest_place_order(const void *left, const void *right);

/* Growth shows over several iterations only: whether there were enough. */
static inline bool mt_digest_has_growth(const struct mt_digest_device *device)
{
    return device->iterations >= MT_GROWTH_ITERATIONS;
}

/* The device with the highest peak; NULL: no memory was allocated. */
const struct mt_digest_device *mt_digest_main_device(const struct mt_digest *digest);

#endif
