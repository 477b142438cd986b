/* SPDX-License-Identifier: Apache-2.0 */
/* The events of all devices in time order, read from the records' file. */
#ifndef MT_IMPORT_SPOOL_H
#define MT_IMPORT_SPOOL_H

#include "records.h"

#define MT_SPOOL_EVENTS 512u

struct mt_spool {
    FILE *file;       /* the records' */
    bool has_devices; /* each device has its part of the file; otherwise each run of rising times
                         has one */
    struct mt_spool_part {
        struct mt_import_event some[MT_SPOOL_EVENTS];
        uint64_t next, end; /* events of the file */
        size_t at, n;
        bool has;
        struct mt_import_event event; /* the next one */
    } *part;
    unsigned n;
    int rc;
};

/* Start at the first event; may be called again. Return 0 or a negative errno. The caller must end
 * it in any case; a zeroed struct counts as not started. */
int mt_spool_begin(struct mt_spool *spool, struct mt_records *records);
void mt_spool_end(struct mt_spool *spool);

/* Read the next event, with its device. Return false at the end, or on an error, which is in
 * spool->rc. */
bool mt_spool_next(struct mt_spool *spool, struct mt_import_event *event);

/* Return the device's next event without consuming it, or NULL if there is none or devices have no
 * parts. */
const struct mt_import_event *mt_spool_peek(const struct mt_spool *spool, unsigned device);

#endif
