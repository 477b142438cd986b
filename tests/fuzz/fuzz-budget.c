/* SPDX-License-Identifier: Apache-2.0 */
/* A budget through its parser. What is wrong in one must be told, with a place in the text or of
 * the whole; what is read must be fit to hold a run to. */
#include "compare/check/check-formats.h"
#include "outputs.h"
#include "target.h"

#include <stdlib.h>

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
static const struct mt_digest run = {.path = (char[]){"a.mtap"},
                                     .program = (char[]){""},
                                     .command = (char[]){""},
                                     .host = (char[]){""},
                                     .device_name = (char[]){""},
                                     .torch = (char[]){""},
                                     .cuda = (char[]){""},
                                     .python = (char[]){""},
                                     .memtap = (char[]){""},
                                     .allocator = (char[]){""},
                                     .fault = (char[]){""},
                                     .is_sound = 1,
                                     .complete = 1,
                                     .rank = -1,
                                     .world_size = -1,
                                     .devices = &device,
                                     .n_devices = 1};

static void hold(struct mt_budget *budget)
{
    static mt_check_printer *const printers[] = {mt_check_text,   mt_check_json,
                                                 mt_check_junit,  mt_check_github,
                                                 mt_check_gitlab, mt_check_summary};
    struct mt_check check;
    mt_budget_set_today(budget, 2026, 12, 31);
    if (mt_check_make(&check, budget, &(struct mt_check_allowed){.ends = 0}, &run, 1, &run, 1) ||
        (budget->n_limits && !check.budget) ||
        printers[budget->n_limits % 6](&check, mt_safe_output()))
        abort();
    mt_check_clear(&check);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct mt_budget budget;
    struct mt_budget_error error;
    size_t lines = 1;
    for (size_t i = 0; i < size; i++) /* as TOML's parser and editors count them */
        lines += bytes[i] == '\n' || bytes[i] == '\r' || (bytes[i] & 0xfe) == 0xa8;
    if (!mt_budget_parse(&budget, "fuzz.toml", (const char *)bytes, size, &error)) {
        hold(&budget);
    } else if (!*error.text || error.line > lines + 1 || (error.line && !error.column) ||
               error.column > size + 2) {
        fprintf(stderr, "%u:%u: %s\n", error.line, error.column, error.text);
        abort();
    }
    mt_budget_clear(&budget);
    return 0;
}
