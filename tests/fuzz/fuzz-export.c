/* SPDX-License-Identifier: Apache-2.0 */
/* A trace through every format of memtap export, into a file of memory. */
#include "exchange/export/export.h"
#include "made-trace.h"
#include "target.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static struct mt_export make_query(const struct mt_made_trace *trace, char **paths)
{
    const uint8_t *choices = trace->choices;
    unsigned value = choices[2] | (unsigned)choices[3] << 8;
    return (struct mt_export){
        .paths = paths,
        .n_paths = 1,
        .question = {.moment = {(enum mt_moment_kind)(choices[1] % (MT_AT_HOLDERS + 1)),
                                mt_made_number(value)},
                     .one_device = choices[4] > 250,
                     .no_labels = choices[4] >> 5 & 1},
        .has_moment = choices[4] & 1,
        .has_times = choices[4] & 2,
        .from_ns = mt_made_number(value),
        .to_ns = choices[4] & 4 ? mt_made_number(value ^ 0xff) : UINT64_MAX,
        .newest = choices[4] & 8 ? choices[2] : 0,
        .table = (enum mt_table_id)(choices[4] >> 6) % MT_TABLES_N,
    };
}

static size_t count_formats(void)
{
    size_t n = 0;
    while (mt_export_formats[n].name)
        n++;
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static struct mt_made_trace trace;
    static struct mt_sink *sink;
    static int file = -1;
    char path[] = "0", *paths[] = {path};
    struct mt_export_error error = {0};
    if (file < 0)
        file = memfd_create("exported", MFD_CLOEXEC);
    if (!sink)
        sink = calloc(1, sizeof *sink);
    if (file < 0 || !sink || ftruncate(file, 0) || lseek(file, 0, SEEK_SET))
        abort();
    if (mt_made_trace_read(&trace, bytes, size))
        return 0;
    mt_made_traces[0] = &trace;
    const struct mt_export_format *format = &mt_export_formats[trace.choices[0] % count_formats()];
    struct mt_export export = make_query(&trace, paths);
    if (!format->write)
        return 0;
    if (!(format->accepts & MT_ACCEPTS_MOMENT))
        export.has_moment = false;
    if (!(format->accepts & MT_ACCEPTS_TIMES))
        export.has_times = false;
    *sink = (struct mt_sink){.fd = file};
    int rc = format->write(&export, sink, &error);
    if (!rc)
        rc = mt_sink_flush(sink);
    if (rc && !*error.text && !*error.fault.text)
        abort(); /* a failure must be explained */
    return 0;
}
