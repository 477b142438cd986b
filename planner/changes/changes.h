/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a change of the program would do to its peak, computed from its recorded blocks: the change
 * edits their lifetimes, and the curve of live bytes is computed again. Nothing is run: every
 * answer is "modelled", states its assumptions, and how far such answers were off when the same
 * change was run (docs/evaluation/modelled-changes.md).
 */
#ifndef MT_CHANGES_H
#define MT_CHANGES_H

#include <stdio.h>

#include "analyzer/support/text.h"
#include "planner/recording/recording.h"
#include "planner/rest/rest.h"

#include <jansson.h>

#define MT_CHANGE_NAME 128u
#define MT_CHANGE_PARTS 4u /* of a combination */

struct mt_edits;
struct mt_held_most;
struct mt_modelled;

/* What a kind of change rebuilds. Two that rebuild one thing cannot be combined. */
enum mt_rebuilt {
    MT_REBUILDS_SHAPE = 1,         /* of the batch */
    MT_REBUILDS_TYPES = 2,         /* of floats */
    MT_REBUILDS_CASTS = 4,         /* copies in another type that are saved */
    MT_REBUILDS_SAVED = 8,         /* activations for backward */
    MT_REBUILDS_GRADIENTS = 16,    /* their lives */
    MT_REBUILDS_OPTIMIZER = 32,    /* its state */
    MT_REBUILDS_PLACES = 64,       /* other ranks, or the host */
    MT_REBUILDS_LEFT_BEHIND = 128, /* what an iteration keeps */
    MT_REBUILDS_EVALUATION = 256,  /* what an evaluation, or an attempt that failed, keeps */
    MT_REBUILDS_COPIES = 512,      /* copies of weights */
    MT_REBUILDS_SEARCHES = 1024,   /* workspaces in which cuDNN searches */
    MT_REBUILDS_LOSS = 2048        /* logits, and what is made of them */
};

/* Edit the blocks as a change would. 0; -ENOMEM; -EINVAL: no such argument; -ENOENT:
 * change->why_not says why it cannot be. */
typedef int mt_change_editor(struct mt_edits *edits, const char *argument,
                             struct mt_modelled *change);

/* A kind of change, named KIND:ARGUMENT. Of several the first rows are applied first: each edits
 * what those before it made. */
struct mt_change_kind {
    const char *name;
    const char *argument; /* what stands after the colon, in capitals, or the words that may */
    const char
        *usual; /* arguments to try unless one is requested, separated by spaces; NULL: none */
    const char *assumes; /* in a line */
    unsigned error;      /* per thousand of the peak: nine of ten re-runs were closer */
    unsigned rebuilds;   /* enum mt_rebuilt; some arguments add to it */
    mt_change_editor *apply;
    bool is_replayed; /* it leaves the program's own requests, allocated or freed elsewhere */
};

/* Ends with a row of zeros. */
extern const struct mt_change_kind mt_change_kinds[];

struct mt_modelled {
    char name[MT_CHANGE_NAME]; /* "zero3:8" */
    const struct mt_change_kind
        *kind[MT_CHANGE_PARTS]; /* of its parts, in their order; NULL: no more */
    unsigned error;             /* per thousand of the peak: the sum of its parts', and: */
    unsigned unused;            /* per thousand: of unrequested bytes, mt_edits_unused */
    uint64_t other_peak;        /* the same if what was guessed is not so; 0: as good as the same */
    bool is_untried;            /* no such program, or run, was compared: there is no bound */
    uint64_t peak;              /* bytes allocated at the highest moment, with the change */
    int64_t saves;              /* bytes less than recorded; negative: it takes more */
    uint64_t moment;            /* number of the event at, or after which, the new peak is */
    uint64_t operators; /* that are run again, over the whole trace; 0: none, or not known */
    uint32_t line;      /* of changes that uses suggest: the stack of the line that allocates, */
    uint32_t statement; /* and of the statement after or before which to edit; 0: none */
    char where[MT_CHANGE_NAME]; /* the same in words: "after train.py:22"; "": not known */
    const struct mt_held_most
        *held;        /* what keeps most of what that line allocates; NULL: unknown */
    bool is_replayed; /* the peak is that of PyTorch's allocator, from the program's own requests */
    const char *why_not; /* why it cannot be modelled; NULL: it is */
};

struct mt_modelled_changes {
    const struct mt_rest
        *rest;        /* the trace is cut, and the recording goes on as modelled; NULL: no */
    uint64_t peak;    /* recorded, of the blocks that the trace tells */
    uint64_t forward; /* allocations in forward, over the whole trace */
    uint64_t steps;   /* of the optimizer; at least 1 */
    struct mt_modelled *change; /* what saves most first; then what cannot be modelled */
    size_t n, capacity;
    bool is_short; /* the run ended early, before any optimizer step: there are no bounds */
    bool is_usual; /* memtap's own list: nobody asked for some of them alone */
};

/* Edit recorded lives as the change of that name would, and fill in its name and kinds; or as
 * several, with "+" between them, would together. 0; -ENOMEM; -EINVAL: there is none of that name,
 * or its argument makes no sense; -ENOENT: change->why_not. */
int mt_change_apply(struct mt_edits *edits, const char *name, struct mt_modelled *change);

/* Return whether two changes rebuild different things, so that they are modelled together. */
bool mt_changes_go_together(const char *one, const char *other);

/* Model one change as mt_modelled_add does, but for its savings. */
int mt_modelled_of(struct mt_modelled *change, const struct mt_recording *recording,
                   const char *name);

/* Add the change of that name. 0; -ENOMEM; -EINVAL: there is none of that name, or its argument
 * makes no sense. To be cleared in any case. */
int mt_modelled_add(struct mt_modelled_changes *changes, const struct mt_recording *recording,
                    const char *name);

/* Do the same, but for a change that cannot be modelled or saves nothing. */
int mt_modelled_try(struct mt_modelled_changes *changes, const struct mt_recording *recording,
                    const char *name);

/* Drop those that mt_modelled_try would not add, as their savings are known now. */
void mt_modelled_keep_worthy(struct mt_modelled_changes *changes,
                             const struct mt_recording *recording);

/* Add all that make sense for the program, unasked. 0 or -ENOMEM. */
int mt_modelled_add_usual(struct mt_modelled_changes *changes,
                          const struct mt_recording *recording);
/* Return bytes less at the peak for each operator that runs again in one step; 0: none does, or
 * none is known. */
uint64_t mt_saved_per_operator(const struct mt_modelled_changes *changes,
                               const struct mt_modelled *change);
/* Return the change of that name; NULL: there is none. */
const struct mt_modelled *mt_modelled_find(const struct mt_modelled_changes *changes,
                                           const char *name);
void mt_modelled_sort(struct mt_modelled_changes *changes);
void mt_modelled_clear(struct mt_modelled_changes *changes);

/* Return the kind of a name of `size` bytes; NULL: there is none. */
const struct mt_change_kind *mt_change_kind_of(const char *name, size_t size);

/* Print why a name is that of no change: the nearest one, or which there are. */
void mt_change_wrong(FILE *out, const char *name);

/* Write the section of a page for people; then [{"change", "how", "saves", "new_peak", "assumes",
 * ...}], as memtap-plan-json(5) has it. */
void mt_modelled_text(FILE *out, const struct mt_modelled_changes *changes,
                      const struct mt_style *style);
json_t *mt_modelled_json(const struct mt_modelled_changes *changes);

#endif
