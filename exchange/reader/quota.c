/* SPDX-License-Identifier: Apache-2.0 */
#include "quota.h"
#include "analyzer/support/room.h"
#include "analyzer/support/text.h"
#include "memtap-reader.h"
#include "trace-format/reader.h"

#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static atomic_uint_fast64_t chosen[MT_LIMITS_N]; /* by memtap_reader_limits */
static _Thread_local struct mt_quota *current;

__attribute__((visibility("default"))) void memtap_reader_limits(uint64_t memory, uint64_t output,
                                                                 uint64_t events)
{
    chosen[MT_LIMIT_MEMORY] = memory;
    chosen[MT_LIMIT_OUTPUT] = output;
    chosen[MT_LIMIT_EVENTS] = events;
}

static uint64_t memory_of(const struct mt_quota *quota)
{
    return quota->memory ? quota->memory : mt_memory_for(quota->input);
}

static uint64_t output_of(const struct mt_quota *quota)
{
    return quota->output ? quota->output : mt_output_for(quota->input);
}

int mt_quota_begin(struct mt_quota *quota, char *error, size_t size)
{
    struct mt_limits limits;
    for (unsigned i = 0; i < MT_LIMITS_N; i++)
        limits.most[i] = chosen[i];
    if (mt_limits_of_environment(&limits, error, size))
        return -EINVAL;
    *quota = (struct mt_quota){.memory = limits.most[MT_LIMIT_MEMORY],
                               .output = limits.most[MT_LIMIT_OUTPUT]};
    mt_reader_limit_records(limits.most[MT_LIMIT_EVENTS]);
    mt_reader_set_limit_hint("MEMTAP_MOST_EVENTS=NUMBER");
    return 0;
}

void mt_quota_use(struct mt_quota *quota)
{
    current = quota;
}

bool mt_quota_count(struct mt_quota *quota, uint64_t bytes)
{
    quota->given += bytes;
    return quota->given > output_of(quota);
}

void mt_quota_describe(const struct mt_quota *quota, char *text, size_t size)
{
    char much[MT_SIZE_TEXT];
    bool is_output = quota->given > output_of(quota);
    snprintf(text, size, "memtap stopped reading: %s more than %s; %s=SIZE allows more",
             is_output ? "it expands to" : "it needs",
             mt_size_text(much, is_output ? output_of(quota) : memory_of(quota)),
             mt_limit_variables[is_output ? MT_LIMIT_OUTPUT : MT_LIMIT_MEMORY]);
}

__attribute__((visibility("default"))) uint64_t memtap_reader_most_output(const char *path)
{
    struct mt_quota quota;
    char error[300];
    if (mt_quota_begin(&quota, error, sizeof error))
        return 0;
    mt_quota_use(&quota);
    mt_room_input(path);
    mt_quota_use(NULL);
    return output_of(&quota);
}

/* --- analyzer/support/room.h: weak, as in quiet.c --- */

#define STANDS_IN __attribute__((weak))

STANDS_IN void *mt_room_of_thread(void)
{
    return current;
}

STANDS_IN void mt_room_use(void *room)
{
    current = room;
}

STANDS_IN const char *mt_room_raised_by(void)
{
    return "MEMTAP_MOST_MEMORY=SIZE";
}

/* Count the input: a trace may be opened more than once in turn. */
STANDS_IN void mt_room_input(const char *path)
{
    struct mt_quota *quota = current;
    struct stat status;
    if (!quota || stat(path, &status) ||
        (quota->device == status.st_dev && quota->file == status.st_ino))
        return;
    quota->device = status.st_dev;
    quota->file = status.st_ino;
    quota->input += (uint64_t)status.st_size;
}

STANDS_IN uint64_t mt_room(void)
{
    return current ? memory_of(current) / 2 : 0;
}

STANDS_IN bool mt_room_is_full(void)
{
    return current && current->held > (int64_t)mt_room();
}

/* --- allocations --- */

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *bytes, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void __real_free(void *bytes);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *bytes, size_t size);
void *__wrap_reallocarray(void *bytes, size_t n, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
char *__wrap_strndup(const char *text, size_t most);
char *__wrap_strdup(const char *text);
void __wrap_free(void *bytes);

/* Return whether so many bytes more are allowed. */
static bool allows(uint64_t more)
{
    struct mt_quota *quota = current;
    if (!quota ||
        (more <= memory_of(quota) && quota->held + (int64_t)more <= (int64_t)memory_of(quota)))
        return true;
    quota->is_used_up = true;
    errno = ENOMEM;
    return false;
}

static void *count(void *bytes)
{
    if (current && bytes)
        current->held += (int64_t)malloc_usable_size(bytes);
    return bytes;
}

void *__wrap_malloc(size_t size)
{
    return allows(size) ? count(__real_malloc(size)) : NULL;
}

void *__wrap_calloc(size_t n, size_t size)
{
    return allows(size && n > SIZE_MAX / size ? SIZE_MAX : n * size) ? count(__real_calloc(n, size))
                                                                     : NULL;
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    return allows(size) ? count(__real_aligned_alloc(alignment, size)) : NULL;
}

void *__wrap_realloc(void *bytes, size_t size)
{
    size_t before = malloc_usable_size(bytes);
    if (!allows(size > before ? size - before : 0))
        return NULL;
    void *other = __real_realloc(bytes, size);
    if (current && (other || !size)) {
        current->held -= (int64_t)before;
        count(other);
    }
    return other;
}

void *__wrap_reallocarray(void *bytes, size_t n, size_t size)
{
    return __wrap_realloc(bytes, size && n > SIZE_MAX / size ? SIZE_MAX : n * size);
}

void __wrap_free(void *bytes)
{
    if (current && bytes)
        current->held -= (int64_t)malloc_usable_size(bytes);
    __real_free(bytes);
}

char *__wrap_strndup(const char *text, size_t most)
{
    size_t size = strnlen(text, most);
    char *copy = __wrap_malloc(size + 1);
    if (!copy)
        return NULL;
    memcpy(copy, text, size);
    copy[size] = '\0';
    return copy;
}

char *__wrap_strdup(const char *text)
{
    return __wrap_strndup(text, SIZE_MAX);
}

void mt_quota_hand_over(void *bytes)
{
    size_t size = malloc_usable_size(bytes);
    if (!current || !bytes)
        return;
    current->held -= (int64_t)size;
    current->given += size;
}
