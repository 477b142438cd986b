/* SPDX-License-Identifier: Apache-2.0 */
/* What was live at the moment and not needed then; when a block is used. */
#include "analyzer/model/user-line.h"
#include "analyzer/print/page.h"
#include "analyzer/support/demangle.h"

#include <stdlib.h>

#define ROWS MT_UNNEEDED_HELD
#define BEFORE_USE 14 /* columns of a row before its second line */

static const char *const titles[] = {
    [MT_UNNEEDED_NEVER] = "never used",
    [MT_UNNEEDED_WRITTEN] = "written by copies or fills, never read",
    [MT_UNNEEDED_AFTER] = "last used before, freed after",
    [MT_UNNEEDED_UNTIL] = "allocated before, first used after",
    [MT_UNNEEDED_BETWEEN] = "unused for the longest time around it",
    [MT_UNNEEDED_PERHAPS] = "perhaps: last used before; the run did not finish",
};

static void print_use(const struct mt_page *page, enum mt_unneeded_kind kind,
                      const struct mt_sum *sum, const struct mt_held_most *held)
{
    char where[1024], text[MT_HOLDER_TEXT + 100], safe[4 * MT_HOLDER_TEXT];
    if (kind == MT_UNNEEDED_NEVER)
        return;
    if (*mt_held_most_text(text, sizeof text, held, sum->bytes)) {
        mt_safe_text(safe, sizeof safe, text, page->width - BEFORE_USE - 1, MT_CUT_END,
                     page->style);
        fprintf(page->out, "%*s%s;\n", BEFORE_USE, "", safe);
    }
    mt_page_place(page, sum->key[1], where, sizeof where, page->width - BEFORE_USE - 16);
    fprintf(page->out, "%*s%s %s\n", BEFORE_USE, "",
            kind == MT_UNNEEDED_UNTIL     ? "first used"
            : kind == MT_UNNEEDED_WRITTEN ? "last written"
                                          : "last used",
            sum->key[1]   ? where
            : sum->key[2] ? "in backward"
                          : "at an unknown line");
}

static void print_kind(const struct mt_page *page, enum mt_unneeded_kind kind,
                       const struct mt_sums *sums, const struct mt_held_most *held)
{
    char size[MT_SIZE_TEXT], count[MT_SIZE_TEXT], where[1024];
    if (!sums->blocks)
        return;
    fprintf(page->out, "  %s: %s\n", titles[kind], mt_size_text(size, sums->bytes));
    for (size_t i = 0; i < sums->n && i < ROWS; i++) {
        const struct mt_sum *sum = &sums->sum[i];
        mt_page_place(page, sum->stack, where, sizeof where, page->width - BEFORE_USE);
        fprintf(page->out, "%11s %8s  %s\n", mt_size_text(size, sum->bytes),
                mt_count_text(count, sum->blocks), where);
        print_use(page, kind, sum, &held[i]);
    }
    mt_page_rest(page, sums->n > ROWS ? sums->n - ROWS : 0);
}

static void print_shared(const struct mt_page *page, const struct mt_sums *shared)
{
    char size[MT_SIZE_TEXT], count[MT_SIZE_TEXT], one[1024], other[1024];
    if (shared->blocks)
        fprintf(page->out, "  could hold a block of equal size that is first used later: %s\n",
                mt_size_text(size, shared->bytes));
    for (size_t i = 0; i < shared->n && i < ROWS; i++) {
        const struct mt_sum *sum = &shared->sum[i];
        mt_page_place(page, sum->stack, one, sizeof one, page->width - BEFORE_USE - 12);
        mt_page_place(page, sum->key[1], other, sizeof other, page->width - BEFORE_USE - 12);
        fprintf(page->out, "%11s %8s  that of %s,\n%*sfor %s\n", mt_size_text(size, sum->bytes),
                mt_count_text(count, sum->blocks), one, BEFORE_USE + 8, "", other);
    }
    mt_page_rest(page, shared->n > ROWS ? shared->n - ROWS : 0);
}

/* Print what is not in the list, though it may not be needed either. */
static void print_apart(const struct mt_page *page, const char *what, uint64_t bytes)
{
    char size[MT_SIZE_TEXT];
    if (bytes)
        fprintf(page->out, "  not counted: %s,\n    %s\n", mt_size_text(size, bytes), what);
}

/* Return when a device's moment is. */
static const char *when_of(const struct mt_page *page, const struct mt_device *device)
{
    return page->analysis->replay.question.moment.kind == MT_AT_OOM ? "when memory ran out"
           : device->is_peak                                        ? "at the peak"
                                                                    : "at that moment";
}

void mt_page_unneeded(const struct mt_page *page, const struct mt_device *device)
{
    const struct mt_unneeded *unneeded = &device->unneeded;
    const char *when = when_of(page, device);
    char size[MT_SIZE_TEXT];
    if (unneeded->is_unseen)
        fprintf(page->out, "\nNot needed %s: unknown; memtap did not see all launched work.\n",
                when);
    if (!unneeded->bytes && !unneeded->passed && !unneeded->unknown &&
        !unneeded->kind[MT_UNNEEDED_PERHAPS].bytes)
        return;
    fprintf(page->out, "\nNot needed %s: %s\n", when,
            unneeded->bytes ? mt_size_text(size, unneeded->bytes) : "nothing known");
    if (unneeded->bytes)
        fputs("  (judging by launched kernels, copies and fills; a kernel may have computed\n"
              "  or loaded an address)\n",
              page->out);
    for (enum mt_unneeded_kind kind = 0; kind < MT_UNNEEDED_KINDS; kind++)
        print_kind(page, kind, &unneeded->kind[kind], unneeded->held[kind]);
    print_shared(page, &unneeded->shared);
    print_apart(page, "last used before, by the line that allocates at that moment",
                unneeded->of_own_line);
    print_apart(page, "last used before; the run did not finish, so uses may have followed",
                unneeded->to_come);
    print_apart(page, "unknown: their addresses were passed in memory", unneeded->passed);
    print_apart(page, "unknown: the recording ended before their uses were written",
                unneeded->unknown);
}

/* Print a use of a block with its line and kernel. */
static void print_point(const struct mt_page *page, const char *which,
                        const struct mt_use_point *use)
{
    char time[MT_SIZE_TEXT], where[1024], kernel[256];
    if (!use->time_ns)
        return;
    uint32_t line = mt_request_line(page->definitions, use->stack, 0);
    fprintf(page->out, "  %s at %s%s", which, mt_time_text(time, use->time_ns),
            use->in_backward ? ", in backward" : "");
    if (line) {
        mt_page_place(page, line, where, sizeof where, page->width - 32);
        fprintf(page->out, ", by %s", where);
    }
    char *function = use->name ? mt_function_name(mt_string(page->definitions, use->name)) : NULL;
    if (function) {
        mt_safe_text(kernel, sizeof kernel, function, page->width - 12, MT_CUT_END, page->style);
        fprintf(page->out, ",\n    kernel %s", kernel);
    }
    free(function);
    putc('\n', page->out);
}

void mt_page_uses(const struct mt_page *page, const struct mt_device *device,
                  const struct mt_verdict *verdict)
{
    const struct mt_block *block = verdict->block;
    const struct mt_block_uses *uses = mt_device_uses(&page->analysis->replay, device, block);
    const struct mt_block_held *held = mt_device_held(device, block);
    enum mt_unneeded_kind kind = mt_unneeded_kind_of(device, block);
    char text[MT_HOLDER_TEXT], safe[4 * MT_HOLDER_TEXT];
    if (!uses)
        return;
    if (uses->is_never)
        fputs("  no recorded kernel, copy or fill uses it\n", page->out);
    print_point(page, "first used", &uses->first);
    print_point(page, "last used", &uses->last);
    if (uses->is_passed)
        fputs("  its address was passed in memory: other kernels may use it unseen\n", page->out);
    if (kind == MT_UNNEEDED_KINDS)
        return;
    fprintf(page->out, "  not needed %s%s%s", when_of(page, device),
            kind == MT_UNNEEDED_PERHAPS ? ", " : ": ", titles[kind]);
    if ((kind == MT_UNNEEDED_AFTER || kind == MT_UNNEEDED_PERHAPS) && held) {
        mt_holder_path_text(text, sizeof text, mt_string(page->definitions, held->by->path));
        mt_safe_text(safe, sizeof safe, text, page->width - 12, MT_CUT_END, page->style);
        fprintf(page->out, ";\n    %s %s", mt_holder_verb(held->by->root), safe);
    }
    putc('\n', page->out);
}
