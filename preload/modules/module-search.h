/* SPDX-License-Identifier: Apache-2.0 */
/* The tree of torch.nn modules as their objects' memory shows it. Call with the intern lock. */
#ifndef MT_PRELOAD_MODULE_SEARCH_H
#define MT_PRELOAD_MODULE_SEARCH_H

#include <stdbool.h>

#include "preload/python/python-objects.h"

#define MT_MODULE_PATH 1024u

/* A place in the tree. */
struct mt_module_path {
    uint64_t root;             /* the outermost module */
    char text[MT_MODULE_PATH]; /* "layers.3.mlp", "": the outermost one itself */
};

/* Search from a live owner, whose own place is in path, for a module below it. Return 0 or -ENOENT.
 * Look into at most `most` modules (up to MT_MODULE_MOST), the nearest first; into fewer if the
 * searches so far took more than new modules have earned (mt_module_search_earns). Wrappers are not
 * part of a path. The proof shows that the owner still has the module there, as long as the owner
 * lives; it is empty if the way is too long. */
#define MT_MODULE_MOST 256u
int mt_module_search(const struct mt_python_layout *layout, uint64_t owner, uint64_t object,
                     unsigned most, struct mt_module_path *path, struct mt_py_proof *proof);

/* Earn a little searching by a new module. */
void mt_module_search_earns(void);

/* Return how many searches ended early without a result. Any thread. */
uint32_t mt_module_searches_cut(void);

/* Reset in a forked child. */
void mt_module_search_reset(void);

/* Return whether the object's memory is a module's, by the attributes that torch.nn.Module makes.
 */
bool mt_module_is_sound(const struct mt_python_layout *layout, uint64_t object);

/* Return whether it is a module of torch.jit.script, which is laid out differently. */
bool mt_module_is_scripted(const struct mt_python_layout *layout, uint64_t object);

#endif
