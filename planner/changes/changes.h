/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a change of the program would do to its peak, computed from its recorded blocks: the change
 * edits their lives, and the curve of live bytes is computed anew. Nothing is run: every answer is
 * "modelled", says what it assumes, and how far such answers were off when the same change was run
 * (docs/modelled-changes.md).
 */
#ifndef MT_CHANGES_H
#define MT_CHANGES_H

#include <stdio.h>

#include "analyzer/support/text.h"
#include "recording.h"

#include <jansson.h>

#define MT_CHANGE_NAME 128u

struct mt_edits;
struct mt_modelled;

/* A kind of change, named KIND:ARGUMENT. */
struct mt_change_kind {
    const char *name;
    const char *argument; /* what stands after the colon, in capitals, or the words that may */
    const char *usual;    /* arguments to try where nobody asks, with spaces between; NULL: none */
    const char *assumes;  /* in a line */
    unsigned error;       /* per thousand of the peak: nine of ten re-runs were closer */
    /* 0; -ENOMEM; -EINVAL: no such argument; -ENOENT: change->why_not says why it cannot be. */
    int (*apply)(struct mt_edits *edits, const char *argument, struct mt_modelled *change);
};

/* Ends with a row of zeros. */
extern const struct mt_change_kind mt_change_kinds[];

struct mt_modelled {
    char name[MT_CHANGE_NAME]; /* "zero3:8" */
    const struct mt_change_kind *kind;
    uint64_t peak;       /* bytes allocated at the highest moment, with the change */
    int64_t saves;       /* bytes less than recorded; negative: it takes more */
    uint64_t moment;     /* number of the event at, or after which, the new peak is */
    uint64_t operators;  /* that are run again, over the whole trace; 0: none, or not known */
    const char *why_not; /* why it cannot be modelled; NULL: it is */
};

struct mt_modelled_changes {
    uint64_t peak;              /* recorded, of the blocks that the trace tells */
    struct mt_modelled *change; /* what saves most first; then what cannot be modelled */
    size_t n, capacity;
};

/* Edits recorded lives as the change of that name would, and fills in its name and kind. 0; -ENOMEM;
 * -EINVAL: there is none of that name, or its argument makes no sense; -ENOENT: change->why_not. */
int mt_change_apply(struct mt_edits *edits, const char *name, struct mt_modelled *change);

/* Adds the change of that name. 0; -ENOMEM; -EINVAL: there is none of that name, or its argument
 * makes no sense. To be cleared in any case. */
int mt_modelled_add(struct mt_modelled_changes *changes, const struct mt_recording *recording,
                    const char *name);

/* Adds all that make sense for the program, unasked. 0 or -ENOMEM. */
int mt_modelled_add_usual(struct mt_modelled_changes *changes,
                          const struct mt_recording *recording);
void mt_modelled_sort(struct mt_modelled_changes *changes);
void mt_modelled_clear(struct mt_modelled_changes *changes);

/* "zero1:RANKS, zero2:RANKS ...". */
void mt_change_names(char *out, size_t size);

/* The section of a page for people; [{"change", "how", "saves", "new_peak", "assumes", ...}], as
 * memtap-plan(1) has it.
 */
void mt_modelled_text(FILE *out, const struct mt_modelled_changes *changes,
                      const struct mt_style *style);
json_t *mt_modelled_json(const struct mt_modelled_changes *changes);

#endif
