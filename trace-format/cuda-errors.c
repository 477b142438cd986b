/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda-errors.h"

#include <stddef.h>
#include <string.h>

static const struct row {
    unsigned number;
    const char *runtime, *driver, *why;
} rows[] = {
#define ROW(number, runtime, driver, why) {number, runtime, driver, why},
    MT_CUDA_NO_DEVICE_ERRORS(ROW)};

static const struct row *find(unsigned result)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].number == result)
            return &rows[i];
    return NULL;
}

const char *mt_cuda_no_device_name(unsigned result, const char *function)
{
    const struct row *row = find(result);
    int is_runtime = !strncmp(function, "cuda", 4);
    return !row ? NULL : is_runtime ? row->runtime : row->driver;
}

const char *mt_cuda_no_device_why(unsigned result)
{
    const struct row *row = find(result);
    return row ? row->why : NULL;
}
