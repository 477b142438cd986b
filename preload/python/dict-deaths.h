/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether an OrderedDict at an address is the one that was there before. Each torch.nn module has
 * some of its own, which go with it. Python's type of OrderedDicts says what frees one; we stand in
 * front of it.
 */
#ifndef MT_PRELOAD_DICT_DEATHS_H
#define MT_PRELOAD_DICT_DEATHS_H

#include <stdint.h>

/* Begins to look, once. type: PyODict_Type. Where its memory is read-only, nothing happens. */
void mt_dict_deaths_start(const void *type);

/* A number that changes when this one is freed, or at the latest when too many others are watched;
 * NULL: no look is taken. Call with the intern lock, while the dict lives. */
const _Atomic uint64_t *mt_dict_deaths_watch(uint64_t dict);

#endif
