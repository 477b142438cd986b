/* SPDX-License-Identifier: Apache-2.0 */
/* Page-locked memory of the host, for people and as JSON. */
#include "analyzer/print/json.h"
#include "analyzer/print/page.h"
#include "report.h"

#define PAGE_BYTES 4096u /* places with less are not worth a line */

void mt_page_host(const struct mt_page *page)
{
    const struct mt_host *host = &page->analysis->replay.host;
    const struct mt_origins *origins = &page->analysis->host;
    char size[MT_SIZE_TEXT], count[MT_SIZE_TEXT], most[MT_SIZE_TEXT], time[MT_SIZE_TEXT];
    if (host->most < PAGE_BYTES)
        return; /* PyTorch's item() has one number there */
    fprintf(page->out, "\nPage-locked host memory: %s in %s allocation%s",
            mt_size_text(size, origins->bytes), mt_count_text(count, origins->blocks),
            origins->blocks == 1 ? "" : "s");
    if (host->is_taken)
        fprintf(page->out, ",\nat most %s at %s\n", mt_size_text(most, host->most),
                mt_time_text(time, host->most_ns));
    else
        fprintf(page->out, " at %s,\nits peak; %s at the end\n", mt_time_text(time, host->most_ns),
                mt_size_text(most, host->heap.total[0].bytes));
    mt_page_origins(page, origins, PAGE_BYTES);
}

json_t *mt_json_host(const struct mt_analysis *analysis)
{
    const struct mt_host *host = &analysis->replay.host;
    json_t *object = mt_json_origins(analysis->replay.definitions, &analysis->host);
    json_object_set_new(object, "most", mt_json_number(host->most));
    json_object_set_new(object, "most_time_ns", mt_json_number(host->most_ns));
    json_object_set_new(object, "most_event", mt_json_number(host->most_event));
    json_object_set_new(object, "end", mt_json_number(host->heap.total[0].bytes));
    return object;
}
