/* SPDX-License-Identifier: Apache-2.0 */
/* What every module, or every call site, of a device has at the peak: for limits of "every". */
#ifndef MT_EACH_H
#define MT_EACH_H

#include "check.h"

/* Of one name. */
struct mt_each_name {
    const struct mt_digest_site *site; /* the first that is called so */
    uint64_t bytes;
};

struct mt_each {
    enum mt_subject subject; /* MT_OF_MODULE or MT_OF_SITE */
    struct mt_each_name *name;
    size_t n;
};

/* 0 or -ENOMEM; to be cleared in any case. */
int mt_each_make(struct mt_each *each, enum mt_subject subject,
                 const struct mt_digest_device *device);
void mt_each_clear(struct mt_each *each);

/* What is called as the site is, which may be another device's; NULL: nothing. */
const struct mt_each_name *mt_each_of(const struct mt_each *each,
                                      const struct mt_digest_site *site);

#endif
