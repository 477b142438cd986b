/* SPDX-License-Identifier: Apache-2.0 */
/* Periodic pprof profiles of running programs, in a folder with a bounded number of files. */
#ifndef MT_PROFILES_H
#define MT_PROFILES_H

#include "analyzer/replay/replay.h"
#include "tools/memtap/input/traces.h"

#include <stdint.h>

struct mt_profiles {
    const char *folder;
    double every_s;
    uint64_t keep; /* files; older ones of ours are removed */
    const struct mt_trace_list *traces;
    const struct mt_question *question;
};

/* Write profiles until all traces have ended, and a last one then. Return an exit code, after a
 * message if not 0. */
int mt_profiles_write(const struct mt_profiles *profiles);

#endif
