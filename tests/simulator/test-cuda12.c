/* SPDX-License-Identifier: Apache-2.0 */
/* The runtime of CUDA 12, next to that of CUDA 13, to which this program is linked. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "sim-test.h"

/* What CUDA 12 has in another place than the headers say; the size of its cudaDeviceProp. */
enum { CLOCK_RATE = 348, MULTIPROCESSORS = 388, CLUSTER_LAUNCH = 772, PROPERTIES_SIZE = 1032 };

static void *runtime;

static void *symbol(const char *name)
{
    char path[4096];
    void *found;

    if (!runtime) {
        snprintf(path, sizeof(path), "%s/libcudart.so.12", getenv("SIM_LIBDIR"));
        runtime = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
        ck_assert_msg(runtime, "%s", dlerror());
    }
    found = dlvsym(runtime, name, "libcudart.so.12");
    ck_assert_msg(found, "there is no %s", name);
    return found;
}

START_TEST(both_runtimes_share_one_device)
{
    int (*version)(int *) = (int (*)(int *))symbol("cudaRuntimeGetVersion");
    int (*allocate)(void **, size_t) = (int (*)(void **, size_t))symbol("cudaMalloc");
    int number;
    size_t before;
    void *memory;

    use_gpu("t4");
    before = available();
    ck_cuda(version(&number));
    ck_assert_int_eq(number, 12080);
    ck_cuda(cudaRuntimeGetVersion(&number));
    ck_assert_int_eq(number / 1000, 13);
    ck_cuda(allocate(&memory, MIB(10)));
    ck_assert_uint_eq(before - available(), MIB(10));
    ck_cuda(cudaFree(memory));
    ck_assert_uint_eq(available(), before);
}
END_TEST

START_TEST(properties_have_the_old_layout)
{
    int (*get)(void *, int) = (int (*)(void *, int))symbol("cudaGetDeviceProperties_v2");
    char old[PROPERTIES_SIZE + 8];
    struct cudaDeviceProp properties;
    int value;

    use_gpu("h100");
    memset(old, 0x5a, sizeof(old));
    ck_cuda(get(old, 0));
    ck_cuda(cudaGetDeviceProperties(&properties, 0));
    ck_assert_str_eq(old, properties.name);
    memcpy(&value, old + MULTIPROCESSORS, sizeof(value));
    ck_assert_int_eq(value, properties.multiProcessorCount);
    memcpy(&value, old + CLOCK_RATE, sizeof(value));
    ck_assert_int_eq(value, 1980000);
    memcpy(&value, old + CLUSTER_LAUNCH, sizeof(value));
    ck_assert_int_eq(value, properties.clusterLaunch);
    for (size_t i = PROPERTIES_SIZE; i < sizeof(old); i++)
        ck_assert_int_eq(old[i], 0x5a);
}
END_TEST

/* They are larger in CUDA 13: what follows the program's structure is left alone. */
START_TEST(smaller_structures_are_not_overrun)
{
    enum { ATTRIBUTES = 24, RESOURCE = 64, VIEW = 48, AFTER = 128 };
    int (*attributes_of)(void *, const void *) =
        (int (*)(void *, const void *))symbol("cudaPointerGetAttributes");
    int (*create)(unsigned long long *, const void *, const void *, const void *) =
        (int (*)(unsigned long long *, const void *, const void *, const void *))symbol(
            "cudaCreateTextureObject");
    int (*resource_of)(void *, unsigned long long) =
        (int (*)(void *, unsigned long long))symbol("cudaGetTextureObjectResourceDesc");
    int (*view_of)(void *, unsigned long long) =
        (int (*)(void *, unsigned long long))symbol("cudaGetTextureObjectResourceViewDesc");
    char resource[RESOURCE + AFTER] = {1}, view[VIEW + AFTER] = {2}, attributes[ATTRIBUTES + AFTER];
    char same[AFTER];
    struct cudaTextureDesc texture = {0};
    unsigned long long object;
    void *memory;

    use_gpu("h100");
    memset(same, 0x5a, sizeof(same));
    ck_cuda(cudaMalloc(&memory, 512));
    memset(attributes, 0x5a, sizeof(attributes));
    ck_cuda(attributes_of(attributes, memory));
    ck_assert_int_eq(*(int *)attributes, cudaMemoryTypeDevice);
    ck_assert_mem_eq(attributes + ATTRIBUTES, same, AFTER);
    ck_cuda(create(&object, resource, &texture, view));
    memset(resource, 0x5a, sizeof(resource));
    ck_cuda(resource_of(resource, object));
    ck_assert_int_eq(resource[0], 1);
    ck_assert_mem_eq(resource + RESOURCE, same, AFTER);
    memset(view, 0x5a, sizeof(view));
    ck_cuda(view_of(view, object));
    ck_assert_int_eq(view[0], 2);
    ck_assert_mem_eq(view + VIEW, same, AFTER);
    ck_cuda(cudaFree(memory));
}
END_TEST

START_TEST(capture_information_has_three_forms)
{
    int (*plain)(void *, int *, void *) =
        (int (*)(void *, int *, void *))symbol("cudaStreamGetCaptureInfo");
    int (*second)(void *, int *, void *, void *, void *, size_t *) = (int (*)(
        void *, int *, void *, void *, void *, size_t *))symbol("cudaStreamGetCaptureInfo_v2");
    unsigned long long id = 1;
    int status = 7;
    size_t count = 7;

    use_gpu("t4");
    ck_cuda(plain(NULL, &status, &id));
    ck_assert_int_eq(status, cudaStreamCaptureStatusNone);
    ck_cuda(second(NULL, &status, &id, NULL, NULL, &count));
    ck_assert_uint_eq(count, 0);
    symbol("cudaStreamGetCaptureInfo_v3");
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("cuda12");

    tcase_add_test(tests, both_runtimes_share_one_device);
    tcase_add_test(tests, properties_have_the_old_layout);
    tcase_add_test(tests, smaller_structures_are_not_overrun);
    tcase_add_test(tests, capture_information_has_three_forms);
    return RUN_TESTS(tests);
}
