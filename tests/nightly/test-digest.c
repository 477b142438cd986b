/* SPDX-License-Identifier: Apache-2.0 */
/* A run as a digest: names for ids, and nothing that only this run knows. */
#include "analyzer/trace/comparable-names.h"
#include "compare/digest/digest.h"
#include "scenarios.h"
#include "tests/support/run-tests.h"

#include <check.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define BASE 0x7f0000000000ull
#define MODULE "/v/lib/python3.11/site-packages/torch/nn/modules/module.py"

static struct mt_builder *builder;
static struct mt_digest digest;
static struct mt_trace_error error;
static char path[64];

static void begin(void)
{
    builder = mt_builder_create();
    snprintf(path, sizeof path, "digest-%d.mtap", (int)getpid());
}

static void end(void)
{
    mt_digest_clear(&digest);
    mt_builder_destroy(builder);
}

static const struct mt_digest_device *read_digest(void)
{
    mt_builder_write(builder, path);
    int rc = mt_digest_read(&digest, path, NULL, &error);
    unlink(path);
    ck_assert_msg(!rc, "%s", error.text);
    return mt_digest_main_device(&digest);
}

static const struct mt_digest_site *site_at(const struct mt_digest_device *device,
                                            enum mt_category category, const char *operator_name)
{
    for (size_t i = 0; i < device->n_sites; i++)
        if (device->site[i].category == category &&
            !strcmp(device->site[i].operator_name, operator_name))
            return &device->site[i];
    ck_abort_msg("no such site");
}

START_TEST(reports_the_process)
{
    mt_scenario_rank(builder, 1);
    const struct mt_digest_device *device = read_digest();
    ck_assert_str_eq(digest.program, "ddp.py");
    ck_assert_str_eq(digest.host, "atlas");
    ck_assert_int_eq(digest.rank, 1);
    ck_assert_int_eq(digest.world_size, 2);
    ck_assert(digest.complete && digest.is_sound && !*digest.fault);
    ck_assert_int_eq(device->device, 1);
    ck_assert_uint_eq(device->allocated, 4 * MT_MIB);
}
END_TEST

START_TEST(reports_what_is_live_at_the_peak)
{
    mt_scenario_training(builder, 3);
    const struct mt_digest_device *device = read_digest();
    uint64_t sum = 0;
    for (unsigned i = 0; i < mt_n_categories; i++)
        sum += device->category[i];
    ck_assert_uint_eq(sum, device->allocated);
    ck_assert_uint_eq(device->category[MT_CATEGORY_OPTIMIZER_STATE], MT_TRAINING_OPTIMIZER);
    ck_assert_int_eq(device->phase, MT_PHASE_BACKWARD);
    ck_assert_uint_eq(device->iteration, 2);
    ck_assert_uint_eq(device->iterations, 3);
    ck_assert_uint_eq(device->most_in_phase[MT_PHASE_BACKWARD], device->allocated);
    ck_assert_uint_eq(device->at_end,
                      MT_TRAINING_PARAMETERS + MT_TRAINING_BUFFERS + MT_TRAINING_OPTIMIZER);
    const struct mt_digest_site *site = site_at(device, MT_CATEGORY_TEMPORARIES, "AddmmBackward0");
    ck_assert_str_eq(site->function, "Net.forward");
    ck_assert_str_eq(site->file, "models/net.py");
    ck_assert_uint_eq(site->line, 20);
    ck_assert_uint_eq(site->bytes, MT_TRAINING_TEMPORARIES);
    ck_assert_str_eq(site->stack, "main (/home/user/train.py:9);"
                                  "Module._call_impl (torch/nn/modules/module.py:1750);"
                                  "Net.forward (models/net.py:20)");
    ck_assert_uint_eq(device->operators.n, 1);
    ck_assert_str_eq(device->operators.share[0].name, "AddmmBackward0");
}
END_TEST

START_TEST(counts_over_the_whole_run)
{
    mt_scenario_training(builder, 3);
    const struct mt_digest_device *device = read_digest();
    const struct mt_digest_site *site = site_at(device, MT_CATEGORY_TEMPORARIES, "AddmmBackward0");
    /* A gradient and a temporary in each iteration. */
    ck_assert_uint_eq(site->allocations, 6);
    ck_assert_uint_eq(site->most_bytes, MT_TRAINING_GRADIENTS + MT_TRAINING_TEMPORARIES);
    site = site_at(device, MT_CATEGORY_PARAMETERS, "");
    ck_assert_uint_eq(site->allocations, 2); /* and the buffer */
}
END_TEST

START_TEST(knows_lines_that_have_nothing_at_the_peak)
{
    uint32_t early = mt_build_stack(builder, "/u/t.py:3 load", NULL);
    uint32_t late = mt_build_stack(builder, "/u/t.py:9 main", NULL);
    mt_build_on(builder, 0, 1, early);
    for (unsigned i = 0; i < 5; i++) {
        mt_build_alloc(builder, BASE, MT_MIB);
        mt_build_free(builder, BASE);
    }
    mt_build_on(builder, 0, 1, late);
    mt_build_alloc(builder, BASE, 2 * MT_MIB);
    mt_build_end(builder);
    const struct mt_digest_device *device = read_digest();
    ck_assert_uint_eq(device->n_sites, 1);
    ck_assert_uint_eq(device->n_places, 2);
    ck_assert_str_eq(device->place[0].function, "load");
    ck_assert_uint_eq(device->place[0].allocations, 5);
    ck_assert_uint_eq(device->place[0].most_bytes, MT_MIB);
}
END_TEST

/* The same program, with its stacks, strings and addresses in another order. */
static void build_in_order(const unsigned order[3])
{
    static const char *const lines[] = {"/u/t.py:1 a", "/u/t.py:2 b", "/u/t.py:3 c"};
    uint32_t stacks[3];
    for (unsigned i = 0; i < 3; i++)
        stacks[order[i]] = mt_build_stack(builder, lines[order[i]], MODULE ":5 call", NULL);
    for (unsigned i = 0; i < 6; i++) {
        mt_build_on(builder, 0, 1 + order[0], stacks[i % 3]);
        mt_build_alloc(builder, BASE + (uint64_t)(i + 7 * order[0]) * MT_MIB, 512 * (1 + i % 3));
    }
    mt_build_end(builder);
}

START_TEST(is_the_same_for_the_same_run)
{
    build_in_order((unsigned[]){0, 1, 2});
    read_digest();
    struct mt_digest first = digest;
    mt_builder_destroy(builder);
    begin();
    build_in_order((unsigned[]){2, 0, 1});
    read_digest();
    const struct mt_digest_device *a = &first.devices[0], *b = &digest.devices[0];
    ck_assert_uint_eq(a->n_sites, 3);
    ck_assert_uint_eq(b->n_sites, 3);
    for (size_t i = 0; i < 3; i++) {
        ck_assert_str_eq(a->site[i].function, b->site[i].function);
        ck_assert_str_eq(a->site[i].stack, b->site[i].stack);
        ck_assert_uint_eq(a->site[i].bytes, b->site[i].bytes);
        ck_assert_uint_eq(a->site[i].allocations, b->site[i].allocations);
        ck_assert_str_eq(a->stacks.share[i].name, b->stacks.share[i].name);
    }
    mt_digest_clear(&first);
}
END_TEST

START_TEST(takes_what_can_be_read)
{
    size_t size;
    mt_scenario_training(builder, 3);
    const unsigned char *bytes = mt_builder_bytes(builder, &size);
    FILE *file = fopen(path, "wb");
    ck_assert(file && fwrite(bytes, 1, size - 20, file) == size - 20 && !fclose(file));
    ck_assert(!mt_digest_read(&digest, path, NULL, &error));
    unlink(path);
    ck_assert(!digest.is_sound && *digest.fault && !digest.complete);
    ck_assert(mt_digest_main_device(&digest) != NULL);
}
END_TEST

START_TEST(says_what_cannot_be_read)
{
    ck_assert(mt_digest_read(&digest, "there-is-no.mtap", NULL, &error) < 0);
    ck_assert_str_ne(error.text, "");
}
END_TEST

START_TEST(names_files_by_what_stays)
{
    static const struct {
        const char *file, *name;
    } files[] = {
        {"/v/lib/python3.11/site-packages/models/net.py", "models/net.py"},
        {"/usr/lib/python3/dist-packages/models/net.py", "models/net.py"},
        {"/usr/lib/python3.12/threading.py", "python/threading.py"},
        {"/work/job/net.py", "net.py"},
        {"/work/jobs/net.py", "/work/jobs/net.py"},
        {"/usr/lib/libfoo.so.12.3", "libfoo.so"},
        {"train.py", "train.py"},
        {"/tmp/torchinductor_me/ab/cabc.py", "<torchinductor>"},
        {"/cache/tl/ctlynfwe2tqz7mlrkgbwsyhd4pjvuoac3fxei5n6abcdefghijkl.py", "<torchinductor>"},
        {"/cache/tl/ctlynfwe.py", "/cache/tl/ctlynfwe.py"},
        {"/tmp/ipykernel_4711/123.py", "<notebook>"},
        {"<frozen importlib._bootstrap>", "<frozen importlib._bootstrap>"},
    };
    char name[256];
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        mt_comparable_file(name, sizeof name, files[i].file, "/work/job");
        ck_assert_str_eq(name, files[i].name);
    }
}
END_TEST

START_TEST(names_native_functions_without_addresses)
{
    static const struct {
        struct mt_frame frame;
        const char *name;
    } functions[] = {
        {{.function = "libfoo.so.12+0x1f3", .is_native = 1}, "libfoo.so"},
        {{.function = "heat+0x1f3", .is_native = 1}, "heat"},
        {{.function = "solve(int)", .is_native = 1, .is_named = 1}, "solve(int)"},
        {{.function = "Net.forward"}, "Net.forward"},
    };
    char name[256];
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        mt_comparable_function(name, sizeof name, &functions[i].frame);
        ck_assert_str_eq(name, functions[i].name);
    }
}
END_TEST

START_TEST(names_programs_by_their_scripts)
{
    static const struct {
        const char *command, *name;
    } commands[] = {
        {"/v/bin/python train.py --lr 0.1", "train.py"},
        {"python -u /u/train.py --config conf.py", "train.py"},
        {"python3.11 -m pkg.train --x", "pkg.train"},
        {"/v/bin/python -W error -u train --x", "train"},
        {"python -c import train.py", "python"},
        {"./heat 100", "heat"},
        {"python", "python"},
        {"", ""},
    };
    char name[256];
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        mt_program_name(name, sizeof name, commands[i].command);
        ck_assert_str_eq(name, commands[i].name);
    }
}
END_TEST

int main(void)
{
    TCase *cases = tcase_create("digest");
    tcase_add_checked_fixture(cases, begin, end);
    tcase_add_test(cases, reports_the_process);
    tcase_add_test(cases, reports_what_is_live_at_the_peak);
    tcase_add_test(cases, counts_over_the_whole_run);
    tcase_add_test(cases, knows_lines_that_have_nothing_at_the_peak);
    tcase_add_test(cases, is_the_same_for_the_same_run);
    tcase_add_test(cases, takes_what_can_be_read);
    tcase_add_test(cases, says_what_cannot_be_read);
    tcase_add_test(cases, names_files_by_what_stays);
    tcase_add_test(cases, names_native_functions_without_addresses);
    tcase_add_test(cases, names_programs_by_their_scripts);
    return RUN_TESTS(cases);
}
