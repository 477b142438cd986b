/* SPDX-License-Identifier: Apache-2.0 */
#include "each.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int by_module(const void *left, const void *right)
{
    const struct mt_each_name *a = left, *b = right;
    return strcmp(a->site->module, b->site->module);
}

static int by_site(const void *left, const void *right)
{
    const struct mt_each_name *a = left, *b = right;
    int order = strcmp(a->site->file, b->site->file);
    return order ? order : strcmp(a->site->function, b->site->function);
}

typedef int compare(const void *left, const void *right);

static compare *order_of(const struct mt_each *each)
{
    return each->subject == MT_OF_MODULE ? by_module : by_site;
}

/* Keep the first site of each name, which is the one with the lowest address. */
static void merge(struct mt_each *each)
{
    size_t n = 0;
    for (size_t i = 0; i < each->n; i++) {
        struct mt_each_name *to = &each->name[n ? n - 1 : 0], *from = &each->name[i];
        if (!n || order_of(each)(to, from)) {
            each->name[n++] = *from;
            continue;
        }
        to->bytes += from->bytes;
        if (from->site < to->site)
            to->site = from->site;
    }
    each->n = n;
}

int mt_each_make(struct mt_each *each, enum mt_subject subject,
                 const struct mt_digest_device *device)
{
    *each = (struct mt_each){.subject = subject,
                             .name = calloc(device->n_sites + 1, sizeof *each->name),
                             .n = device->n_sites};
    if (!each->name) {
        each->n = 0;
        return -ENOMEM;
    }
    for (size_t i = 0; i < each->n; i++)
        each->name[i] = (struct mt_each_name){&device->site[i], device->site[i].bytes};
    qsort(each->name, each->n, sizeof *each->name, order_of(each));
    merge(each);
    return 0;
}

void mt_each_clear(struct mt_each *each)
{
    free(each->name);
    *each = (struct mt_each){0};
}

const struct mt_each_name *mt_each_of(const struct mt_each *each, const struct mt_digest_site *site)
{
    const struct mt_each_name key = {.site = site};
    return each->n ? bsearch(&key, each->name, each->n, sizeof key, order_of(each)) : NULL;
}
