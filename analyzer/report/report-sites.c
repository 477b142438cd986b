/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/print/page.h"
#include "analyzer/support/demangle.h"
#include "analyzer/trace/definitions.h"

#include <string.h>

#define BEFORE_PLACE 38u /* columns of a call site before its place */

/* Print the text of the line, if available. */
static void print_source(const struct mt_page *page, uint32_t stack)
{
    char text[512], safe[512];
    size_t room = page->width - BEFORE_PLACE - 2;
    if (!mt_source_line(text, sizeof text, page->definitions, stack))
        return;
    mt_safe_text(safe, sizeof safe, text, room < 120 ? room : 120, MT_CUT_END, page->style);
    mt_put_coloured(page->out, page->style, 244, "%*s%s", (int)BEFORE_PLACE + 2, "", safe);
    putc('\n', page->out);
}

static void print_site_place(const struct mt_page *page, const struct mt_site *site)
{
    char name[256], text[1024];
    size_t room = page->width - BEFORE_PLACE < 200 ? page->width - BEFORE_PLACE : 200;
    uint32_t caller = mt_site_caller(page->definitions, site);
    if (site->name) {
        snprintf(name, sizeof name, "\"%s\"", mt_string(page->definitions, site->name));
        mt_safe_text(text, sizeof text, name, room, MT_CUT_END, page->style);
        fprintf(page->out, "%s\n", text);
        if (!mt_stack(page->definitions, site->stack)->depth && !site->node_name)
            return;
        fprintf(page->out, "%*s", (int)BEFORE_PLACE, "");
    }
    if (site->node_name) {
        mt_short_type_name(mt_string(page->definitions, site->node_name), name, sizeof name);
        mt_safe_text(text, sizeof text, name, room, MT_CUT_END, page->style);
        fprintf(page->out, "%s\n", text);
        if (!mt_stack(page->definitions, site->stack)->depth)
            return;
        mt_page_place(page, site->stack, text, sizeof text, room - 3);
        fprintf(page->out, "%*sof %s\n", (int)BEFORE_PLACE, "", text);
    } else {
        mt_page_place(page, site->stack, text, sizeof text, room);
        fprintf(page->out, "%s\n", text);
    }
    print_source(page, site->stack);
    for (uint32_t at = site->whole; at && at != site->stack;
         at = mt_stack(page->definitions, at)->parent) {
        mt_page_place(page, at, text, sizeof text, room - 3);
        fprintf(page->out, "%*sin %s\n", (int)BEFORE_PLACE, "", text);
    }
    if (!caller)
        return;
    mt_page_place(page, caller, text, sizeof text, room - 5);
    fprintf(page->out, "%*sfrom %s\n", (int)BEFORE_PLACE, "", text);
}

/* Return where a line's guess begins: below the line, or left of it if it is long. */
static int guess_column(const struct mt_page *page, const char *mark, const char *guess)
{
    size_t length = strlen(mark) + strlen(guess), room = page->width - BEFORE_PLACE;
    return (int)(BEFORE_PLACE - (length > room ? length - room : 0));
}

void mt_page_sites(const struct mt_page *page, const struct mt_device *device, size_t most)
{
    char size[MT_SIZE_TEXT], blocks[MT_SIZE_TEXT];
    size_t n = mt_filter_rows(mt_page_filter(page), device->sites.n, most);
    if (!n)
        return;
    fprintf(page->out, "\n%11s %8s  %-15s %s\n", "bytes", "blocks", "category",
            "largest call sites");
    for (size_t i = 0; i < n; i++) {
        const struct mt_site *site = &device->sites.site[i];
        fprintf(page->out, "%11s %8s %c", mt_size_text(size, site->bytes),
                mt_count_text(blocks, site->blocks), mt_certainty_mark(site->certainty));
        mt_put_category(page->out, page->style, site->category, 15);
        putc(' ', page->out);
        print_site_place(page, site);
        const char *rule = site->guess ? site->guess : site->copy;
        const char *mark = site->guess ? "guess: " : "copy: ";
        if (rule)
            fprintf(page->out, "%*s%s%s\n", guess_column(page, mark, rule), "", mark, rule);
        if (site->held)
            mt_page_held(page, site->held, site->bytes);
    }
    mt_page_rest(page, device->sites.n - n);
}
