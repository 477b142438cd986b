/* SPDX-License-Identifier: Apache-2.0 */
/* Prefetch objects that will be read next: the pages they are on are copied in few system calls. */
#ifndef MT_PRELOAD_EXPECT_H
#define MT_PRELOAD_EXPECT_H

#include "python-objects.h"

/* Copy the pages of these objects, and of the tensors among them, in few system calls, because they
 * will be read (mt_scan_prefetch). At most MT_SCAN_AHEAD. */
void mt_py_expect(const uint64_t *object, unsigned n);

/* Copy the pages of the values of the dict's entries from `first` on, in the same way. */
void mt_py_dict_expect(struct mt_py_dict *dict, unsigned first);

#endif
