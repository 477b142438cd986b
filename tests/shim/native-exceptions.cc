// SPDX-License-Identifier: Apache-2.0
// C++ exceptions pass through frames in which memory is allocated; what allocates prints lines as
// native-frames.c does.
#include <cstdint>
#include <cstdio>
#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <stdexcept>
#include <string>
#include <vector>

extern "C" unsigned cudaMalloc(void **address, size_t size);

static size_t next_size = 1;

__attribute__((noinline)) static void allocate()
{
    void *address, *frame[400];
    int n = backtrace(frame, 400);
    cudaMalloc(&address, next_size);
    std::printf("%zu", next_size++);
    for (int i = 0; i < n; i++) {
        Dl_info info;
        link_map *map;
        if (dladdr1(frame[i], &info, reinterpret_cast<void **>(&map), RTLD_DL_LINKMAP))
            std::printf(
                " %s+%lx", *map->l_name ? map->l_name : "main",
                static_cast<unsigned long>(reinterpret_cast<uintptr_t>(frame[i]) - map->l_addr));
    }
    std::putchar('\n');
}

struct Tensor {
    Tensor()
    {
        allocate();
    }
    ~Tensor()
    {
        allocate();
    } // also while an exception passes
};

template <typename T> __attribute__((noinline)) static size_t descend(T depth)
{
    Tensor tensor;
    std::vector<std::string> names(depth + 1, "a string that is long enough for the heap");
    if (depth == 0)
        throw std::runtime_error(names[0]);
    return descend<T>(depth - 1) + names.size();
}

int main()
{
    for (int i = 0; i < 2; i++) {
        try {
            std::printf("# %zu\n", descend<int>(5));
        } catch (const std::exception &error) {
            allocate();
        }
    }
    allocate();
    return 0;
}
