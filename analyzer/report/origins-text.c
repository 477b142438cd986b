/* SPDX-License-Identifier: Apache-2.0 */
/* A list of origins, for people and as JSON. */
#include "analyzer/print/json.h"
#include "analyzer/print/page.h"

#include <string.h>

#define SHOWN 10u
#define CALLERS 3u
#define BEFORE_PLACE 22u

/* "from main.c:3 run, main.c:9 main" */
static void print_callers(const struct mt_page *page, uint32_t stack)
{
    char place[1024], line[4096] = "";
    uint32_t caller = mt_stack(page->definitions, stack)->parent;
    for (unsigned i = 0; i < CALLERS && caller; i++) {
        size_t used = strlen(line);
        mt_page_place(page, caller, place, sizeof place, page->width);
        snprintf(line + used, sizeof line - used, "%s%s", used ? ", " : "", place);
        caller = mt_stack(page->definitions, caller)->parent;
    }
    if (!*line)
        return;
    mt_safe_text(place, sizeof place, line, page->width - BEFORE_PLACE - 5, MT_CUT_END,
                 page->style);
    fprintf(page->out, "%*sfrom %s\n", (int)BEFORE_PLACE, "", place);
}

void mt_page_origins(const struct mt_page *page, const struct mt_origins *origins, uint64_t least)
{
    char size[MT_SIZE_TEXT], count[MT_SIZE_TEXT], place[1024];
    const struct mt_filter *filter = mt_page_filter(page);
    size_t n = origins->n;
    least = least > filter->least ? least : filter->least;
    while (n && origins->origin[n - 1].bytes < least) /* the largest come first */
        n--;
    size_t rows = mt_filter_rows(filter, n, SHOWN);
    for (size_t i = 0; i < rows; i++) {
        const struct mt_origin *origin = &origins->origin[i];
        uint32_t begin = mt_stack_line(page->definitions, origin->stack);
        mt_page_place(page, begin, place, sizeof place, page->width - BEFORE_PLACE);
        fprintf(page->out, "%11s %8s  %s\n", mt_size_text(size, origin->bytes),
                mt_count_text(count, origin->blocks), place);
        print_callers(page, begin);
    }
    if (n > rows)
        fprintf(page->out, "%20s  and %s smaller ones\n", "", mt_count_text(count, n - rows));
}

static json_t *callers_json(const struct mt_definitions *definitions, uint32_t stack)
{
    json_t *array = json_array();
    for (; stack; stack = mt_stack(definitions, stack)->parent)
        json_array_append_new(array, mt_json_frame(definitions, stack));
    return array;
}

json_t *mt_json_origins(const struct mt_definitions *definitions, const struct mt_origins *origins)
{
    json_t *sites = json_array();
    for (size_t i = 0; i < origins->n; i++) {
        const struct mt_origin *origin = &origins->origin[i];
        uint32_t begin = mt_stack_line(definitions, origin->stack);
        json_array_append_new(
            sites,
            json_pack("{s:o, s:o, s:o, s:o}", "bytes", mt_json_number(origin->bytes), "blocks",
                      mt_json_number(origin->blocks), "line", mt_json_frame(definitions, begin),
                      "callers", callers_json(definitions, mt_stack(definitions, begin)->parent)));
    }
    return json_pack("{s:o, s:o, s:o}", "bytes", mt_json_number(origins->bytes), "blocks",
                     mt_json_number(origins->blocks), "sites", sites);
}
