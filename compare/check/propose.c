/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/support/search.h"
#include "analyzer/support/text.h"
#include "budget.h"
#include "check-formats.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define MOST_SITES 8
#define MOST_MEASURED 64 /* only this many of the largest names are measured as check does */
#define SMALL_PART 100   /* smaller parts of the peak get no limit */

struct proposal {
    const struct mt_digest *run;
    size_t n;
    uint64_t headroom, peak;
    FILE *out;
};

static uint64_t most_of(const struct proposal *p, const struct mt_limit *limit, const char *pattern)
{
    uint64_t most = 0;
    for (size_t i = 0; i < p->n; i++)
        for (size_t j = 0; j < p->run[i].n_devices; j++) {
            uint64_t value = mt_measure(limit, pattern, &p->run[i].devices[j]);
            most = value > most ? value : most;
        }
    return most;
}

/* Write a TOML string. */
static void put_quoted(FILE *out, const char *text)
{
    putc('"', out);
    mt_put_text(out, text, MT_FOR_TOML);
    putc('"', out);
}

static void put_key(const struct proposal *p, const char *key)
{
    static const char bare[] = "abcdefghijklmnopqrstuvwxyz0123456789_";
    if (*key && !key[strspn(key, bare)])
        fputs(key, p->out);
    else
        put_quoted(p->out, key);
}

/* Write a limit a little over the measured amount, which follows as a comment. */
static void put_limit(const struct proposal *p, const char *begin, const char *key, uint64_t most)
{
    char round[MT_AMOUNT_TEXT], measured[MT_AMOUNT_TEXT];
    uint64_t extra = mt_part_by_percent(most, p->headroom);
    mt_amount_round(round, extra > UINT64_MAX - most ? UINT64_MAX : most + extra, most);
    fputs(begin, p->out);
    put_key(p, key);
    fprintf(p->out, " = \"%s\"  # measured: %s\n", most ? round : "0 B",
            mt_amount_text(measured, MT_BYTES, most));
}

/* Return whether all runs were too short to show growth. */
static bool is_too_short(const struct proposal *p)
{
    for (size_t i = 0; i < p->n; i++)
        for (size_t j = 0; j < p->run[i].n_devices; j++)
            if (mt_digest_has_growth(&p->run[i].devices[j]))
                return false;
    return true;
}

static void put_growth(const struct proposal *p)
{
    const struct mt_limit limit = {.subject = MT_OF_GROWTH};
    if (is_too_short(p))
        fprintf(p->out, "growth = \"0 B\"  # not measured: growth needs at least %u iterations\n",
                MT_GROWTH_ITERATIONS);
    else
        put_limit(p, "", "growth", most_of(p, &limit, ""));
}

static void put_whole(const struct proposal *p)
{
    struct mt_limit limit = {.subject = MT_OF_RESERVED};
    fputs("[limits]\n", p->out);
    put_limit(p, "", "peak", p->peak);
    uint64_t reserved = most_of(p, &limit, "");
    if (reserved) /* 0: PyTorch's allocator was not used */
        put_limit(p, "", "reserved", reserved);
    put_growth(p);
    limit.subject = MT_OF_FRAGMENTATION;
    uint64_t part = most_of(p, &limit, "");
    if (reserved)
        fprintf(p->out, "fragmentation = \"%d %%\"  # measured: %.1f %%\n",
                (int)((part + p->headroom + 99) / 100), (double)part / 100);
}

static void put_categories(const struct proposal *p)
{
    fputs("\n# Live memory at the peak. \"every\" covers all categories that are not "
          "named.\n[category]\n",
          p->out);
    for (unsigned i = 0; i < mt_n_categories; i++) {
        const struct mt_limit limit = {.subject = MT_OF_CATEGORY, .index = i};
        uint64_t most = most_of(p, &limit, "");
        if (most && most >= p->peak / SMALL_PART)
            put_limit(p, "", mt_categories[i].name, most);
    }
}

static void put_phases(const struct proposal *p)
{
    fputs("\n# The most memory that each phase of an iteration allocates.\n[phase]\n", p->out);
    for (unsigned i = MT_PHASE_FORWARD; i < MT_PHASE_COUNT; i++) {
        const struct mt_limit limit = {.subject = MT_OF_PHASE, .index = i};
        uint64_t most = most_of(p, &limit, "");
        if (most)
            put_limit(p, "", mt_phase_names[i].name, most);
    }
}

/* --- modules and call sites ----------------------------------------------------------------- */

struct named {
    char *name;
    uint64_t bytes;
};

MT_ORDER(by_bytes, struct named, MT_FALLING(bytes) ?: MT_BY_TEXT(name))

/* Return the name of a site's module, or of the site; NULL: no memory. */
static char *name_of(enum mt_subject subject, const struct mt_digest_site *site)
{
    char *name;
    if (subject == MT_OF_MODULE)
        return strdup(site->module);
    return asprintf(&name, "%s:%s", site->file, site->function) < 0 ? NULL : name;
}

MT_ORDER(by_name, struct named, MT_BY_TEXT(name))

static void join(void *into, void *from)
{
    struct named *name = into, *other = from;
    name->bytes += other->bytes;
    free(other->name);
}

static int collect(enum mt_subject subject, const struct mt_digest_device *device,
                   struct named *list, size_t *n)
{
    for (size_t i = 0; i < device->n_sites; i++) {
        char *name = name_of(subject, &device->site[i]);
        if (!name)
            return -ENOMEM;
        if (*name)
            list[(*n)++] = (struct named){name, device->site[i].bytes};
        else
            free(name);
    }
    return 0;
}

/* Measure the first n names as check does, and sort them again. */
static void measure(const struct proposal *p, enum mt_subject subject, struct named *list, size_t n)
{
    const struct mt_limit limit = {.subject = subject, .of_each = 1};
    for (size_t i = 0; i < n; i++)
        list[i].bytes = most_of(p, &limit, list[i].name);
    qsort(list, n, sizeof *list, by_bytes);
}

/* Write limits on the largest ones as comments to choose from, since all of them would break with
 * each code change. */
static int put_named(const struct proposal *p, enum mt_subject subject, const char *section)
{
    size_t n = 0, room = 0;
    int rc = 0;
    for (size_t i = 0; i < p->n; i++)
        for (size_t j = 0; j < p->run[i].n_devices; j++)
            room += p->run[i].devices[j].n_sites;
    struct named *list = calloc(room + 1, sizeof *list);
    for (size_t i = 0; i < p->n && list && !rc; i++)
        for (size_t j = 0; j < p->run[i].n_devices && !rc; j++)
            rc = collect(subject, &p->run[i].devices[j], list, &n);
    if (list && n && !rc) {
        n = mt_merge(list, n, sizeof *list, by_name, by_name, join);
        qsort(list, n, sizeof *list, by_bytes);
        measure(p, subject, list, n < MOST_MEASURED ? n : MOST_MEASURED);
    }
    if (list && n && !rc && list->bytes >= p->peak / SMALL_PART) {
        fprintf(p->out, "#[%s]\n", section);
        for (size_t i = 0; i < n && i < MOST_SITES && list[i].bytes >= p->peak / SMALL_PART; i++)
            put_limit(p, "#", list[i].name, list[i].bytes);
    }
    for (size_t i = 0; i < n; i++)
        free(list[i].name);
    free(list);
    return list ? rc : -ENOMEM;
}

static void put_head(const struct proposal *p)
{
    fputs("# A budget of GPU memory for memtap check; see memtap-budget(5).\n", p->out);
    for (size_t i = 0; i < p->n; i++) {
        fputs("# From ", p->out);
        mt_put_text(p->out, p->run[i].path, MT_FOR_PLAIN);
        putc('\n', p->out);
    }
    fprintf(p->out, "# with a margin of %.6g %%.\n\n", (double)p->headroom / 100);
}

static void put_allow(const struct proposal *p)
{
    fputs("\n# More memory for a limited time, with a reason:\n#[[allow]]\n#limit = \"peak\"\n"
          "#extra = \"500 MiB\"\n#reason = \"why, and who will remove it\"\n"
          "#until = 2027-01-31\n",
          p->out);
}

int mt_propose_budget(const struct mt_digest *runs, size_t n, uint64_t headroom, FILE *out)
{
    static const struct mt_limit peak = {.subject = MT_OF_PEAK};
    struct proposal p = {.run = runs, .n = n, .headroom = headroom, .out = out};
    p.peak = most_of(&p, &peak, "");
    put_head(&p);
    put_whole(&p);
    put_categories(&p);
    put_phases(&p);
    fputs("\n# The largest modules and lines; remove a # to check one.\n", out);
    int rc = put_named(&p, MT_OF_MODULE, "module");
    if (!rc)
        rc = put_named(&p, MT_OF_SITE, "site");
    put_allow(&p);
    return rc;
}
