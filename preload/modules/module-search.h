/* SPDX-License-Identifier: Apache-2.0 */
/* The tree of torch.nn modules, read from their objects' memory. Call with the intern lock. */
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

/* Search for a module below a live owner, whose own place is in path. Return 0 or -ENOENT. At most
 * `most` modules are searched (up to MT_MODULE_MOST), the nearest first; fewer if the searches so
 * far cost more than the budget from new modules (mt_module_search_earns). Wrappers are not part of
 * a path. The proof shows that the owner still has the module there, as long as the owner is alive;
 * it is empty if the path is too long. */
#define MT_MODULE_MOST 256u
int mt_module_search(const struct mt_python_layout *layout, uint64_t owner, uint64_t object,
                     unsigned most, struct mt_module_path *path, struct mt_py_proof *proof);

/* Add to the search budget, for a new module. */
void mt_module_search_earns(void);

/* Return how many searches ended early without a result. Any thread. */
uint32_t mt_module_searches_cut(void);

/* Reset in a forked child. */
void mt_module_search_reset(void);

/* Return whether the object's memory is a module's, by the attributes that torch.nn.Module creates.
 */
bool mt_module_is_sound(const struct mt_python_layout *layout, uint64_t object);

/* Return whether it is a torch.jit.script module, which has a different layout. */
bool mt_module_is_scripted(const struct mt_python_layout *layout, uint64_t object);

#endif
