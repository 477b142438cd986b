/* SPDX-License-Identifier: Apache-2.0 */
/* Makes runs of lines of code and compares them; end() is the fixture that cleans up. */
#ifndef MT_TESTS_COMPARED_H
#define MT_TESTS_COMPARED_H

#include "compare/diff/diff-words.h"
#include "compare/history/read-all.h"
#include "scenarios.h"
#include "tests/support/run-tests.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BASE 0x7f0000000000ull
#define SLOT (1ull << 32)
#define MOST_RUNS 8

static struct mt_builder *builder;
static struct mt_digest runs[MOST_RUNS]; /* the old ones, then the new ones */
static size_t n_runs, n_old;
static struct mt_diff diff;
static uint64_t next_address;

static inline void begin_run(void)
{
    builder = mt_builder_create();
    mt_build_info(builder, "command=python train.py");
    next_address = BASE;
}

/* So many blocks of a size from a line, for good. */
static inline void keep(const char *line, uint64_t size, unsigned blocks)
{
    mt_build_on(builder, 0, 1, mt_build_stack(builder, line, NULL));
    for (unsigned i = 0; i < blocks; i++, next_address += SLOT)
        mt_build_alloc(builder, next_address, size);
}

/* The same, and freed. */
static inline void pass(const char *line, uint64_t size, unsigned blocks)
{
    mt_build_on(builder, 0, 1, mt_build_stack(builder, line, NULL));
    for (unsigned i = 0; i < blocks; i++) {
        mt_build_alloc(builder, BASE - SLOT, size);
        mt_build_free(builder, BASE - SLOT);
    }
}

static inline void end_run(void)
{
    char path[64];
    struct mt_trace_error error;
    snprintf(path, sizeof path, "diff-%d-%zu.mtap", (int)getpid(), n_runs);
    mt_build_end(builder);
    mt_builder_write(builder, path);
    mt_builder_destroy(builder);
    ck_assert_msg(!mt_digest_read(&runs[n_runs++], path, NULL, &error), "%s", error.text);
}

static inline void simple_run(const char *line, uint64_t size)
{
    begin_run();
    keep(line, size, 1);
    end_run();
}

/* Those before are old. */
static inline void end_old(void)
{
    n_old = n_runs;
}

static inline const struct mt_diff_device *compare(void)
{
    ck_assert(!mt_diff_make(&diff, runs, n_old, runs + n_old, n_runs - n_old));
    return mt_diff_main_device(&diff);
}

static inline void end(void)
{
    mt_diff_clear(&diff);
    for (size_t i = 0; i < n_runs; i++) {
        unlink(runs[i].path);
        mt_digest_clear(&runs[i]);
    }
}

static inline const char *verdict(void)
{
    static char text[MT_WORDS];
    mt_diff_verdict(text, sizeof text, &diff);
    return text;
}

static inline const struct mt_diff_site *site_of(const struct mt_diff_device *device,
                                                 const char *function, uint32_t line)
{
    for (size_t i = 0; i < device->n_sites; i++)
        if (!strcmp(device->site[i].line->function, function) && device->site[i].line->line == line)
            return &device->site[i];
    ck_abort_msg("there is no site %s:%u", function, line);
}

#endif
