/* SPDX-License-Identifier: Apache-2.0 */
#include "visits.h"
#include "analyzer/support/grow.h"
#include "analyzer/support/hash.h"

#include <errno.h>
#include <string.h>

#define STACKS_MOST (1u << 20) /* their codes: 16 MiB */

void mt_visits_clear(struct mt_visits *visits)
{
    bool is_off = visits->is_off;
    uint32_t parts = visits->parts;
    free(visits->visit);
    free(visits->code_of);
    *visits = (struct mt_visits){.is_off = is_off, .parts = parts};
}

/* Return a stack's code by its caller's. Its node is the stack of the innermost line outside of
 * modules, optimizers and autograd. Modules that are made again and again have numbers in their
 * names; what they are in the outermost one does not change. */
static struct mt_visit_code find_code(const struct mt_definitions *definitions, uint32_t stack,
                                      struct mt_visit_code caller)
{
    const struct mt_frame *frame = mt_stack_frame(definitions, stack);
    uint64_t hash = mt_hash_number(caller.code, frame->place);
    const struct mt_stack *own = mt_stack(definitions, stack);
    return (struct mt_visit_code){.node = own->phase ? caller.node : own->user + 1,
                                  .in_module = (own->phase & MT_MARK_MODULE_CALL) != 0,
                                  .code = mt_hash_number(hash, (uint64_t)(uintptr_t)frame->path)};
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
        at ? visits->code_of[at] : (struct mt_visit_code){.node = 1, .code = MT_HASH_SEED};
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

/* An operator may make several blocks, with nothing but a request in between. */
#define NEXT 2u

/* Return how sure it is that an allocation that is again what the visit began with is of another
 * call. A native line that requests it from CUDA itself has been reached again. */
static enum mt_again again_of(const struct mt_visitor *visitor, const struct mt_when *now,
                              bool is_in_module, bool is_own, uint64_t number)
{
    bool is_sure =
        is_own || (is_in_module ? now->calls != visitor->calls : number - visitor->last > NEXT);
    return is_sure ? MT_AGAIN_SURELY : MT_AGAIN_PERHAPS;
}

/* Do without visits: there are too many. */
static int give_up(struct mt_visits *visits)
{
    mt_visits_clear(visits);
    visits->is_off = visits->gave_up = true;
    return 0;
}

int mt_visits_note_other(struct mt_visits *visits, const struct mt_definitions *definitions,
                         const struct mt_event *event, const struct mt_when *now, uint64_t number)
{
    struct mt_visitor *visitor = &visits->visitors[event->thread % MT_VISITORS];
    struct mt_visit_code code;
    int rc = code_of(visits, definitions, event->stack, &code);
    if (rc)
        return rc == -E2BIG ? give_up(visits) : rc;
    uint32_t node = code.node - 1;
    bool is_own = node == event->stack && mt_stack_frame(definitions, node)->is_native;
    if (!node)
        return 0;
    struct mt_visit *last = visits->n ? &visits->visit[visits->n - 1] : NULL;
    bool is_other = visitor->node != code.node || visitor->thread != event->thread,
         again = !is_other && is_again(visitor, code.code, event->size),
         other_size = !is_other && !again && code.code == visitor->first,
         goes_on = last && last->thread == event->thread && visitor->run == now->run;
    if (is_other || again || other_size || !goes_on) {
        if (visits->n == MT_VISITS_MOST)
            return give_up(visits);
        uint64_t others = visits->others - visits->counted;
        if (MT_APPEND(visits->visit, visits->capacity, visits->n,
                      (struct mt_visit){.event = number,
                                        .others = others < UINT8_MAX ? (uint8_t)others : UINT8_MAX,
                                        .node = node,
                                        .thread = event->thread,
                                        .again = again        ? (uint8_t)again_of(visitor, now,
                                                                                  code.in_module, is_own,
                                                                                  number - visits->others)
                                                 : other_size ? MT_AGAIN_OTHER
                                                              : MT_AGAIN_NOT,
                                        .is_rest = !is_other && !again && !other_size}))
            return -ENOMEM;
        last = &visits->visit[visits->n - 1];
        visits->counted = visits->others;
        visits->last_thread = event->thread;
        visits->parts++;
    }
    if (is_other || again)
        *visitor = (struct mt_visitor){.thread = event->thread,
                                       .node = code.node,
                                       .calls = now->calls,
                                       .first = code.code,
                                       .size = event->size,
                                       .was_single = is_other || visitor->n == 1};
    visitor->run = now->run;
    visitor->n++;
    visitor->last = number - visits->others;
    last->bytes += event->size;
    last->n++;
    last->in_forward |= code.in_module;
    return 0;
}
