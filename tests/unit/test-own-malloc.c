/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/host/own-malloc.h"
#include "tests/support/run-tests.h"

#include <check.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define BLOCKS 400
#define STEPS 20000

struct held {
    unsigned char *bytes, content;
    size_t size;
};

static uint32_t next(uint32_t *seed)
{
    return *seed = *seed * 1664525u + 1013904223u;
}

static size_t any_size(uint32_t *seed)
{
    uint32_t power = next(seed) >> 16;
    return (next(seed) >> 8) % ((size_t)1 << power % 18);
}

static void has_content(const struct held *held, size_t size)
{
    size_t i = 0;
    while (i < size && held->bytes[i] == held->content)
        i++;
    ck_assert_uint_eq(i, size);
}

static void fill(struct held *held, unsigned char content)
{
    ck_assert_ptr_nonnull(held->bytes);
    ck_assert_uint_eq((uintptr_t)held->bytes % 16, 0);
    held->content = content;
    memset(held->bytes, content, held->size);
}

static void take(struct held *held, uint32_t *seed)
{
    held->size = any_size(seed);
    if (next(seed) >> 31) {
        held->bytes = mt_own_calloc(held->size, 1);
        held->content = 0;
        has_content(held, held->size);
    } else {
        held->bytes = mt_own_malloc(held->size);
    }
}

static void resize(struct held *held, uint32_t *seed)
{
    size_t size = any_size(seed), kept = size < held->size ? size : held->size;
    held->bytes = mt_own_realloc(held->bytes, size);
    held->size = size;
    has_content(held, kept);
}

/* Blocks of all sizes come and go; none touches another. */
static void *use(void *data)
{
    uint32_t seed = (uint32_t)(uintptr_t)data;
    struct held *all = calloc(BLOCKS, sizeof *all);
    for (int i = 0; i < STEPS; i++) {
        struct held *held = &all[(next(&seed) >> 8) % BLOCKS];
        if (!held->bytes) {
            take(held, &seed);
        } else if (next(&seed) >> 30) {
            has_content(held, held->size);
            mt_own_free(held->bytes);
            held->bytes = NULL;
            continue;
        } else {
            resize(held, &seed);
        }
        fill(held, (unsigned char)i);
    }
    for (int i = 0; i < BLOCKS; i++)
        mt_own_free(all[i].bytes);
    free(all);
    return NULL;
}

/* Mappings grow, and move to where another thread's have been. */
static void *grow(void *data)
{
    uint32_t seed = (uint32_t)(uintptr_t)data;
    for (int i = 0; i < 300; i++) {
        struct held held = {.size = 40000 + (next(&seed) >> 12) % 60000};
        held.bytes = mt_own_malloc(held.size);
        for (int step = 0; step < 5; step++) {
            fill(&held, (unsigned char)step);
            size_t kept = held.size;
            held.size += 20000 + (next(&seed) >> 10) % 80000;
            held.bytes = mt_own_realloc(held.bytes, held.size);
            ck_assert_ptr_nonnull(held.bytes);
            ck_assert_uint_eq(held.bytes[kept - 1], held.content);
        }
        mt_own_free(held.bytes);
    }
    return NULL;
}

static void at_once(void *(*run)(void *))
{
    pthread_t thread[3];
    for (uintptr_t i = 0; i < 3; i++)
        ck_assert_int_eq(pthread_create(&thread[i], NULL, run, (void *)(i + 1)), 0);
    for (int i = 0; i < 3; i++)
        pthread_join(thread[i], NULL);
}

START_TEST(blocks_are_apart)
{
    at_once(use);
}
END_TEST

START_TEST(mappings_grow_apart)
{
    at_once(grow);
}
END_TEST

START_TEST(what_is_freed_is_used_again)
{
    void *first = mt_own_malloc(100);
    mt_own_free(first);
    ck_assert_ptr_eq(mt_own_malloc(97), first);
    mt_own_free(NULL);
}
END_TEST

START_TEST(what_cannot_be_is_refused)
{
    ck_assert_ptr_null(mt_own_malloc(SIZE_MAX));
    ck_assert_ptr_null(mt_own_malloc(SIZE_MAX - 8));
    ck_assert_ptr_null(mt_own_calloc(SIZE_MAX / 2, 3));
    void *large = mt_own_malloc(1 << 20);
    ck_assert_ptr_null(mt_own_realloc(large, SIZE_MAX - 100));
    mt_own_free(large);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("own-malloc");
    tcase_add_test(tests, blocks_are_apart);
    tcase_add_test(tests, mappings_grow_apart);
    tcase_add_test(tests, what_is_freed_is_used_again);
    tcase_add_test(tests, what_cannot_be_is_refused);
    return RUN_TESTS(tests);
}
