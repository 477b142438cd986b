/* SPDX-License-Identifier: Apache-2.0 */
/* Each text, frame and stack has one id; the writer gets each once, what it refers to first. */
#include "preload/cuda/cudart.h"
#include "preload/record/cache.h"
#include "preload/record/intern.h"
#include "tests/support/run-tests.h"

#include <check.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define N_NAMES 3000
#define N_ADDERS 3

static struct mt_cache cache;

/* Every adder interns the same stacks, in another order, and finds them again. */
static void *add(void *data)
{
    uintptr_t seed = (uintptr_t)data;
    for (uintptr_t i = 0; i < 2 * N_NAMES; i++) {
        uint64_t name = (i * (2 * seed + 1) + seed) % N_NAMES;
        struct mt_key key = {.a = name + 1, .stamp = 7};
        if (mt_cache_find(&cache, &key))
            continue;
        char text[32];
        size_t size = (size_t)snprintf(text, sizeof text, "f%u", (unsigned)name);
        mt_intern_lock();
        if (!mt_cache_find(&cache, &key)) {
            uint32_t string = mt_intern_string(text, size);
            uint32_t frame = mt_intern_frame(string, string, (uint32_t)name);
            uint32_t stack = mt_intern_stack(mt_intern_stack(0, frame), frame);
            mt_cache_add(&cache, &key, stack);
        }
        mt_intern_unlock();
    }
    return NULL;
}

struct seen {
    uint32_t strings, frames, stacks;
};

static void read_new(struct mt_intern_position *position, struct seen *seen)
{
    struct mt_definition definition;
    while (mt_intern_read(position, &definition)) {
        switch (definition.kind) {
        case MT_DEF_STRING:
            ck_assert_uint_eq(definition.id, ++seen->strings);
            break;
        case MT_DEF_FRAME:
            ck_assert_uint_eq(definition.id, ++seen->frames);
            ck_assert_uint_le(definition.frame.function, seen->strings);
            break;
        case MT_DEF_STACK:
            ck_assert_uint_eq(definition.id, ++seen->stacks);
            ck_assert_uint_le(definition.stack.frame, seen->frames);
            ck_assert_uint_lt(definition.stack.parent, definition.id);
            break;
        default:
            ck_abort_msg("a definition of another kind");
        }
    }
}

START_TEST(threads_agree_on_ids)
{
    pthread_t threads[N_ADDERS];
    struct mt_intern_position position = {0};
    struct seen seen = {0};
    for (uintptr_t i = 0; i < N_ADDERS; i++)
        ck_assert(!pthread_create(&threads[i], NULL, add, (void *)i));
    for (int i = 0; i < 1000; i++)
        read_new(&position, &seen);
    for (int i = 0; i < N_ADDERS; i++)
        pthread_join(threads[i], NULL);
    read_new(&position, &seen);
    ck_assert_uint_eq(seen.strings, N_NAMES);
    ck_assert_uint_eq(seen.frames, N_NAMES);
    ck_assert_uint_eq(seen.stacks, 2 * N_NAMES);
    for (uint64_t name = 0; name < N_NAMES; name++)
        ck_assert_uint_ne(mt_cache_find(&cache, &(struct mt_key){.a = name + 1, .stamp = 7}), 0);
    ck_assert_uint_eq(mt_cache_find(&cache, &(struct mt_key){.a = 1, .stamp = 8}), 0);
}
END_TEST

START_TEST(a_forked_child_begins_anew)
{
    mt_intern_lock();
    uint32_t id = mt_intern_string("a", 1);
    ck_assert_uint_eq(mt_intern_string("a", 1), id);
    mt_intern_reset();
    mt_intern_lock();
    ck_assert_uint_eq(mt_intern_string("b", 1), 1);
    mt_intern_unlock();
}
END_TEST

/* Whatever came last, and whatever it was followed by before: right, and remembered. */
START_TEST(what_follows_is_found)
{
    static const uint64_t ways[][6] = {{1, 2, 3, 4, 5, 6}, {1, 2, 3, 4, 5, 6}, {4, 1, 6, 6, 2, 9}};
    static struct mt_cache in_order;
    uint32_t last = 0;
    ck_assert_uint_eq(mt_cache_follow(&in_order, &(struct mt_key){.a = 1}, &last), 0);
    for (uint64_t a = 1; a <= 6; a++)
        mt_cache_add(&in_order, &(struct mt_key){.a = a, .b = ~a}, (uint32_t)a);
    for (unsigned way = 0; way < 3; way++)
        for (unsigned i = 0; i < 6; i++) {
            struct mt_key key = {.a = ways[way][i], .b = ~key.a};
            uint32_t before = last, id = mt_cache_follow(&in_order, &key, &last);
            ck_assert_uint_eq(id, key.a > 6 ? 0 : key.a);
            ck_assert_uint_eq(last, id ? id : before);
            if (id)
                ck_assert_uint_eq(in_order.table->entry[before].next, last);
        }
    last = UINT32_MAX; /* of a table that was larger */
    ck_assert_uint_eq(mt_cache_follow(&in_order, &(struct mt_key){.a = 3, .b = ~3ull}, &last), 3);
}
END_TEST

static _Atomic bool is_filled;
/* Whether so many keys, the n-th of which is first + n * step, have places of their own about as
 * often as by chance (1,611 of 4,096 at 2,048 keys). */
static void places_are_spread(struct mt_key first, struct mt_key step)
{
    enum { KEYS = 2048, PLACES = 4096, LEAST = 1300 };
    char is_taken[PLACES] = {0};
    unsigned taken = 0;
    for (uint32_t i = 0; i < KEYS; i++) {
        struct mt_key key = {first.a + i * step.a, first.b + i * step.b,
                             first.stamp + i * step.stamp, first.parent + i * step.parent};
        char *place = &is_taken[mt_key_hash(&key) % PLACES];
        taken += !*place;
        *place = 1;
    }
    ck_assert_uint_ge(taken, LEAST);
}

/* Modules at one line are told apart by the highest bits only: without a place of its own each is
 * looked for among all others. */
START_TEST(keys_have_places_of_their_own)
{
    const struct mt_key first = {
        .a = 0x7f0012345601, .b = 0x7f00123456a8, .stamp = 3, .parent = 40};
    places_are_spread(first, (struct mt_key){.b = 1ull << 48});
    places_are_spread(first, (struct mt_key){.parent = 1});
    places_are_spread(first, (struct mt_key){.stamp = 1});
    places_are_spread(first, (struct mt_key){.a = 192});
    places_are_spread(first, (struct mt_key){.b = 1ull << 48 | 2, .parent = 1});
}
END_TEST

static struct mt_cache forgetful = {.forgets = 1};

/* Whatever is found is right, whatever is forgotten meanwhile. */
static void *look(void *unused)
{
    uint32_t last = 0;
    for (uint64_t i = 0; !is_filled; i++) {
        struct mt_key key = {.a = i % (4 * MT_CACHE_MOST), .b = ~key.a};
        uint32_t id = mt_cache_find(&forgetful, &key);
        ck_assert(!id || id == key.a + 1);
        id = mt_cache_follow(&forgetful, &key, &last);
        ck_assert(!id || id == key.a + 1);
    }
    return unused;
}

START_TEST(a_full_cache_begins_anew)
{
    pthread_t thread;
    unsigned replaced = 0, found = 0;
    ck_assert(!pthread_create(&thread, NULL, look, NULL));
    for (uint64_t i = 0; i < 4 * MT_CACHE_MOST; i++) {
        struct mt_key key = {.a = i, .b = ~i};
        mt_cache_add(&forgetful, &key, (uint32_t)i + 1);
        replaced |= mt_cache_retired();
        if (replaced == 0xff) /* nobody gives them back */
            break;
        ck_assert_uint_eq(mt_cache_find(&forgetful, &key), i + 1);
    }
    is_filled = true;
    pthread_join(thread, NULL);
    ck_assert_uint_eq(replaced, 0xff);
    mt_cache_free(replaced);
    ck_assert_uint_eq(mt_cache_retired(), 0);
    for (uint64_t i = 0; i < 4 * MT_CACHE_MOST; i++) {
        struct mt_key key = {.a = i, .b = ~i};
        found += mt_cache_find(&forgetful, &key) != 0;
        mt_cache_add(&forgetful, &(struct mt_key){.a = i, .stamp = 1}, 1);
        mt_cache_free(mt_cache_retired());
    }
    ck_assert_uint_lt(found, MT_CACHE_MOST);
}
END_TEST

static _Atomic bool is_locked;

static void *hold_lock(void *unused)
{
    mt_intern_lock();
    is_locked = true;
    pause();
    return unused;
}

/* Before anything is recorded, too: the first call of CUDA's may be on another thread just then. */
START_TEST(a_forked_child_finds_no_lock_held)
{
    pthread_t thread;
    int status;
    mt_cudart_of(&is_locked);
    ck_assert(!pthread_create(&thread, NULL, hold_lock, NULL));
    while (!is_locked)
        sched_yield();
    pid_t child = fork();
    if (child == 0) {
        alarm(300);
        mt_intern_lock();
        _exit(7);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("intern");
    tcase_add_test(tests, threads_agree_on_ids);
    tcase_add_test(tests, what_follows_is_found);
    tcase_add_test(tests, keys_have_places_of_their_own);
    tcase_add_test(tests, a_full_cache_begins_anew);
    tcase_add_test(tests, a_forked_child_begins_anew);
    tcase_add_test(tests, a_forked_child_finds_no_lock_held);
    return RUN_TESTS(tests);
}
