/* SPDX-License-Identifier: Apache-2.0 */
/* Write the names of a trace's native frames into it, to read it on another machine. */
#ifndef MT_SYMBOLIZE_H
#define MT_SYMBOLIZE_H

#include "trace-format/reader.h"

#include <stdio.h>

struct mt_symbolized {
    uint32_t frames; /* native ones in the trace */
    uint32_t before; /* already named by the trace */
    uint32_t named;  /* newly named */
};

/*
 * Copies the trace at path to out, with names from this machine. Returns 0, or a negative
 * errno: -EINVAL with *error filled if the trace is invalid, else a read or write error.
 */
int mt_symbolize(const char *path, FILE *out, struct mt_symbolized *result,
                 struct mt_trace_error *error);

#endif
