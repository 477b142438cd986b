/* SPDX-License-Identifier: Apache-2.0 */
#include "expect.h"
#include "preload/record/scan.h"

void mt_py_expect(const uint64_t *object, unsigned n)
{
    uint64_t address[MT_SCAN_AHEAD];
    n = n < MT_SCAN_AHEAD ? n : MT_SCAN_AHEAD;
    if (n < 2 || !mt_scan_has_begun())
        return;
    mt_scan_prefetch(object, n);
    for (unsigned i = 0; i < n; i++)
        address[i] = mt_py_impl(object[i]);
    mt_scan_prefetch(address, n);
    for (unsigned i = 0; i < n; i++)
        address[i] = mt_impl_storage_carefully((const void *)(uintptr_t)address[i]);
    mt_scan_prefetch(address, n);
}

void mt_py_dict_expect(struct mt_py_dict *dict, unsigned first)
{
    uint64_t value[MT_SCAN_AHEAD];
    struct mt_py_entry entry;
    unsigned n = 0;
    for (unsigned i = first; n < MT_SCAN_AHEAD && i < dict->n && !mt_py_dict_at(dict, i, &entry);
         i++)
        value[n++] = entry.value;
    mt_py_expect(value, n);
}
