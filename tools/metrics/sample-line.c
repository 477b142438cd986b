/* SPDX-License-Identifier: Apache-2.0 */
#include "sample-line.h"
#include "trace-format/safe-text.h"

#include <stdbool.h>

/* Write a label's value: \, " and the end of a line are escaped; other characters that could act
 * become '?'. */
static void put_value(FILE *out, const char *text)
{
    while (*text) {
        bool is_safe;
        size_t length = mt_safe_next(text, &is_safe);
        if (*text == '\n')
            fputs("\\n", out);
        else if (*text == '\\' || *text == '"')
            fprintf(out, "\\%c", *text);
        else if (is_safe)
            fwrite(text, 1, length, out);
        else
            fputc('?', out);
        text += length;
    }
}

/* Return the text before the next label. */
static const char *put_label(FILE *out, const char *before, const char *name, const char *value)
{
    if (!*value)
        return before;
    fprintf(out, "%s%s=\"", before, name);
    put_value(out, value);
    fputc('"', out);
    return ",";
}

void mt_sample_line(FILE *out, const char *family, const char *suffix,
                    const struct mt_figures *figures, const struct mt_device_figures *device,
                    const struct mt_own_label *labels, const char *value)
{
    char number[16] = "";
    fprintf(out, "%s%s", family, suffix);
    const char *before = put_label(out, "{", "trace", figures->path);
    before = put_label(out, before, "rank", figures->rank);
    if (device && device->device >= 0)
        snprintf(number, sizeof number, "%d", device->device);
    before = put_label(out, before, "device", device && device->device < 0 ? "unknown" : number);
    for (; labels && labels->name; labels++)
        before = put_label(out, before, labels->name, labels->value);
    fprintf(out, "} %s\n", value);
}

void mt_sample_count(FILE *out, const char *family, const char *suffix,
                     const struct mt_figures *figures, const struct mt_device_figures *device,
                     const struct mt_own_label *labels, uint64_t value)
{
    char number[32];
    snprintf(number, sizeof number, "%llu", (unsigned long long)value);
    mt_sample_line(out, family, suffix, figures, device, labels, number);
}
