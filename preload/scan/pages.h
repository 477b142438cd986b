/* SPDX-License-Identifier: Apache-2.0 */
/* The pages that have been used: to read others is slow, and may allocate them. In the child
 * process of a search. */
#ifndef MT_SCAN_PAGES_H
#define MT_SCAN_PAGES_H

#include "regions.h"

#define MT_PAGE 4096u

/* Call a function for each page, or part of one, of a region's that may have a value: of the C
 * library's variables without its own record of free memory. */
void mt_pages_each(const struct mt_regions *regions, uint32_t region, void *context,
                   void (*call)(void *context, uint32_t region, uint64_t begin, uint64_t end));

#endif
