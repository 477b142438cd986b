/* SPDX-License-Identifier: Apache-2.0 */
/* The memory that a container's limits leave, from files as the kernel writes them. */
#include "preload/holders/room.h"
#include "tests/support/run-tests.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static char root[] = "/tmp/memtap-room-XXXXXX";

static const char *at(const char *name)
{
    static char path[2][256];
    static unsigned i;
    snprintf(path[++i % 2], sizeof path[0], "%s/%s", root, name);
    return path[i % 2];
}

static void put(const char *name, const char *text)
{
    FILE *file = fopen(at(name), "w");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    fclose(file);
}

static void tear_down(void)
{
    static const char *const names[] = {"pod/own/memory.max",
                                        "pod/own/memory.current",
                                        "pod/own/memory.stat",
                                        "pod/own",
                                        "pod/memory.max",
                                        "pod/memory.current",
                                        "pod/memory.stat",
                                        "pod",
                                        "cgroup",
                                        ""};
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        remove(at(names[i]));
}

/* A cgroup of 1,000 bytes around one of 800, of which 700 are used, 300 by files. */
static void set_up(void)
{
    ck_assert_ptr_nonnull(mkdtemp(root));
    mkdir(at("pod"), 0700);
    mkdir(at("pod/own"), 0700);
    put("pod/memory.max", "1000\n");
    put("pod/memory.current", "900\n");
    put("pod/memory.stat", "anon 600\nfile 300\nworkingset_active_file 7\ninactive_file 200\n"
                           "active_file 100\n");
    put("pod/own/memory.max", "800\n");
    put("pod/own/memory.current", "700\n");
    put("pod/own/memory.stat", "anon 400\ninactive_file 200\nactive_file 100\n");
    put("cgroup", "5:memory:/elsewhere\n0::/pod/own\n");
}

static uint64_t room(const char *mount)
{
    char cgroups[256];
    snprintf(cgroups, sizeof cgroups, "%s", at("cgroup"));
    return mt_memory_room(cgroups, at(mount));
}

START_TEST(own_and_outer_limits)
{
    ck_assert_uint_eq(room(""), 400);
    put("pod/memory.current", "990\n");
    ck_assert_uint_eq(room(""), 310);
    put("pod/memory.current", "1400\n");
    ck_assert_uint_eq(room(""), 0);
    put("pod/memory.max", "max\n");
    put("pod/own/memory.max", "max\n");
    ck_assert(room("") == UINT64_MAX);
}
END_TEST

START_TEST(a_container_sees_its_own_cgroup_as_the_root)
{
    put("cgroup", "0::/\n");
    ck_assert_uint_eq(room("pod/own"), 400);
    put("cgroup", "0::/kubepods/not/mounted/here\n");
    ck_assert_uint_eq(room("pod/own"), 400);
}
END_TEST

START_TEST(no_cgroups_of_version_2)
{
    ck_assert(mt_memory_room(at("none"), at("neither")) == UINT64_MAX);
    put("cgroup", "5:memory:/pod/own\n");
    ck_assert(room("neither") == UINT64_MAX);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("memory room");
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, own_and_outer_limits);
    tcase_add_test(tcase, a_container_sees_its_own_cgroup_as_the_root);
    tcase_add_test(tcase, no_cgroups_of_version_2);
    return RUN_TESTS(tcase);
}
