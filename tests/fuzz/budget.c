/* SPDX-License-Identifier: Apache-2.0 */
/*
 * budget [COUNT]: mutated budgets through their parser. What is wrong in one must be told, with a
 * place in the text or of the whole; what is read must be fit to hold a run to.
 */
#include "mutate.h"
#include "nightly/check/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char seed[] = "# a comment\n"
                           "ignore = \"1 MiB\"\n"
                           "[limits]\n"
                           "peak = \"22 GiB\"\n"
                           "reserved = \"+2 %\"\n"
                           "growth = '0 B'\n"
                           "fragmentation = \"12.5 %\"\n"
                           "category = {}\n"
                           "[category]\n"
                           "every = \"+1 MiB\"\n"
                           "[site]\n"
                           "\"net.py:Net.*\" = \"1 GiB\"\n"
                           "every = \"+5 %\"\n"
                           "[module]\n"
                           "\"layers.[0-3]\" = \"1 KiB\"\n"
                           "[phase]\n"
                           "forward = \"\"\"2 B\"\"\"\n"
                           "[[allow]]\n"
                           "limit = \"peak\"\n"
                           "extra = \"5 %\"\n"
                           "reason = \"\\u00e4 [x] = {y}\"\n"
                           "until = 2027-01-31\n";

/* The line that makes the seed wrong, for mutations to take away. */
static const char wrong[] = "category = {}\n";

static struct mt_digest_site sites[] = {
    {.category = MT_CATEGORY_ACTIVATIONS,
     .function = (char[]){"Net.forward"},
     .file = (char[]){"/a/net.py"},
     .line = 7,
     .operator_name = (char[]){""},
     .module = (char[]){"layers.3.mlp"},
     .stack = (char[]){"f (/a/net.py:7)"},
     .bytes = 5000,
     .blocks = 1},
};
static struct mt_digest_device device = {
    .allocated = 5000, .reserved = 8000, .most_reserved = 8000, .site = sites, .n_sites = 1};
static const struct mt_digest run = {
    .path = (char[]){"a.mtap"}, .rank = -1, .world_size = -1, .devices = &device, .n_devices = 1};

/* Whether it was a budget. */
static int check(const char *text, size_t size)
{
    struct mt_budget budget;
    struct mt_budget_error error;
    struct mt_check result = {0};
    size_t lines = 1;
    for (size_t i = 0; i < size; i++)
        lines += text[i] == '\n' || text[i] == '\r' || (text[i] & 0xfe) == 0xa8;
    int is_good = !mt_budget_parse(&budget, "fuzz.toml", text, size, &error);
    if (is_good) {
        mt_budget_set_today(&budget, 2026, 12, 31);
        if (mt_check_make(&result, &budget, 0, &run, 1, &run, 1) ||
            (budget.n_limits && !result.budget))
            abort();
        mt_check_clear(&result);
    } else if (!*error.text || error.line > lines + 1 || (error.line && !error.column) ||
               error.column > size + 2) {
        fprintf(stderr, "%u:%u: %s\n", error.line, error.column, error.text);
        abort();
    }
    mt_budget_clear(&budget);
    return is_good;
}

int main(int argc, char **argv)
{
    unsigned long count = argc > 1 ? strtoul(argv[1], NULL, 10) : 10000, good = 0;
    char right[sizeof seed];
    const char *at = strstr(seed, wrong);
    snprintf(right, sizeof right, "%.*s%s", (int)(at - seed), seed, at + strlen(wrong));
    if (check(seed, sizeof seed - 1) || !check(right, strlen(right)))
        abort();
    for (unsigned long i = 0; i < count; i++) {
        const char *of = mt_any(8) ? right : seed;
        size_t size = strlen(of);
        char *text = malloc(size); /* exactly as large: a byte too far is seen by a sanitizer */
        if (!text)
            return 1;
        memcpy(text, of, size);
        size = mt_mutate(text, size, "\n\"'= \t#*[]{},.+%09-KMGiBxyz\\", 3);
        good += (unsigned long)check(text, size);
        free(text);
    }
    printf("%lu budgets, %lu of them sound\n", count, good);
    return 0;
}
