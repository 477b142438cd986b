/* SPDX-License-Identifier: Apache-2.0 */
#include "job.h"
#include "analyzer/trace/rank-text.h"

#include <stdlib.h>
#include <string.h>

static const char *info(const struct mt_analysis *analysis, const char *key)
{
    const char *value = mt_info(analysis->replay.definitions, key);
    return value ? value : "";
}

static long parse_rank(const char *text)
{
    char *end;
    long rank = strtol(text, &end, 10);
    return *text >= '0' && *text <= '9' && !*end ? rank : -1;
}

long mt_rank(const struct mt_analysis *analysis)
{
    const char *text = mt_rank_text(analysis->replay.definitions);
    return text ? parse_rank(text) : -1;
}

static void look_for_rank(const struct mt_definition *definition, long *rank)
{
    char value[16] = "";
    const char *text;
    size_t size;
    if (!mt_tells_rank(definition, &text, &size))
        return;
    memcpy(value, text, size < sizeof value ? size : sizeof value - 1);
    *rank = parse_rank(value);
}

static const char *world_size(const struct mt_analysis *analysis)
{
    const char *text = mt_world_size_text(analysis->replay.definitions);
    return text ? text : "";
}

int mt_trace_rank(const char *path, long *rank, struct mt_trace_error *error)
{
    struct mt_reader *reader;
    struct mt_batch batch = {0};
    *rank = -1;
    int rc = mt_reader_open(&reader, path, error);
    if (rc)
        return rc;
    while (!batch.n_events && (rc = mt_reader_next(reader, &batch, error)) > 0)
        for (size_t i = 0; i < batch.n_definitions; i++)
            look_for_rank(&batch.definitions[i], rank);
    mt_reader_close(reader);
    return rc < 0 ? rc : 0;
}

int mt_same_job(const struct mt_analysis *a, const struct mt_analysis *b, const char **why)
{
    if (strcmp(world_size(a), world_size(b))) {
        *why = "they differ in WORLD_SIZE";
        return 0;
    }
    if (strcmp(info(a, "env.MASTER_ADDR"), info(b, "env.MASTER_ADDR"))) {
        *why = "they differ in MASTER_ADDR";
        return 0;
    }
    if (mt_rank(a) >= 0 && mt_rank(a) == mt_rank(b)) {
        *why = "both have the same rank";
        return 0;
    }
    /* Without ranks: processes with the same parent. */
    if (mt_rank(a) < 0 && (strcmp(info(a, "host"), info(b, "host")) ||
                           strcmp(info(a, "parent_pid"), info(b, "parent_pid")))) {
        *why = "neither has a rank, and their parent processes differ";
        return 0;
    }
    return 1;
}

const struct mt_analysis *mt_job_highest(const struct mt_analysis *analyses, size_t n)
{
    const struct mt_analysis *best = analyses;
    uint64_t most = 0;
    for (size_t i = 0; i < n; i++) {
        const struct mt_device *device = mt_analysis_main_device(&analyses[i]);
        if (device && device->at.allocated > most) {
            most = device->at.allocated;
            best = &analyses[i];
        }
    }
    return best;
}
