/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is loaded, as a forked child can tell whose loader is of no use: where another thread was
 * loading a library at the fork, the loader's tables say so for ever, and the next dlopen, also of
 * what is there already, ends the process. The program itself may never need one.
 */
#ifndef MT_PRELOAD_LOADED_H
#define MT_PRELOAD_LOADED_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>

/* Whether dlopen must not be called. dlsym and dladdr can be. */
bool mt_loader_is_broken(void);

/* dlopen; NULL, too, where it must not be called. */
void *mt_loaded_open(const char *name, int flags);

/* dl_iterate_phdr, without its lock where that may be held by a thread that is not there. */
int mt_loaded_each(int (*look)(struct dl_phdr_info *info, size_t size, void *data), void *data);

/* Below: only where the loader is broken; nothing is loaded or unloaded there. */

/* By its path, or file name; NULL: it is not there. */
const struct link_map *mt_loaded_find(const char *name);

/* What this object defines, else those that it is linked to, as dlsym has it; NULL: none does. */
void *mt_loaded_symbol(const struct link_map *object, const char *symbol);

#endif
