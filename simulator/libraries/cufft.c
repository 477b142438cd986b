/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuFFT: plans and their work areas, as measured with cuFFT 12.0 on an H100: lengths of 7 to
 * 1,048,576, images up to 4096 by 4096, volumes up to 128 each way. Only one dimension needs a work
 * area, if it is long or has a large prime factor. What cuFFT uses besides (some MiB of kernels) is
 * not modelled.
 */
#include <stdbool.h>
#include <stdint.h>

#include "core/device/device.h"
#include "core/memory/memory.h"

enum { SUCCESS = 0, INVALID_VALUE = 4 };
enum { ONE_KERNEL = 16384, LARGE_PRIME = 127, PRIME_IN_ONE_KERNEL = 4096, PIECE = 1024 };

int cufftCreate(int *plan)
{
    static _Atomic int last;
    *plan = ++last;
    return SUCCESS;
}

/* Return the bytes of a complex number of this precision. */
static uint64_t complex_size(int type)
{
    enum { REAL_64 = 1, REAL_16 = 2, COMPLEX_64 = 5, COMPLEX_16 = 6 };
    return type == REAL_64 || type == COMPLEX_64   ? 16
           : type == REAL_16 || type == COMPLEX_16 ? 4
                                                   : 8;
}

static bool is_real(int type)
{
    enum { REALS = 3 }; /* of three precisions; then the complex ones */
    return type < REALS;
}

/* Return what remains after dividing by all factors up to `largest`. */
static uint64_t without_factors(uint64_t n, uint64_t largest)
{
    for (uint64_t factor = 2; factor <= largest && n > 1; factor++)
        while (n % factor == 0)
            n /= factor;
    return n;
}

/* Return the work area for a length with a large prime factor, by Bluestein's algorithm: two arrays
 * of the convolution's length. Real signals are processed in pairs, as complex ones. */
static uint64_t bluestein(uint64_t n, uint64_t batch, bool real, uint64_t size)
{
    uint64_t length = 2 * n - 1, signals = real ? (batch + 1) / 2 : batch, array;
    while (without_factors(length, 5) > 1)
        length++;
    array = signals * length * size;
    if (real)
        return 2 * (array / PIECE + 1) * PIECE + signals * n * size;
    return 2 * ((array + PIECE - 1) / PIECE) * PIECE;
}

static uint64_t work_area(uint64_t n, uint64_t batch, bool real, uint64_t size)
{
    if (without_factors(n, LARGE_PRIME) == 1)
        return n <= ONE_KERNEL ? 0 : batch * (real ? n / 2 + 1 : n) * size;
    if (n > PRIME_IN_ONE_KERNEL)
        return bluestein(n, batch, real, size);
    return real ? (batch + 1) / 2 * (n + (n + 3) / 4 * 4) * size : 0;
}

int cufftXtMakePlanMany(int plan, int rank, const long long *lengths, const long long *in_lengths,
                        long long in_stride, long long in_distance, int in_type,
                        const long long *out_lengths, long long out_stride, long long out_distance,
                        int out_type, long long batch, size_t *size, int type)
{
    (void)plan, (void)in_lengths, (void)in_stride, (void)in_distance;
    (void)out_lengths, (void)out_stride, (void)out_distance;
    if (rank < 1 || rank > 3 || !lengths || batch < 1)
        return INVALID_VALUE;
    for (int i = 0; i < rank; i++)
        if (lengths[i] < 1 || lengths[i] > UINT32_MAX)
            return INVALID_VALUE;
    if (size)
        *size = rank > 1 ? 0
                         : work_area((uint64_t)lengths[0], (uint64_t)batch,
                                     is_real(in_type) || is_real(out_type), complex_size(type));
    return SUCCESS;
}
