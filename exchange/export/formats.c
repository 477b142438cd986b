/* SPDX-License-Identifier: Apache-2.0 */
/* The table of formats. */
#include "export.h"

#include <string.h>

#define TABLE (MT_TAKES_MOMENT | MT_TAKES_TIMES | MT_TAKES_TABLE | MT_TAKES_SEVERAL)
#define MOMENT (MT_TAKES_MOMENT | MT_TAKES_SEVERAL)

const struct mt_export_format mt_export_formats[] = {
    {"arrow", true, TABLE, mt_export_arrow},
    {"arrow_stream", true, TABLE, mt_export_arrow_stream},
    {"csv", false, TABLE, mt_export_csv},
    {"folded", false, MOMENT, mt_export_folded},
    {"memory_viz", true, MT_TAKES_MOMENT | MT_TAKES_NEWEST, mt_export_memory_viz},
    {"parquet", true, MT_TAKES_SEVERAL, NULL},
    {"perfetto", true, MT_TAKES_SEVERAL | MT_TAKES_WITH, mt_export_perfetto},
    {"pprof", true, MOMENT, mt_export_pprof},
    {"speedscope", false, MOMENT, mt_export_speedscope},
    {0}};

const struct mt_export_format *mt_export_format_find(const char *name)
{
    const struct mt_export_format *format = mt_export_formats;
    while (format->name && strcmp(format->name, name))
        format++;
    return format->name ? format : NULL;
}
