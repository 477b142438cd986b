/* SPDX-License-Identifier: Apache-2.0 */
#include "visits.h"
#include "analyzer/support/grow.h"
#include "analyzer/support/hash.h"

#include <errno.h>
#include <string.h>

#define STACKS_MOST (1u << 20) /* their codes: 16 MiB */

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
    visits->n_levels -= visits->levels[slot].n;
    visits->levels[slot] = (struct mt_visit_levels){0};
}

/* Return a stack's code by its caller's. Its node is the stack of the innermost line outside of
 * modules, optimizers and autograd. Modules that are made again and again have numbers in their
 * names; what they are in the outermost one does not change. */
static struct mt_visit_code find_code(const struct mt_definitions *definitions, uint32_t stack,
                                      struct mt_visit_code caller)
{
    const struct mt_frame *frame = mt_stack_frame(definitions, stack);
    uint64_t hash = mt_hash_number(caller.code, frame->place);
    return (struct mt_visit_code){
        mt_stack(definitions, stack)->phase ? caller.node : mt_stack(definitions, stack)->user + 1,
        mt_hash_number(hash, (uint64_t)(uintptr_t)frame->path)};
}

/* Find the code of a stack and of its callers, the outermost first. 0 or -ENOMEM. */
static int find_codes(struct mt_visits *visits, const struct mt_definitions *definitions,
                      uint32_t stack)
{
    size_t n = 0;
    for (uint32_t at = stack; at && !visits->code_of[at].node;
         at = mt_stack(definitions, at)->parent)
        n++;
    uint32_t *chain = malloc((n ? n : 1) * sizeof *chain);
    if (!chain)
        return -ENOMEM;
    uint32_t at = stack;
    for (size_t i = 0; i < n; i++, at = mt_stack(definitions, at)->parent)
        chain[i] = at;
    struct mt_visit_code caller =
        at ? visits->code_of[at] : (struct mt_visit_code){1, MT_HASH_SEED};
    while (n--)
        caller = visits->code_of[chain[n]] = find_code(definitions, chain[n], caller);
    free(chain);
    return 0;
}

/* Write a stack's code. 0 or -ENOMEM; -E2BIG: there are too many stacks. */
static int code_of(struct mt_visits *visits, const struct mt_definitions *definitions,
                   uint32_t stack, struct mt_visit_code *code)
{
    if (stack >= visits->n_codes) {
        size_t n = mt_definitions_stack_limit(definitions);
        if (n > STACKS_MOST || stack >= n)
            return -E2BIG;
        struct mt_visit_code *grown = realloc(visits->code_of, n * sizeof *grown);
        if (!grown)
            return -ENOMEM;
        memset(grown + visits->n_codes, 0, (n - visits->n_codes) * sizeof *grown);
        visits->code_of = grown;
        visits->n_codes = n;
    }
    int rc = visits->code_of[stack].node ? 0 : find_codes(visits, definitions, stack);
    *code = visits->code_of[stack];
    return rc;
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

/* Do without visits: there are too many. */
static int give_up(struct mt_visits *visits)
{
    mt_visits_clear(visits);
    visits->is_off = visits->gave_up = true;
    return 0;
}

int mt_visits_note(struct mt_visits *visits, const struct mt_definitions *definitions,
                   const struct mt_event *event, const struct mt_when *now, uint64_t number)
{
    struct mt_visitor *visitor = &visits->visitors[event->thread % MT_VISITORS];
    if (visits->is_off || !event->stack)
        return 0;
    struct mt_visit_code code;
    int rc = code_of(visits, definitions, event->stack, &code);
    if (rc)
        return rc == -E2BIG ? give_up(visits) : rc;
    uint32_t node = code.node - 1;
    if (!node)
        return 0;
    struct mt_visit *last = visits->n ? &visits->visit[visits->n - 1] : NULL;
    bool is_other = visitor->node != node || visitor->thread != event->thread,
         again = !is_other && is_again(visitor, code.code, event->size),
         goes_on = last && last->thread == event->thread && visitor->run == now->run;
    if (is_other || again || !goes_on) {
        if (visits->n == MT_VISITS_MOST)
            return give_up(visits);
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
    if (visits->n_levels == MT_VISITS_MOST)
        return give_up(visits);
    visits->n_levels++;
    return MT_APPEND(levels->level, levels->capacity, levels->n, begun);
}
