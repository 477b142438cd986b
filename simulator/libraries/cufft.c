/* SPDX-License-Identifier: Apache-2.0 */
/* cuFFT: plans and their work areas (estimated: as large as the signals in complex numbers). */
#include "core/device/device.h"
#include "core/memory/memory.h"

enum { SUCCESS = 0, INVALID_VALUE = 4 };

int cufftCreate(int *plan)
{
    static _Atomic int last;
    *plan = ++last;
    return SUCCESS;
}

/* Return the bytes of a complex number of this precision. */
static size_t complex_size(int type)
{
    enum { REAL_64 = 1, REAL_16 = 2, COMPLEX_64 = 5, COMPLEX_16 = 6 };
    return type == REAL_64 || type == COMPLEX_64   ? 16
           : type == REAL_16 || type == COMPLEX_16 ? 4
                                                   : 8;
}

int cufftXtMakePlanMany(int plan, int rank, const long long *lengths, const long long *in_lengths,
                        long long in_stride, long long in_distance, int in_type,
                        const long long *out_lengths, long long out_stride, long long out_distance,
                        int out_type, long long batch, size_t *size, int type)
{
    size_t numbers = (size_t)batch;
    (void)plan, (void)in_lengths, (void)in_stride, (void)in_distance, (void)in_type;
    (void)out_lengths, (void)out_stride, (void)out_distance, (void)out_type;
    if (rank < 1 || rank > 3 || !lengths || batch < 1)
        return INVALID_VALUE;
    for (int i = 0; i < rank; i++) {
        if (lengths[i] < 1)
            return INVALID_VALUE;
        numbers *= (size_t)lengths[i];
    }
    if (size)
        *size = numbers * complex_size(type);
    return SUCCESS;
}
