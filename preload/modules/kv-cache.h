/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects that keep the keys and values of earlier tokens for later ones (KV caches), recognized by
 * the bases of their classes, whatever file a class is in. Their own methods allocate the tensors
 * they keep. A server's object that allocates them among others is recognized, too.
 */
#ifndef MT_PRELOAD_KV_CACHE_H
#define MT_PRELOAD_KV_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "preload/python/python-versions.h"
#include "preload/record/recorder.h"

/* Read objects by this layout from now on. */
void mt_kv_caches_start(const struct mt_python_layout *layout);

/* Return the code's role for the object, as in mt_thread.in_cache: it allocates what a cache keeps
 * (MT_MAKES_CACHE), or does so among other work (MT_MAKES_ROOM); 0 if neither. */
unsigned mt_kv_cache_work(uint64_t code, uint64_t object);

/* Record for how many tokens the object, one of these, has room; it has just got the memory at
 * address. */
void mt_kv_cache_note_room(struct mt_thread *self, int device, uint64_t object, uint64_t address);

#endif
