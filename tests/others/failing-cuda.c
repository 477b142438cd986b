/* SPDX-License-Identifier: Apache-2.0 */
/* Stands for CUDA's runtime or driver: its calls return the numbers of FAKE_RESULTS, one after the
 * other, and then the last one again. */
#include "cuda-calls.h"

#include <stddef.h>
#include <stdlib.h>

static unsigned next_result(void)
{
    static const char *at;
    char *end;
    if (!at)
        at = getenv("FAKE_RESULTS");
    unsigned result = at ? (unsigned)strtoul(at, &end, 10) : 0;
    if (at && *end)
        at = end + 1;
    return result;
}

#define DEFINE(name, parameters, arguments)                                                        \
    unsigned name parameters;                                                                      \
    unsigned name parameters                                                                       \
    {                                                                                              \
        return next_result();                                                                      \
    }
CALLS(DEFINE)
