/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loaded objects, for a forked child with a broken loader. If another thread was loading a library
 * during the fork, the loader's tables stay in that state: the next dlopen, even of a loaded
 * library, kills the process. The program itself may never call it.
 */
#ifndef MT_PRELOAD_LOADED_H
#define MT_PRELOAD_LOADED_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>

/* Return whether dlopen must not be called. dlsym and dladdr may. */
bool mt_loader_is_broken(void);

/* Call dlopen; NULL also if it must not be called. */
void *mt_loaded_open(const char *name, int flags);

/* Visit each by dl_iterate_phdr, but without its lock in a forked child, where a thread that does
 * not exist there may hold it. */
int mt_loaded_each(int (*look)(struct dl_phdr_info *info, size_t size, void *data), void *data);

/* Below: only if the loader is broken. Nothing is loaded or unloaded then. */

/* Find an object by path or file name; NULL: none. */
const struct link_map *mt_loaded_find(const char *name);

/* Find a symbol in this object, else in the objects that it is linked to, in dlsym's order; NULL:
 * none. */
void *mt_loaded_symbol(const struct link_map *object, const char *symbol);

#endif
