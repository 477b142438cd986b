/* SPDX-License-Identifier: Apache-2.0 */
#include "by-address.h"

#include <string.h>

static uint64_t address_of(const char *record)
{
    uint64_t address;
    memcpy(&address, record, sizeof address);
    return address;
}

static void swap(char *a, char *b, size_t size)
{
    char kept[MT_SORTED_BYTES];
    memcpy(kept, a, size);
    memcpy(a, b, size);
    memcpy(b, kept, size);
}

static void sift(char *record, size_t at, size_t n, size_t size)
{
    for (size_t child; (child = 2 * at + 1) < n; at = child) {
        child += child + 1 < n &&
                 address_of(record + child * size) < address_of(record + (child + 1) * size);
        if (address_of(record + at * size) >= address_of(record + child * size))
            return;
        swap(record + at * size, record + child * size, size);
    }
}

void mt_sort_by_address(void *records, uint32_t n, size_t size)
{
    for (size_t i = n / 2; i--;)
        sift(records, i, n, size);
    for (size_t i = n; i-- > 1;) {
        swap(records, (char *)records + i * size, size);
        sift(records, 0, i, size);
    }
}
