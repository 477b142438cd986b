/* SPDX-License-Identifier: Apache-2.0 */
/* memtap import: converts recordings of other tools to traces. */
#ifndef MT_IMPORT_H
#define MT_IMPORT_H

#include "records.h"

/* From a snapshot's records to a trace's events. */

/* What is reported about the import. */
struct mt_import_summary {
    uint64_t events;     /* of the file */
    uint64_t before;     /* blocks allocated before the first event */
    uint64_t freed_only; /* those with only a free: size as requested, no stack */
    uint64_t differing;  /* blocks at the end that the events do not account for, or only with
                            another size */
    uint64_t most_allocated,
        in_reserved;        /* where a snapshot has less reserved than allocated; 0: nowhere */
    uint64_t unknown_bytes; /* allocated before the profile, and not in the trace */
    bool lacks_times, lacks_stacks, lacks_segments, cut_devices, is_profile;
};

/* Write the events. Return 0 or a negative errno. */
int mt_compose(struct mt_records *records, struct mt_import_summary *summary);

struct mt_import_error {
    char text[512]; /* what is wrong and what to do, in one line; "": a system error, or out of
                       memory */
};

/* Read the file and write the trace. folder is for a temporary unnamed file. Return 0, or a
 * negative errno with *error filled. */
int mt_import(const char *path, FILE *out, const char *folder, struct mt_import_summary *summary,
              struct mt_import_error *error);

/* Print what the trace lacks and why, a line each. */
void mt_import_notes(const struct mt_import_summary *summary, FILE *out);

/* Return whether a file begins like one that mt_import reads, or like an archive, of which it says
 * what to give instead. A trace does not. */
bool mt_may_import(const char *path);

/* Import an Nsight Systems export; the caller has checked that it is an SQLite database. */
int mt_import_nsight(const char *path, struct mt_script *script, struct mt_import_summary *summary,
                     struct mt_import_error *error);

#endif
