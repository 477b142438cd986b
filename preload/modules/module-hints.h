/* SPDX-License-Identifier: Apache-2.0 */
/* Where a search met a module the last time: its owner, and its place among the owner's children.
 * A hint may be outdated: check it before use. Call with the intern lock. */
#ifndef MT_PRELOAD_MODULE_HINTS_H
#define MT_PRELOAD_MODULE_HINTS_H

#include <stdint.h>

struct mt_module_hint {
    uint64_t child, owner;
    uint32_t at; /* entry of the dict of children */
};

/* Keeps a hint, in the place of an older one where there are too many. */
void mt_module_hint(uint64_t child, uint64_t owner, uint32_t at);

/* NULL: there is none. It lives until the next is kept. */
const struct mt_module_hint *mt_module_hint_of(uint64_t child);

/* Where to begin to look for the next child in this dict: behind the one that was found last. */
uint32_t *mt_module_next_child(uint64_t dict);

/* For a forked child. */
void mt_module_hints_reset(void);

#endif
