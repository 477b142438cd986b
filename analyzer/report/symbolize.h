/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the names of a trace's native frames into it, so that it can be read elsewhere. */
#ifndef MT_SYMBOLIZE_H
#define MT_SYMBOLIZE_H

#include "trace-format/reader.h"

#include <stdio.h>

struct mt_symbolized {
    uint32_t frames; /* native ones in the trace */
    uint32_t before; /* of which the trace named so many already */
    uint32_t named;  /* and so many are named now */
};

/*
 * Copies the trace at path to out, with the names that are found on this machine. 0; or a negative
 * errno: -EINVAL with *error filled where the trace is not sound, else of reading and writing.
 */
int mt_symbolize(const char *path, FILE *out, struct mt_symbolized *result,
                 struct mt_trace_error *error);

#endif
