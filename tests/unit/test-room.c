/* SPDX-License-Identifier: Apache-2.0 */
/* The limits of memory and work grow with the files that are read. */
#include "analyzer/support/room.h"
#include "tests/support/run-tests.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#define MIB (UINT64_C(1) << 20)

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* A file in memory of so many bytes, without content; its path. */
static void make_file(char path[32], int *fd, uint64_t size)
{
    *fd = memfd_create("trace", MFD_CLOEXEC);
    ck_assert(*fd >= 0 && !ftruncate(*fd, (off_t)size));
    snprintf(path, 32, "/proc/self/fd/%d", *fd);
}

START_TEST(memory_grows_with_the_files)
{
    char path[32], other[32];
    int fd, second;
    uint64_t machine = mt_room_of_machine();
    mt_room_begin(&(struct mt_limits){0});
    ck_assert_uint_eq(mt_room_of_output(), mt_output_for(0));
    ck_assert_uint_eq(mt_room(), least(machine, mt_memory_for(0)) / 2);
    make_file(path, &fd, 6 * MIB);
    for (unsigned i = 0; i < 5; i++) /* as a command that reads it several times */
        mt_room_input(path);
    ck_assert_uint_eq(mt_room(), least(machine, mt_memory_for(6 * MIB)) / 2);
    make_file(other, &second, MIB);
    mt_room_input(other);
    ck_assert_uint_eq(mt_room(), least(machine, mt_memory_for(7 * MIB)) / 2);
    ck_assert(!ftruncate(fd, 8 * (off_t)MIB));
    mt_room_input(path);
    ck_assert_uint_eq(mt_room(), least(machine, mt_memory_for(9 * MIB)) / 2);
    ck_assert_uint_eq(mt_room_of_output(), mt_output_for(9 * MIB));
    ck_assert(!mt_room_is_full());
    for (uint64_t size = 0; size <= 64 * MIB;
         size += MIB / 8) /* what a file may take: per MiB, and begun */
        ck_assert_uint_le(mt_memory_for(size),
                          MT_LIMIT_TIMES * 256 * MIB * ((size ? size - 1 : 0) / MIB + 1));
    close(fd);
    close(second);
}
END_TEST

START_TEST(work_has_an_end)
{
    ck_assert(!mt_work_is_too_much(UINT64_C(1) << 40)); /* nobody has set limits */
    ck_assert_uint_eq(mt_room_of_output(), UINT64_MAX);
    mt_room_begin(&(struct mt_limits){.most = {512 * MIB, 10, 1000}});
    ck_assert_uint_eq(mt_room_of_output(), 10);
    ck_assert_uint_eq(mt_room(), 256 * MIB);
    ck_assert(!mt_work_is_too_much(64 * 1000));
    ck_assert(mt_work_is_too_much(1));
}
END_TEST

int main(void)
{
    TCase *test = tcase_create("room");
    tcase_add_test(test, memory_grows_with_the_files);
    tcase_add_test(test, work_has_an_end);
    return RUN_TESTS(test);
}
