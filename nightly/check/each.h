/* SPDX-License-Identifier: Apache-2.0 */
/* The size of each module, or of each call site, of a device at the peak, for limits of "every". */
#ifndef MT_EACH_H
#define MT_EACH_H

#include "check.h"

struct mt_each_name {
    const struct mt_digest_site *site; /* the first of this name */
    uint64_t bytes;
};

struct mt_each {
    enum mt_subject subject; /* MT_OF_MODULE or MT_OF_SITE */
    struct mt_each_name *name;
    size_t n;
};

/* Return 0 or -ENOMEM. Call mt_each_clear in any case. */
int mt_each_make(struct mt_each *each, enum mt_subject subject,
                 const struct mt_digest_device *device);
void mt_each_clear(struct mt_each *each);

/* Return the entry of the site's name; NULL: none. The site may be another device's. */
const struct mt_each_name *mt_each_of(const struct mt_each *each,
                                      const struct mt_digest_site *site);

#endif
