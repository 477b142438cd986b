/* SPDX-License-Identifier: Apache-2.0 */
/* Compare the bytes of modules, operators and whole stacks by name. */
#include "diff.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct entry {
    const char *name;
    size_t run;
    uint64_t bytes;
};

static int by_name(const void *left, const void *right)
{
    return strcmp(((const struct entry *)left)->name, ((const struct entry *)right)->name);
}

static const struct mt_digest_shares *shares_of(const struct mt_digest_device *run, size_t field)
{
    return (const struct mt_digest_shares *)((const char *)run + field);
}

int mt_diff_collect_shares(struct mt_diff_shares *to, const struct mt_diff_device *device,
                           size_t field)
{
    size_t runs = device->n_new + device->n_old, room = 1, n = 0;
    for (size_t i = 0; i < runs; i++)
        room += shares_of(device->runs[i], field)->n;
    struct entry *entries = calloc(room, sizeof *entries);
    uint64_t *values = calloc(runs + 1, sizeof *values);
    to->share = calloc(room, sizeof *to->share);
    int rc = entries && values && to->share ? 0 : -ENOMEM;
    for (size_t i = 0; i < runs && !rc; i++)
        for (size_t j = 0; j < shares_of(device->runs[i], field)->n; j++) {
            const struct mt_digest_share *share = &shares_of(device->runs[i], field)->share[j];
            entries[n++] = (struct entry){share->name, i, share->bytes};
        }
    if (n)
        qsort(entries, n, sizeof *entries, by_name);
    for (size_t i = 0, end; i < n; i = end) {
        memset(values, 0, runs * sizeof *values);
        for (end = i; end < n && !by_name(&entries[i], &entries[end]); end++)
            values[entries[end].run] += entries[end].bytes;
        to->share[to->n++] = (struct mt_diff_share){
            entries[i].name, mt_change_make(values, device->n_new, device->n_old)};
    }
    free(entries);
    free(values);
    return rc;
}
