/* SPDX-License-Identifier: Apache-2.0 */
/* Where a search last met a module: its owner, and its place among the owner's children. A hint may
 * be outdated: check it before use. Call with the intern lock. */
#ifndef MT_PRELOAD_MODULE_HINTS_H
#define MT_PRELOAD_MODULE_HINTS_H

#include <stdint.h>

struct mt_module_hint {
    uint64_t child, owner;
    uint32_t at; /* entry of the dict of children */
};

/* Keep a hint; if there are too many, replace an older one. */
void mt_module_hint(uint64_t child, uint64_t owner, uint32_t at);

/* Return a hint; NULL: none. It is valid until the next one is kept. */
const struct mt_module_hint *mt_module_hint_of(uint64_t child);

/* Return where to begin the search for the next child in this dict: behind the last one found. */
uint32_t *mt_module_next_child(uint64_t dict);

/* For a forked child. */
void mt_module_hints_reset(void);

#endif
