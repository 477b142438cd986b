/* SPDX-License-Identifier: Apache-2.0 */
#include "dtypes.h"

#include <stddef.h>

static const struct {
    const char *name;
    unsigned bits;
} dtypes[MT_DTYPE_LIMIT] = {
#define ROW(number, text, size) [number] = {text, size},
    MT_DTYPES(ROW)};

const char *mt_dtype_name(unsigned long long dtype)
{
    return dtype < MT_DTYPE_LIMIT && dtypes[dtype].name ? dtypes[dtype].name : "?";
}

unsigned mt_dtype_bits(unsigned long long dtype)
{
    return dtype < MT_DTYPE_LIMIT ? dtypes[dtype].bits : 0;
}
