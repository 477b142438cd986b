/* SPDX-License-Identifier: Apache-2.0 */
/* Objects that will be read next: what they lie on is copied in few system calls (mt_look_expect).
 */
#ifndef MT_PRELOAD_EXPECT_H
#define MT_PRELOAD_EXPECT_H

#include "python-objects.h"

/* Copy the pages of these objects, and of the tensors among them, in few system calls: they will be
 * read (mt_look_expect). At most MT_LOOK_AHEAD of them. */
void mt_py_expect(const uint64_t *object, unsigned n);

/* Copy the pages of the values of the dict's entries from `first` on likewise. */
void mt_py_dict_expect(struct mt_py_dict *dict, unsigned first);

#endif
