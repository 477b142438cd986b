/* SPDX-License-Identifier: Apache-2.0 */
#include "job.h"
#include "imbalance.h"
#include "json.h"
#include "place.h"
#include "report.h"

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
        *why = "both are of the same rank";
        return 0;
    }
    /* Without ranks: processes that one process has started. */
    if (mt_rank(a) < 0 && (strcmp(info(a, "host"), info(b, "host")) ||
                           strcmp(info(a, "parent_pid"), info(b, "parent_pid")))) {
        *why = "they have no rank, and different parents";
        return 0;
    }
    return 1;
}

static const struct mt_analysis *highest(const struct mt_analysis *analyses, size_t n)
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

static enum mt_category largest(const struct mt_device *device)
{
    unsigned best = 0;
    for (unsigned i = 1; i < MT_CATEGORY_COUNT; i++)
        if (device->category[i].bytes > device->category[best].bytes)
            best = i;
    return (enum mt_category)best;
}

static void print_line(const struct mt_analysis *analysis, FILE *out, const struct mt_style *style)
{
    char size[MT_SIZE_TEXT], time[MT_SIZE_TEXT], of[MT_SIZE_TEXT], host[64];
    const struct mt_device *device = mt_analysis_main_device(analysis);
    mt_safe_text(host, sizeof host, info(analysis, "host"), 12, MT_CUT_END, style);
    if (mt_rank(analysis) >= 0)
        fprintf(out, "%6ld  %-12s", mt_rank(analysis), host);
    else
        fprintf(out, "%6s  %-12s", "?", host);
    if (!device) {
        fputs("  no device memory was allocated\n", out);
        return;
    }
    enum mt_category most = largest(device);
    fprintf(out, " %6d %11s %11s  %-14s %s %s\n", device->device,
            mt_size_text(size, device->at.allocated), mt_time_text(time, device->at.time_ns),
            device->span ? mt_phase_names[device->span->phase].label : "",
            mt_size_text(of, device->category[most].bytes), mt_categories[most].label);
}

/* Against the rank in the middle: the mean would hide one that is far off. */
static void print_imbalance(const struct mt_analysis *analyses, size_t n, FILE *out)
{
    char above[MT_SIZE_TEXT], middle[MT_SIZE_TEXT], most[MT_SIZE_TEXT];
    struct mt_imbalance imbalance;
    if (mt_imbalance_find(&imbalance, analyses, n, highest(analyses, n)))
        return;
    if (!imbalance.above) {
        fputs("\nThe ranks' peaks are the same.\n", out);
        return;
    }
    fprintf(out, "\nThe highest peak is %s above the median rank's %s",
            mt_size_text(above, imbalance.above), mt_size_text(middle, imbalance.median));
    if (imbalance.category[imbalance.most] > 0)
        fprintf(out, ", by %s more of\n%s",
                mt_size_text(most, (uint64_t)imbalance.category[imbalance.most]),
                mt_categories[imbalance.most].label);
    fputs(".\n", out);
}

static json_t *imbalance_json(const struct mt_analysis *analyses, size_t n)
{
    struct mt_imbalance imbalance;
    if (mt_imbalance_find(&imbalance, analyses, n, highest(analyses, n)))
        return NULL;
    json_t *categories = json_object();
    for (unsigned i = 0; i < MT_CATEGORY_COUNT; i++)
        if (imbalance.category[i])
            json_object_set_new(categories, mt_categories[i].name,
                                json_integer(imbalance.category[i]));
    return json_pack("{s:o, s:o, s:o}", "median", mt_json_number(imbalance.median), "above",
                     mt_json_number(imbalance.above), "categories", categories);
}

void mt_job_text(const struct mt_analysis *analyses, size_t n, FILE *out,
                 const struct mt_style *style)
{
    fprintf(out, "%zu processes of one job\n\n%6s  %-12s %6s %11s %11s  %-14s %s\n", n, "rank",
            "host", "device", "peak", "at", "in", "most of it");
    for (size_t i = 0; i < n; i++)
        print_line(&analyses[i], out, style);
    print_imbalance(analyses, n, out);
    fputs("\nThe one with the highest peak:\n\n", out);
    mt_report_text(highest(analyses, n), out, style);
}

int mt_job_json(const struct mt_analysis *analyses, size_t n, FILE *out)
{
    json_t *ranks = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(
            ranks,
            json_pack("{s:o, s:o}", "rank",
                      mt_rank(&analyses[i]) < 0 ? json_null() : json_integer(mt_rank(&analyses[i])),
                      "report", mt_report_object(&analyses[i])));
    return mt_json_print(out,
                         json_pack("{s:s, s:i, s:o, s:o}", "schema", "memtap.job/1", "highest",
                                   (int)(highest(analyses, n) - analyses), "imbalance",
                                   imbalance_json(analyses, n), "ranks", ranks),
                         0);
}
