/* SPDX-License-Identifier: Apache-2.0 */
/* The whole way from threads to the file, while somebody reads the trace all the time: what is
 * there at any moment is all that had been recorded when the reader began, without a gap. */
#include "preload/record/intern.h"
#include "preload/record/recorder.h"
#include "tests/support/run-tests.h"
#include "trace-format/reader.h"

#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define MT_IS_SANITIZED 1 /* and takes memory of its own */
#else
#define MT_IS_SANITIZED 0
#endif

#define N_THREADS 3
#define N_EVENTS 60000
#define MOST_STACKS 512

static _Atomic uint64_t recorded[N_THREADS];

static uint32_t any_stack(uint64_t number)
{
    char name[32];
    int n = snprintf(name, sizeof name, "function_%u", (unsigned)(number % MOST_STACKS));
    mt_intern_lock();
    uint32_t stack = mt_intern_stack(0, mt_intern_frame(mt_intern_string(name, (size_t)n), 0, 1));
    mt_intern_unlock();
    return stack;
}

static void *record_events(void *data)
{
    uintptr_t index = (uintptr_t)data;
    for (uint64_t i = 0; i < N_EVENTS; i++) {
        uint32_t stack = i % 64 ? 0 : any_stack(i / 64 * 7 + index);
        struct mt_thread *self = mt_enter();
        ck_assert_ptr_nonnull(self);
        mt_record(self, MT_CUDA_MALLOC, 0, stack, MT_ARGS(index, i));
        mt_leave(self);
        atomic_store(&recorded[index], i + 1);
    }
    return NULL;
}

struct reading {
    uint64_t next[N_THREADS], lost;
    unsigned char has_stack[8192];
    int has_tail;
    enum mt_trace_state state;
};

static void read_events(struct reading *r, const struct mt_batch *batch)
{
    for (size_t i = 0; i < batch->n_definitions; i++)
        if (batch->definitions[i].kind == MT_DEF_STACK)
            r->has_stack[batch->definitions[i].id % sizeof r->has_stack] = 1;
    for (size_t i = 0; i < batch->n_events; i++) {
        const struct mt_event *event = &batch->events[i];
        if (event->kind == MT_LOST)
            r->lost += event->arg[0];
        if (event->kind != MT_CUDA_MALLOC)
            continue;
        ck_assert_uint_lt(event->arg[0], N_THREADS);
        ck_assert(r->lost || event->arg[1] == r->next[event->arg[0]]);
        r->next[event->arg[0]] = event->arg[1] + 1;
        ck_assert(!event->stack || r->has_stack[event->stack % sizeof r->has_stack]);
    }
}

static void read_trace(const char *path, struct reading *r)
{
    struct mt_reader *reader;
    struct mt_batch batch;
    struct mt_trace_error error;
    memset(r, 0, sizeof *r);
    ck_assert_int_eq(mt_reader_open(&reader, path, &error), 0);
    while (mt_reader_next(reader, &batch, &error) > 0) {
        read_events(r, &batch);
        r->has_tail |= batch.is_tail;
    }
    ck_assert_msg(!error.fault, "%s", error.text);
    r->state = mt_reader_state(reader);
    mt_reader_close(reader);
}

static void read_while_it_is_written(const char *path)
{
    static struct reading reading;
    for (int i = 0, was_found = 0; i < 200; i++) {
        uint64_t before[N_THREADS], sum = 0;
        for (int t = 0; t < N_THREADS; t++)
            sum += before[t] = atomic_load(&recorded[t]);
        if (sum == N_THREADS * (uint64_t)N_EVENTS && was_found)
            return;
        read_trace(path, &reading);
        ck_assert_int_eq(reading.state, MT_TRACE_RUNNING);
        if (!reading.has_tail)
            continue; /* the tail changed too fast */
        was_found = 1;
        for (int t = 0; t < N_THREADS; t++)
            ck_assert(reading.lost || reading.next[t] >= before[t]);
    }
}

static char folder[] = "/tmp/memtap-writer-XXXXXX", path[64];

static void start(void)
{
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/t.mtap", folder);
    setenv("MEMTAP_OUTPUT", path, 1);
    setenv("MEMTAP_QUIET", "1", 1);
    mt_start();
    ck_assert(mt_is_recording());
}

static void remove_trace(void)
{
    unlink(path);
    ck_assert_int_eq(rmdir(folder), 0); /* and no tail */
}

START_TEST(a_reader_sees_all_at_any_moment)
{
    static struct reading reading;
    pthread_t threads[N_THREADS];
    start();
    for (uintptr_t t = 0; t < N_THREADS; t++)
        ck_assert(!pthread_create(&threads[t], NULL, record_events, (void *)t));
    read_while_it_is_written(path);
    for (int t = 0; t < N_THREADS; t++)
        pthread_join(threads[t], NULL);
    mt_recorder_finish();
    read_trace(path, &reading);
    ck_assert_int_eq(reading.state, MT_TRACE_CLOSED);
    for (int t = 0; t < N_THREADS; t++)
        ck_assert(reading.lost || reading.next[t] == N_EVENTS);
    remove_trace();
}
END_TEST

/* More of everything than there is room for: the first that got no id, and its kind's most. */
static uint32_t fill(void)
{
    uint32_t stack = 0, refused = 0;
    for (uint32_t i = 0; i < 500000; i++) {
        char name[64];
        int n = snprintf(name, sizeof name, "a name that takes a little room, of function %u", i);
        mt_intern_lock();
        uint32_t string = mt_intern_string(name, (size_t)n);
        uint32_t frame = mt_intern_frame(string, 0, i);
        stack = mt_intern_stack(stack, frame ? frame : i % 1000 + 1);
        if (!stack && !refused)
            refused = i;
        mt_intern_unlock();
    }
    ck_assert_uint_eq(stack, 0);
    return refused;
}

static uint64_t memory_kib(const char *what)
{
    char line[128];
    unsigned long long value = 0;
    FILE *status = fopen("/proc/self/status", "r");
    ck_assert_ptr_nonnull(status);
    while (!value && fgets(line, sizeof line, status))
        if (!strncmp(line, what, strlen(what)))
            sscanf(line + strlen(what), ": %llu", &value);
    fclose(status);
    return value;
}

/* How often the trace says that, and how many definitions of a kind it has. */
static void look_through(const char *said, unsigned *times, unsigned count[MT_DEF_LIMIT])
{
    struct mt_reader *reader;
    struct mt_batch batch;
    struct mt_trace_error error;
    ck_assert_int_eq(mt_reader_open(&reader, path, &error), 0);
    while (mt_reader_next(reader, &batch, &error) > 0)
        for (size_t i = 0; i < batch.n_definitions; i++) {
            const struct mt_definition *definition = &batch.definitions[i];
            count[definition->kind]++;
            *times += definition->kind == MT_DEF_INFO && definition->text_size == strlen(said) &&
                      !memcmp(definition->text, said, strlen(said));
        }
    ck_assert_msg(!error.fault, "%s", error.text);
    mt_reader_close(reader);
}

START_TEST(full_tables_are_reported_and_memory_is_bounded)
{
    unsigned times = 0, count[MT_DEF_LIMIT] = {0};
    uint64_t before = memory_kib("VmRSS");
    start();
    uint32_t stacks = fill();
    uint64_t added = memory_kib("VmHWM") - before;
    mt_recorder_finish();
    look_through("left_out=names, frames, stacks", &times, count);
    ck_assert_uint_eq(times, 1);
    ck_assert_uint_eq(count[MT_DEF_STACK], stacks);
    ck_assert_uint_lt(count[MT_DEF_STRING], count[MT_DEF_STACK]);
    if (!MT_IS_SANITIZED)
        ck_assert_msg(before && added < 40 << 10, "%llu KiB", (unsigned long long)added);
    remove_trace();
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("writer");
    tcase_add_test(tests, a_reader_sees_all_at_any_moment);
    tcase_add_test(tests, full_tables_are_reported_and_memory_is_bounded);
    return RUN_TESTS(tests);
}
