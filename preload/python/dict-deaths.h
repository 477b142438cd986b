/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether an OrderedDict at an address is still the same. Each torch.nn module has some of its own,
 * which are freed with it. We replace the function of the OrderedDict type that frees one, and call
 * it.
 */
#ifndef MT_PRELOAD_DICT_DEATHS_H
#define MT_PRELOAD_DICT_DEATHS_H

#include <stdint.h>

/* Start to watch, once. type is PyODict_Type. If its memory is read-only, nothing is watched. */
void mt_dict_deaths_start(const void *type);

/* Return a number that changes when this dict is freed, or earlier if too many others are watched;
 * NULL if nothing is watched. Call with the intern lock, while the dict is alive. */
const _Atomic uint64_t *mt_dict_deaths_watch(uint64_t dict);

#endif
