/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects that keep the keys and values of earlier tokens for later ones, told by their classes'
 * bases, whatever file a class is in. Their own methods make the tensors they keep.
 */
#ifndef MT_PRELOAD_KV_CACHE_H
#define MT_PRELOAD_KV_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "preload/python/python-versions.h"

/* Read objects by this layout from now on. */
void mt_kv_caches_start(const struct mt_python_layout *layout);

/* Return whether the code is a method by which such a cache makes tensors, and the object one. */
bool mt_is_of_kv_cache(uint64_t code, uint64_t object);

#endif
