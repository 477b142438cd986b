// SPDX-License-Identifier: Apache-2.0
// Stands for PyTorch, CUDA and its libraries: each function that memtap hooks throws, while that is wanted, and does nothing
// else; cudaMalloc and cuMemAlloc then give addresses.
#include "all-hooks.h"

#include <stdexcept>

extern "C" bool throws_now;
bool throws_now = true;

template <typename T> static T act()
{
    if (throws_now)
        throw std::runtime_error("as is wanted");
    return T();
}

#define DEFINE(name, symbol, library, result, parameters)                                          \
    result throwing_##name parameters __asm__(symbol);                                             \
    result throwing_##name parameters                                                              \
    {                                                                                              \
        return act<result>();                                                                      \
    }
#define DEFINE_OF_DRIVER(name, base, symbol, since, until, parameters)                             \
    DEFINE(name, symbol, "", unsigned, parameters)
ALL_HOOKS(DEFINE)
MT_DRIVER_HOOKS(DEFINE_OF_DRIVER)
