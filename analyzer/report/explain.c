/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/print/page.h"
#include "analyzer/support/demangle.h"
#include "report.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

static const char *const evidence_texts[MT_EVIDENCE_COUNT] = {
#define TEXT(id, text) [MT_EVIDENCE_##id] = text,
    MT_EVIDENCE(TEXT)
#undef TEXT
};

/* Write "backward of iteration 3" */
static void when_text(char *out, size_t size, const struct mt_device *device,
                      const struct mt_when *when, uint64_t event)
{
    const char *where = mt_phase_names[when->phase].where;
    const struct mt_span *span =
        device->spans ? mt_spans_at(device->spans, when->run, event) : NULL;
    if (span && span->iteration)
        snprintf(out, size, "%s, iteration %u", where, span->iteration);
    else if (device->spans && device->spans->turns && !event) /* which turn is not known */
        snprintf(out, size, "%s", where);
    else
        snprintf(out, size, "%s, start-up", where);
}

static void print_frames(const struct mt_page *page, const char *title, uint32_t stack)
{
    char place[1024];
    if (!mt_stack(page->definitions, stack)->depth)
        return;
    fprintf(page->out, "\n%s (stack %u)\n", title, stack);
    for (; mt_stack(page->definitions, stack)->depth;
         stack = mt_stack(page->definitions, stack)->parent) {
        mt_page_place(page, stack, place, sizeof place, page->width - 2);
        fprintf(page->out, "  %s\n", place);
    }
}

static void print_life(const struct mt_page *page, const struct mt_device *device,
                       const struct mt_block *block)
{
    char size[MT_SIZE_TEXT], name[MT_SIZE_TEXT], time[MT_SIZE_TEXT], when[96];
    char text[256], shown[260];
    uint32_t os_thread;
    fprintf(page->out, "Block %#" PRIx64 ", %s (%" PRIu64 " bytes) on %s\n", block->address,
            mt_size_text(size, block->size), block->size, mt_device_text(name, block->device));
    when_text(when, sizeof when, device, &block->birth->when, mt_block_event(block));
    mt_thread(page->definitions, block->birth->thread, &os_thread);
    fprintf(page->out, "  allocated at %s, %s, by thread %u\n",
            mt_time_text(time, mt_block_time(block)), when,
            os_thread ? os_thread : block->birth->thread);
    if (block->name) {
        snprintf(text, sizeof text, "%s", mt_string(page->definitions, block->name));
        mt_safe_text(shown, sizeof shown, text, 64, MT_CUT_END, page->style);
        fprintf(page->out, "  named \"%s\"\n", shown);
    }
    if (block->range) {
        mt_page_range_text(page, block->range, shown, sizeof shown, 64);
        fprintf(page->out, "  in the range %s\n", shown);
    }
    when_text(when, sizeof when, device, mt_block_ended(block), 0);
    if (block->evidence & MT_SAW_END)
        fprintf(page->out, "  freed %s\n", when);
    else
        fputs("  still live when the trace ends\n", page->out);
}

static void print_evidence(const struct mt_page *page, const struct mt_block *block)
{
    char name[256], text[300];
    int any = 0;
    fputs("\nEvidence\n", page->out);
    for (unsigned i = 0; i < MT_EVIDENCE_COUNT; i++)
        if (block->evidence >> i & 1 && *evidence_texts[i]) {
            fprintf(page->out, "  %s\n", evidence_texts[i]);
            any = 1;
        }
    if (block->node_name) {
        mt_short_type_name(mt_string(page->definitions, block->node_name), name, sizeof name);
        mt_safe_text(text, sizeof text, name, 200, MT_CUT_END, page->style);
        fprintf(page->out, "  allocated while %s ran in backward\n", text);
        any = 1;
    }
    if (!any)
        fputs("  none but its size, stack and lifetime\n", page->out);
}

#define RULE_NAME 512

/* Make a rule's name safe to print: names in a user's file may be any text. Return out. */
static const char *name_of(const struct mt_page *page, const struct mt_rule *rule,
                           char out[RULE_NAME])
{
    mt_safe_text(out, RULE_NAME, rule->name, 0, MT_CUT_END, page->style);
    return out;
}

static void print_rules(const struct mt_page *page, const struct mt_device *device,
                        const struct mt_block *block, const struct mt_rule *decided)
{
    char name[RULE_NAME];
    fputs("\nRules, strongest first\n", page->out);
    int before = 1;
    for (size_t i = 0; i < mt_rules_count(device->context.user); i++) {
        const struct mt_rule *rule = mt_rule_at(device->context.user, i);
        int holds = mt_rule_holds(&device->context, i, block);
        if (rule == &mt_rules[mt_n_rules - 1] && rule != decided)
            continue; /* holds for all */
        if (before && !holds)
            fprintf(page->out, "  no       %s\n", name_of(page, rule, name));
        else if (holds)
            fprintf(page->out, "  %-8s %s: %s (%s)\n", rule == decided ? "DECIDES" : "would",
                    name_of(page, rule, name), mt_categories[rule->category].label,
                    mt_certainty_name(rule->certainty));
        before &= !holds;
    }
}

static void print_block(const struct mt_page *page, const struct mt_device *device,
                        const struct mt_block *block, const struct mt_rule *rule)
{
    char name[RULE_NAME];
    const struct mt_block_held *held = mt_device_held(device, block);
    print_life(page, device, block);
    fprintf(page->out, "  category: ");
    mt_put_category(page->out, page->style, rule->category, 0);
    fprintf(page->out, " (%s): %s\n", mt_certainty_name(rule->certainty),
            name_of(page, rule, name));
    if (block != &page->analysis->replay.watched.last.block)
        mt_page_uses(page, device, &(struct mt_verdict){.block = block, .rule = rule});
    print_evidence(page, block);
    if (held)
        mt_page_paths(page, held);
    print_rules(page, device, block, rule);
    print_frames(page, "Allocated here", block->stack);
    if (block->forward_stack != block->stack)
        print_frames(page, "For this forward call", block->forward_stack);
    if (block->save_stack != block->stack)
        print_frames(page, "First saved for backward here", block->save_stack);
}

int mt_explain_address(const struct mt_analysis *analysis, FILE *out, const struct mt_style *style)
{
    struct mt_page page = mt_page_of(analysis, out, style);
    const struct mt_replay *replay = &analysis->replay;
    uint64_t address = replay->question.address;
    char time[MT_SIZE_TEXT], count[MT_SIZE_TEXT];
    for (size_t i = 0; i < analysis->n_devices; i++) {
        const struct mt_device *device = &analysis->devices[i];
        for (size_t j = 0; j < device->n_verdicts; j++) {
            const struct mt_verdict *verdict = &device->verdicts[j];
            if (address - verdict->block->address >= verdict->block->size)
                continue;
            fprintf(out, "Live at %s. Blocks at this address in the whole run: %s.\n",
                    mt_time_text(time, device->at.time_ns),
                    mt_count_text(count, replay->watched.n));
            print_block(&page, device, verdict->block, verdict->rule);
            return 0;
        }
    }
    for (size_t i = 0; i < analysis->n_devices && replay->watched.n; i++) {
        const struct mt_device *device = &analysis->devices[i];
        if (device->device != replay->watched.last.block.device)
            continue;
        fprintf(out, "Not live at %s. This is the last of the %s blocks at this address.\n",
                mt_time_text(time, device->at.time_ns), mt_count_text(count, replay->watched.n));
        print_block(&page, device, &replay->watched.last.block,
                    mt_classify(&device->context, &replay->watched.last.block));
        return 0;
    }
    return -ENOENT;
}

int mt_explain_stack(const struct mt_analysis *analysis, uint32_t stack, FILE *out,
                     const struct mt_style *style)
{
    struct mt_page page = mt_page_of(analysis, out, style);
    char size[MT_SIZE_TEXT], name[MT_SIZE_TEXT], count[MT_SIZE_TEXT];
    int found = 0;
    for (size_t i = 0; i < analysis->n_devices; i++) {
        const struct mt_device *device = &analysis->devices[i];
        const struct mt_verdict *largest = NULL;
        uint64_t bytes = 0, blocks = 0;
        for (size_t j = 0; j < device->n_verdicts; j++) {
            const struct mt_verdict *verdict = &device->verdicts[j];
            if (verdict->block->stack != stack)
                continue;
            bytes += verdict->block->size;
            blocks++;
            if (!largest || verdict->block->size > largest->block->size)
                largest = verdict;
        }
        if (!largest)
            continue;
        fprintf(out, "%sStack %u on %s: %s in %s live blocks. The largest:\n", found ? "\n" : "",
                stack, mt_device_text(name, device->device), mt_size_text(size, bytes),
                mt_count_text(count, blocks));
        print_block(&page, device, largest->block, largest->rule);
        found = 1;
    }
    return found ? 0 : -ENOENT;
}
