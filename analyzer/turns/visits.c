/* SPDX-License-Identifier: Apache-2.0 */
#include "visits.h"
#include "analyzer/support/grow.h"
#include "analyzer/support/hash.h"

#include <string.h>

#define MOST (2u << 20) /* some 200 MiB */

static void free_all(struct mt_visits *visits)
{
    free(visits->visit);
    free(visits->code_of);
    for (unsigned slot = 0; slot < MT_DEVICES; slot++)
        free(visits->levels[slot].level);
}

void mt_visits_clear(struct mt_visits *visits)
{
    bool is_off = visits->is_off;
    free_all(visits);
    memset(visits, 0, sizeof *visits);
    visits->is_off = is_off;
}

void mt_visits_clear_levels(struct mt_visits *visits, unsigned slot)
{
    free(visits->levels[slot].level);
    visits->levels[slot] = (struct mt_visit_levels){0};
}

/* Return the stack of the innermost line outside of modules, optimizers and autograd; 0: none. */
static uint32_t find_node(const struct mt_definitions *definitions, uint32_t stack)
{
    while (mt_stack(definitions, stack)->phase)
        stack = mt_stack(definitions, stack)->parent;
    return mt_stack(definitions, stack)->user;
}

/* Return the hash of a stack's lines. Modules that are made again and again have numbers in their
 * names; what they are in the outermost one does not change. */
static uint64_t hash_lines(const struct mt_definitions *definitions, uint32_t stack)
{
    uint64_t hash = MT_HASH_SEED;
    for (; mt_stack(definitions, stack)->depth; stack = mt_stack(definitions, stack)->parent) {
        const struct mt_frame *frame = mt_stack_frame(definitions, stack);
        hash = mt_hash_number(hash, frame->place);
        hash = mt_hash_number(hash, (uint64_t)(uintptr_t)frame->path);
    }
    return hash;
}

static struct mt_visit_code find_code(const struct mt_definitions *definitions, uint32_t stack)
{
    return (struct mt_visit_code){find_node(definitions, stack) + 1,
                                  hash_lines(definitions, stack)};
}

/* Return find_code's result, kept. */
static struct mt_visit_code code_of(struct mt_visits *visits,
                                    const struct mt_definitions *definitions, uint32_t stack)
{
    if (stack >= visits->n_codes) {
        size_t n = mt_definitions_stack_limit(definitions);
        struct mt_visit_code *grown =
            stack < n ? realloc(visits->code_of, n * sizeof *grown) : NULL;
        if (!grown)
            return find_code(definitions, stack);
        memset(grown + visits->n_codes, 0, (n - visits->n_codes) * sizeof *grown);
        visits->code_of = grown;
        visits->n_codes = n;
    }
    if (!visits->code_of[stack].node)
        visits->code_of[stack] = find_code(definitions, stack);
    return visits->code_of[stack];
}

/* Return whether two sizes may be the same request's in two turns, of which the later one is
 * larger, or smaller. */
static bool is_near(uint64_t a, uint64_t b)
{
    return a / 2 <= b && b / 2 <= a;
}

/* Return whether an allocation begins what the visit has done all over again. An operator may make
 * several blocks in a row: then only the first one's size says so. */
static bool is_again(const struct mt_visitor *visitor, uint64_t code, uint64_t size)
{
    return code == visitor->first &&
           (size == visitor->size ||
            (visitor->n == 1 && visitor->was_single && is_near(size, visitor->size)));
}

int mt_visits_note(struct mt_visits *visits, const struct mt_definitions *definitions,
                   const struct mt_event *event, const struct mt_when *now, uint64_t number)
{
    struct mt_visitor *visitor = &visits->visitors[event->thread % MT_VISITORS];
    if (visits->is_off || !event->stack)
        return 0;
    struct mt_visit_code code = code_of(visits, definitions, event->stack);
    uint32_t node = code.node - 1;
    if (!node)
        return 0;
    struct mt_visit *last = visits->n ? &visits->visit[visits->n - 1] : NULL;
    bool is_other = visitor->node != node || visitor->thread != event->thread,
         again = !is_other && is_again(visitor, code.code, event->size),
         goes_on = last && last->thread == event->thread && visitor->run == now->run;
    if (is_other || again || !goes_on) {
        if (visits->n == MOST) {
            visits->is_off = true;
            mt_visits_clear(visits);
            return 0;
        }
        if (MT_APPEND(visits->visit, visits->capacity, visits->n,
                      (struct mt_visit){.event = number,
                                        .node = node,
                                        .thread = event->thread,
                                        .is_again = again,
                                        .is_rest = !is_other && !again}))
            return -ENOMEM;
        last = &visits->visit[visits->n - 1];
    }
    if (is_other || again)
        *visitor = (struct mt_visitor){.thread = event->thread,
                                       .node = node,
                                       .first = code.code,
                                       .size = event->size,
                                       .was_single = is_other || visitor->n == 1};
    visitor->run = now->run;
    visitor->n++;
    last->bytes += event->size;
    if (last->largest < event->size)
        last->largest = event->size;
    last->in_forward |= (mt_stack(definitions, event->stack)->phase & MT_MARK_MODULE_CALL) != 0;
    return 0;
}

int mt_visits_begin_level(struct mt_visits *visits, struct mt_visit_levels *levels,
                          const struct mt_visit_level *level)
{
    struct mt_visit_level begun = *level;
    begun.before = levels->last;
    levels->last = level->event;
    if (levels->n == MOST) {
        visits->is_off = true;
        mt_visits_clear(visits);
        return 0;
    }
    return MT_APPEND(levels->level, levels->capacity, levels->n, begun);
}
