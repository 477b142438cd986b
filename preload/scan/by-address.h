/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MT_SCAN_BY_ADDRESS_H
#define MT_SCAN_BY_ADDRESS_H

#include <stddef.h>
#include <stdint.h>

#define MT_SORTED_BYTES 32u

/* Sort records of at most MT_SORTED_BYTES by the address that each begins with (uint64_t). Needs no
 * memory: qsort may allocate. */
void mt_sort_by_address(void *records, uint32_t n, size_t size);

#endif
