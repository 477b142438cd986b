/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "conf.h"

/* What is written so far, as snprintf counts. */
struct out {
    char *text;
    size_t size, length;
};

__attribute__((format(printf, 2, 3))) static void put(struct out *out, const char *format, ...)
{
    size_t left = out->length < out->size ? out->size - out->length : 0;
    va_list arguments;
    int length;

    va_start(arguments, format);
    length = vsnprintf(left ? out->text + out->length : NULL, left, format, arguments);
    va_end(arguments);
    out->length += length > 0 ? (size_t)length : 0;
}

static void put_name(struct out *out, const char *name)
{
    put(out, "%s%s:", out->length ? "," : "", name);
}

static void put_switch(struct out *out, const char *name, bool on)
{
    if (!on)
        return;
    put_name(out, name);
    put(out, "True");
}

static void put_megabytes(struct out *out, const char *name, uint64_t bytes, uint64_t usual)
{
    if (bytes == usual)
        return;
    put_name(out, name);
    put(out, "%llu", (unsigned long long)(bytes >> 20));
}

static void put_number(struct out *out, const char *name, double number, double usual)
{
    if (number == usual)
        return;
    put_name(out, name);
    put(out, "%.15g", number);
}

static bool all_equal(const uint32_t *numbers, unsigned count)
{
    for (unsigned i = 1; i < count; i++)
        if (numbers[i] != numbers[0])
            return false;
    return true;
}

static void put_roundup(struct out *out, const uint32_t *roundup)
{
    bool one = all_equal(roundup, MT_ROUNDUP_INTERVALS);

    if (one && !roundup[0])
        return;
    put_name(out, "roundup_power2_divisions");
    if (one) {
        put(out, "%u", roundup[0]);
        return;
    }
    for (unsigned i = 0; i < MT_ROUNDUP_INTERVALS; i++)
        put(out, "%c%u:%u", i ? ',' : '[', 1U << i, roundup[i]);
    put(out, "]");
}

size_t mt_alloc_conf_write(const struct mt_alloc_conf *conf, char *text, size_t size)
{
    struct out out = {text, size, 0};
    struct mt_alloc_conf usual;

    mt_alloc_conf_init(&usual);
    if (size)
        text[0] = 0;
    if (conf->async) {
        put_name(&out, "backend");
        put(&out, "cudaMallocAsync");
    }
    put_switch(&out, "expandable_segments", conf->expandable_segments);
    put_megabytes(&out, "large_segment_size_mb", conf->large_segment_size,
                  usual.large_segment_size);
    put_megabytes(&out, "max_split_size_mb", conf->max_split_size, usual.max_split_size);
    put_megabytes(&out, "max_non_split_rounding_mb", conf->max_non_split_rounding,
                  conf->large_segment_size);
    put_roundup(&out, conf->roundup);
    put_number(&out, "garbage_collection_threshold", conf->garbage_collection_threshold, 0);
    put_number(&out, "per_process_memory_fraction", conf->memory_fraction, 1);
    put_switch(&out, "graph_capture_record_stream_reuse", conf->record_stream_reuse);
    put_switch(&out, "throw_on_cudamalloc_oom", conf->throw_on_oom);
    put_number(&out, "expandable_segments_reserve", conf->expandable_reserve_fraction, 0);
    if (conf->expandable_reserve != UINT64_MAX) {
        put_name(&out, "expandable_segments_reserve");
        put(&out, "%.15gG", (double)conf->expandable_reserve / (1 << 30));
    }
    return out.length;
}
