/* SPDX-License-Identifier: Apache-2.0 */
/* The catalogue and the environment that a launcher prepares. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../support/run-tests.h"
#include "launch.h"

START_TEST(cards_are_found)
{
    const struct sim_gpu *gpu;

    for (size_t i = 0; (gpu = sim_gpu_at(i)); i++) {
        ck_assert_ptr_eq(sim_gpu_find(gpu->name), gpu);
        ck_assert_uint_gt(gpu->memory, gpu->context);
        ck_assert_uint_ge(gpu->board, gpu->memory);
        ck_assert_msg(!strncmp(gpu->source, "https://", 8) ||
                          !strncmp(gpu->source, "measured, driver ", 17) ||
                          (!strncmp(gpu->source, "estimate: ", 10) && strstr(gpu->source, "MiB")),
                      "%s has no source", gpu->name);
    }
    ck_assert_ptr_eq(sim_gpu_find("h100-80g"), sim_gpu_find("H100"));
    ck_assert_ptr_null(sim_gpu_find("h1000"));
    ck_assert_ptr_null(sim_gpu_find(""));
    ck_assert_ptr_nonnull(sim_gpu_default());
    ck_assert_str_eq(sim_gpu_alias_at(0, &gpu), "h100-80g");
    ck_assert_ptr_eq(gpu, sim_gpu_find("h100"));
}
END_TEST

static const struct sim_gpu *read_card(const char *text, char *why, size_t size)
{
    char path[] = "/tmp/memtap-card-XXXXXX";
    int fd = mkstemp(path);
    const struct sim_gpu *gpu;

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    gpu = sim_gpu_read(path, why, size);
    unlink(path);
    return gpu;
}

START_TEST(a_file_has_a_card)
{
    static const struct {
        const char *text, *why;
    } wrong[] = {
        {"memory = 5\n", ": line 1: the first line must name the card that this one is like"},
        {"like = h1000\n", ": line 1: like: unknown card"},
        {"like = h100\nmemory = much\n", ": line 2: not a size, such as 24G or 81079 MiB"},
        {"like = h100\nmemory = 24GX\n", ": line 2: not a size"},
        {"like = h100\nsms = 24G\n", ": line 2: not a number"},
        {"like = h100\ncolour = red\n", ": line 2: unknown name"},
        {"like = h100\nmemory 5\n", ": line 2: not a line of the form"},
        {"like = h100\nmemory = 100\n", ": line 2: memory is too small"},
        {"like = h100\nlike = h200\n", ": line 2: like: must be the first line"},
        {"", ": the base card is missing"},
    };
    char why[512] = "";
    const struct sim_gpu *h100 = sim_gpu_find("h100"), *gpu;

    gpu = read_card("# ours\n\nlike = H100\nproduct = NVIDIA H100 NVL\nmemory = 95830 MiB\n"
                    "context=0.5G\n",
                    why, sizeof(why));
    ck_assert_msg(gpu, "%s", why);
    ck_assert_str_eq(gpu->product, "NVIDIA H100 NVL");
    ck_assert_uint_eq(gpu->memory, UINT64_C(95830) << 20);
    ck_assert_uint_eq(gpu->context, UINT64_C(512) << 20);
    ck_assert_uint_eq(gpu->board, gpu->memory);
    ck_assert_int_eq(gpu->sms, h100->sms);
    ck_assert_str_eq(h100->product, "NVIDIA H100 80GB HBM3");
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        ck_assert_ptr_null(read_card(wrong[i].text, why, sizeof(why)));
        ck_assert_msg(strstr(why, wrong[i].why) != NULL, "%s", why);
    }
    ck_assert_ptr_null(sim_gpu_read("/nowhere/card.gpu", why, sizeof(why)));
    ck_assert_str_eq(why, "/nowhere/card.gpu: No such file or directory");
}
END_TEST

static struct sim_launch a_launch(void)
{
    return (struct sim_launch){.libdir = getenv("SIM_LIBDIR"), .gpu = sim_gpu_find("h200")};
}

START_TEST(profilers_stay_in_front)
{
    struct sim_launch launch = a_launch();
    const char *list;
    char why[200];

    setenv("LD_PRELOAD", "/opt/profiler.so", 1);
    ck_assert_int_eq(sim_launch_prepare(&launch, why, sizeof(why)), 0);
    list = getenv("LD_PRELOAD");
    ck_assert_msg(!strncmp(list, "/opt/profiler.so:", 17), "%s", list);
    for (size_t i = 0; sim_launch_library(i); i++)
        ck_assert_ptr_nonnull(strstr(list, sim_launch_library(i)));
    ck_assert_str_eq(getenv("CUDASIM_GPU"), "h200");
    ck_assert_str_eq(getenv("CUDASIM_GPUS"), "1");
    ck_assert_ptr_null(getenv("CUDASIM_MEMORY"));
}
END_TEST

START_TEST(memory_is_the_user_s_or_the_card_s)
{
    struct sim_launch launch = a_launch();

    unsetenv("CUDASIM_GPU");
    setenv("CUDASIM_MEMORY", "4294967296", 1);
    ck_assert_int_eq(sim_launch_prepare(&launch, NULL, 0), 0);
    ck_assert_str_eq(getenv("CUDASIM_MEMORY"), "4294967296");
    launch.gpu = sim_gpu_find("t4"); /* within the first */
    ck_assert_int_eq(sim_launch_prepare(&launch, NULL, 0), 0);
    ck_assert_ptr_null(getenv("CUDASIM_MEMORY"));
}
END_TEST

START_TEST(a_second_time_changes_the_card_only)
{
    struct sim_launch launch = a_launch();
    char *list, *path;

    unsetenv("LD_PRELOAD");
    setenv("LD_LIBRARY_PATH", "/opt/lib", 1);
    ck_assert_int_eq(sim_launch_prepare(&launch, NULL, 0), 0);
    list = strdup(getenv("LD_PRELOAD"));
    path = strdup(getenv("LD_LIBRARY_PATH"));
    launch.gpu = sim_gpu_find("t4");
    launch.memory = UINT64_C(8) << 30;
    launch.gpus = 4;
    ck_assert_int_eq(sim_launch_prepare(&launch, NULL, 0), 0);
    ck_assert_str_eq(getenv("LD_PRELOAD"), list);
    ck_assert_str_eq(getenv("LD_LIBRARY_PATH"), path);
    ck_assert_str_eq(getenv("CUDASIM_GPU"), "t4");
    ck_assert_str_eq(getenv("CUDASIM_MEMORY"), "8589934592");
    ck_assert_str_eq(getenv("CUDASIM_GPUS"), "4");
    free(list);
    free(path);
}
END_TEST

START_TEST(what_cannot_be_is_said)
{
    struct sim_launch launch = a_launch();
    char why[200];

    unsetenv("LD_PRELOAD");
    launch.memory = UINT64_C(100) << 20;
    ck_assert_int_eq(sim_launch_prepare(&launch, why, sizeof(why)), -EINVAL);
    ck_assert_ptr_nonnull(strstr(why, "context"));
    launch = a_launch();
    launch.gpus = SIM_MAX_GPUS + 1;
    ck_assert_int_eq(sim_launch_prepare(&launch, why, sizeof(why)), -EINVAL);
    launch = a_launch();
    launch.libdir = "/nowhere";
    ck_assert_int_eq(sim_launch_prepare(&launch, why, sizeof(why)), -ENOENT);
    ck_assert_ptr_nonnull(strstr(why, "/nowhere"));
    launch.libdir = "/";
    ck_assert_int_eq(sim_launch_prepare(&launch, why, sizeof(why)), -ENOENT);
    ck_assert_ptr_null(getenv("LD_PRELOAD"));
}
END_TEST

START_TEST(a_path_with_a_space_is_refused)
{
    char folder[] = "/tmp/sim test XXXXXX";
    struct sim_launch launch = {.libdir = folder};
    char why[200];

    ck_assert_ptr_nonnull(mkdtemp(folder));
    ck_assert_int_eq(sim_launch_prepare(&launch, why, sizeof(why)), -ENOTSUP);
    ck_assert_ptr_nonnull(strstr(why, "space"));
    rmdir(folder);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("launch");

    tcase_add_test(tests, cards_are_found);
    tcase_add_test(tests, a_file_has_a_card);
    tcase_add_test(tests, profilers_stay_in_front);
    tcase_add_test(tests, memory_is_the_user_s_or_the_card_s);
    tcase_add_test(tests, a_second_time_changes_the_card_only);
    tcase_add_test(tests, what_cannot_be_is_said);
    tcase_add_test(tests, a_path_with_a_space_is_refused);
    return RUN_TESTS(tests);
}
