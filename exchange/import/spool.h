/* SPDX-License-Identifier: Apache-2.0 */
/* The events of all devices, from the records' file, in the order of their times. */
#ifndef MT_IMPORT_SPOOL_H
#define MT_IMPORT_SPOOL_H

#include "records.h"

#define MT_SPOOL_EVENTS 512u

struct mt_spool {
    FILE *file;       /* the records' */
    bool has_devices; /* each device has its part of the file; else each run of times has */
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

/* Begin at the first event, also again. 0 or a negative errno. To be ended in any case; of zeros
 * it is not begun. */
int mt_spool_begin(struct mt_spool *spool, struct mt_records *records);
void mt_spool_end(struct mt_spool *spool);

/* The next event, with its device; false: there is none, or spool->rc says why. */
bool mt_spool_next(struct mt_spool *spool, struct mt_import_event *event);

/* The device's next event, which is not taken; NULL: there is none, or devices have no parts. */
const struct mt_import_event *mt_spool_peek(const struct mt_spool *spool, unsigned device);

#endif
