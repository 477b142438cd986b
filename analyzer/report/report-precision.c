/* SPDX-License-Identifier: Apache-2.0 */
/* The report's part about parameters by precision. */
#include "analyzer/print/page.h"
#include "trace-format/dtypes.h"

static double share(uint64_t bytes, const struct mt_precision *precision)
{
    return (double)bytes / (double)precision->parameters;
}

/* Return "bfloat16"; "4 bytes" if only the size is known. */
static const char *element_text(char out[MT_SIZE_TEXT], const struct mt_precision_row *row)
{
    if (row->dtype)
        return mt_dtype_name(row->dtype);
    snprintf(out, MT_SIZE_TEXT,
             row->width > 1 ? "%u bytes"
             : row->width   ? "%u byte"
                            : "unknown",
             row->width);
    return out;
}

void mt_page_precision(const struct mt_page *page, const struct mt_device *device)
{
    const struct mt_precision *precision = &device->precision;
    char size[MT_SIZE_TEXT], text[MT_SIZE_TEXT];
    bool is_plain = !precision->is_mixed && !precision->lacks_others &&
                    precision->here == precision->parameters;
    if (is_plain || !precision->parameters)
        return;
    fprintf(page->out, "\n%s parameters", mt_count_text(text, precision->parameters));
    if (precision->lacks_others)
        fprintf(page->out, " in this process's parts (total unknown)");
    else if (precision->here != precision->parameters)
        fprintf(page->out, ", of which %s are here", mt_count_text(text, precision->here));
    fprintf(page->out, ", %.1f bytes each\n", share(precision->bytes, precision));
    for (size_t i = 0; i < precision->n; i++)
        fprintf(page->out, "  %-16s %-14s %11s  %5.1f\n",
                mt_role_names[precision->row[i].role].label, element_text(text, &precision->row[i]),
                mt_size_text(size, precision->row[i].bytes),
                share(precision->row[i].bytes, precision));
    if (precision->rounding)
        fprintf(page->out, "  %-31s %11s  %5.1f\n", "plus rounding of blocks",
                mt_size_text(size, precision->rounding), share(precision->rounding, precision));
}
