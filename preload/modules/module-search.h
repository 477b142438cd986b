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

/* Goes on from the owner, which lives and whose own place is in path, to a module that it has: 0, or -ENOENT. So
 * many modules (MT_MODULE_MOST at most) are looked into, the nearest first; fewer where more was
 * looked at than new modules pay for (mt_module_search_earns). Wrappers are not part of a path. The
 * proof shows that the owner still has it there, as long as the owner lives; it is empty where the
 * way is too long. */
#define MT_MODULE_MOST 256u
int mt_module_search(const struct mt_python_layout *layout, uint64_t owner, uint64_t object,
                     unsigned most, struct mt_module_path *path, struct mt_py_proof *proof);

/* There is a new module, for which a little may be looked at. */
void mt_module_search_earns(void);

/* Searches that ended early, and found nothing. Any thread. */
uint32_t mt_module_searches_cut(void);

/* For a forked child. */
void mt_module_search_reset(void);

/* Whether the object's memory is a module's, by the attributes that torch.nn.Module makes. */
bool mt_module_is_sound(const struct mt_python_layout *layout, uint64_t object);

/* Whether it is one of torch.jit.script, which are made of something else. */
bool mt_module_is_scripted(const struct mt_python_layout *layout, uint64_t object);

#endif
