/* SPDX-License-Identifier: Apache-2.0 */
/* Compare the bytes of modules, operators and whole stacks by name. */
#include "analyzer/support/search.h"
#include "diff.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_LAYERS 1000000u
#define MOST_NUMBERS 3u /* in a name: layers, experts, parts of them */

struct entry {
    const char *name;
    size_t run;
    uint64_t bytes;
};

MT_ORDER(by_name, struct entry, MT_BY_TEXT(name))

static const struct mt_digest_shares *shares_of(const struct mt_digest_device *run, size_t field)
{
    return (const struct mt_digest_shares *)((const char *)run + field);
}

static int add(struct mt_diff_shares *to, const char *name, struct mt_change bytes)
{
    to->share[to->n] = (struct mt_diff_share){strdup(name), bytes};
    return to->share[to->n++].name ? 0 : -ENOMEM;
}

void mt_diff_shares_clear(struct mt_diff_shares *shares)
{
    for (size_t i = 0; i < shares->n; i++)
        free(shares->share[i].name);
    free(shares->share);
    *shares = (struct mt_diff_shares){0};
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
    for (size_t i = 0, end; i < n && !rc; i = end) {
        memset(values, 0, runs * sizeof *values);
        for (end = i; end < n && !by_name(&entries[i], &entries[end]); end++)
            values[entries[end].run] += entries[end].bytes;
        rc = add(to, entries[i].name, mt_change_make(values, device->n_new, device->n_old));
    }
    free(entries);
    free(values);
    return rc;
}

/* --- folding equal layers ------------------------------------------------------------------- */

/* A name around its part that is a number. */
struct layer {
    size_t before;    /* bytes before the number */
    const char *rest; /* after it; NULL: there is no such part */
    unsigned long number;
};

/* Find the nth part of a module's name that is a number, or a range of numbers. */
static struct layer layer_of(const char *name, unsigned nth)
{
    for (const char *at = name; *at; at += strcspn(at, "."), at += *at == '.') {
        char *end;
        unsigned long number = isdigit((unsigned char)*at) ? strtoul(at, &end, 10) : 0;
        if (!isdigit((unsigned char)*at) || nth--)
            continue;
        bool is_number = (!*end || *end == '.') && number < MOST_LAYERS;
        return (struct layer){(size_t)(at - name), is_number ? end : NULL, number};
    }
    return (struct layer){0};
}

/* Compare: layers of one name are adjacent, in the order of their numbers. */
static int by_layer(const void *left, const void *right, void *nth)
{
    const char *a = ((const struct mt_diff_share *)left)->name;
    const char *b = ((const struct mt_diff_share *)right)->name;
    struct layer x = layer_of(a, *(unsigned *)nth), y = layer_of(b, *(unsigned *)nth);
    if (!x.rest || !y.rest)
        return x.rest || y.rest ? !x.rest - !y.rest : strcmp(a, b);
    return strncmp(a, b, x.before < y.before ? x.before : y.before)
           ?: MT_COMPARE(x.before, y.before)
           ?: strcmp(x.rest, y.rest) ?: MT_COMPARE(x.number, y.number);
}

static bool has_equal_bytes(const struct mt_change *a, const struct mt_change *b)
{
    return a->old == b->old && a->now == b->now && a->is_noise == b->is_noise;
}

static int name_range(struct mt_diff_share *share, const struct layer *first, unsigned long last)
{
    char *name;
    if (asprintf(&name, "%.*s%lu-%lu%s", (int)first->before, share->name, first->number, last,
                 first->rest) < 0)
        return -ENOMEM;
    free(share->name);
    share->name = name;
    return 0;
}

/* Fold the layers that the nth number counts. */
static int fold(struct mt_diff_shares *shares, unsigned nth)
{
    size_t kept = 0;
    int rc = 0;
    qsort_r(shares->share, shares->n, sizeof *shares->share, by_layer, &nth);
    for (size_t i = 0, end; i < shares->n; i = end) {
        struct mt_diff_share one = shares->share[i];
        struct layer first = layer_of(one.name, nth);
        for (end = i + 1; end < shares->n && first.rest; end++) {
            struct layer next = layer_of(shares->share[end].name, nth);
            if (!next.rest || next.number != first.number + (end - i) ||
                next.before != first.before || strcmp(next.rest, first.rest) ||
                strncmp(one.name, shares->share[end].name, first.before) ||
                !has_equal_bytes(&shares->share[i].bytes, &shares->share[end].bytes))
                break;
            one.bytes.old += shares->share[end].bytes.old;
            one.bytes.now += shares->share[end].bytes.now;
            one.bytes.spread += shares->share[end].bytes.spread;
        }
        if (end > i + 1 && !rc)
            rc = name_range(&one, &first, first.number + (end - i - 1));
        for (size_t taken = i + 1; taken < end; taken++)
            free(shares->share[taken].name);
        shares->share[kept++] = one;
    }
    shares->n = kept;
    return rc;
}

static uint64_t size_of(const struct mt_change *change)
{
    return change->is_noise ? 0 : mt_magnitude(mt_change_of(change));
}

MT_ORDER(by_change, struct mt_diff_share,
         MT_COMPARE(size_of(&b->bytes), size_of(&a->bytes)) ?: MT_BY_TEXT(name))

int mt_diff_fold(struct mt_diff_shares *folded, const struct mt_diff_shares *shares)
{
    *folded = (struct mt_diff_shares){calloc(shares->n + 1, sizeof *folded->share), 0};
    int rc = folded->share ? 0 : -ENOMEM;
    for (size_t i = 0; i < shares->n && !rc; i++)
        if (size_of(&shares->share[i].bytes))
            rc = add(folded, shares->share[i].name, shares->share[i].bytes);
    for (unsigned nth = 0; nth < MOST_NUMBERS && !rc; nth++)
        rc = fold(folded, nth);
    if (!rc)
        qsort(folded->share, folded->n, sizeof *folded->share, by_change);
    return rc;
}
