/* SPDX-License-Identifier: Apache-2.0 */
#include "steppers.h"
#include "analyzer/support/hash.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MOST_FRAMES 64u /* number of innermost frames that are examined */
#define LEAST_TIMES 2u  /* fewer uses are not an optimizer */
#define MOST_TIMES 8u   /* this many uses are one */

void mt_steppers_clear(struct mt_steppers *steppers)
{
    mt_address_map_clear(&steppers->by_name);
    mt_address_map_clear(&steppers->by_frame);
    free(steppers->noted);
    free(steppers->stepper);
    free(steppers->code);
    *steppers = (struct mt_steppers){0};
}

/* Return the length of the name of a function's class or enclosing function: Adam of Adam.step,
 * make of make.<locals>.step. 0: none. */
static size_t owner_length(const char *function)
{
    static const char locals[] = ".<locals>";
    const size_t n = sizeof locals - 1;
    const char *dot = strrchr(function, '.');
    size_t length = dot ? (size_t)(dot - function) : 0;
    return length > n && !memcmp(function + length - n, locals, n) ? length - n : length;
}

static struct mt_own_code read_code(const struct mt_frame *frame)
{
    if (frame->is_native || frame->marks & MT_MARK_FRAMEWORK)
        return (struct mt_own_code){0};
    size_t length = owner_length(frame->function), whole = strlen(frame->function);
    uint64_t file = mt_hash_text(MT_HASH_SEED, frame->file);
    return (struct mt_own_code){.name = mt_hash(file, frame->function, whole),
                                .owner = length ? mt_hash(file, frame->function, length) : 0,
                                .is_constructor = whole == length + 9 &&
                                                  !strcmp(frame->function + length, ".__init__")};
}

/* Return the record of a frame's code; NULL: no memory. */
static const struct mt_own_code *code_of(struct mt_steppers *steppers,
                                         const struct mt_definitions *definitions, uint32_t stack)
{
    size_t known = steppers->n_codes;
    uint32_t place = MT_PLACE_OF(&steppers->by_frame, mt_stack(definitions, stack)->frame,
                                 steppers->code, steppers->codes_capacity, steppers->n_codes);
    if (place > known)
        steppers->code[place - 1] = read_code(mt_stack_frame(definitions, stack));
    return place ? &steppers->code[place - 1] : NULL;
}

/* Note that the code runs. Return whether further runs are of interest. */
static bool note_one(struct mt_steppers *steppers, struct mt_stepper *stepper,
                     const struct mt_when *now, bool is_after)
{
    bool is_same = stepper->times && stepper->backwards == now->backwards;
    if (stepper->is_other || (is_after && is_same && stepper->calls == now->calls))
        return !stepper->is_other && stepper->times < MOST_TIMES;
    steppers->changes++;
    if (!is_after || is_same) /* a forward without a backward in between: evaluation */
        stepper->is_other = true;
    else
        stepper->times++;
    stepper->backwards = now->backwards;
    stepper->calls = now->calls;
    return !stepper->is_other && stepper->times < MOST_TIMES;
}

/* Return whether the enclosing function is a caller, that is, has not returned the code. */
static bool is_within(const struct mt_own_code *codes, size_t n, uint64_t owner)
{
    for (size_t i = 0; i < n; i++)
        if (codes[i].name == owner)
            return true;
    return false;
}

static bool is_noted(const struct mt_steppers *steppers, uint32_t stack)
{
    return stack / 64 < steppers->noted_room && steppers->noted[stack / 64] >> stack % 64 & 1;
}

static int set_noted(struct mt_steppers *steppers, uint32_t stack)
{
    if (MT_GROW(steppers->noted, steppers->noted_room, stack / 64))
        return -ENOMEM;
    steppers->noted[stack / 64] |= UINT64_C(1) << stack % 64;
    return 0;
}

int mt_steppers_note(struct mt_steppers *steppers, const struct mt_definitions *definitions,
                     uint32_t stack, const struct mt_when *now, enum mt_phase phase)
{
    struct mt_own_code codes[MOST_FRAMES];
    size_t n = 0, first = 0;
    bool is_after = now->backwards && phase == MT_PHASE_OUTSIDE, more = false;
    if (phase == MT_PHASE_BACKWARD || is_noted(steppers, stack))
        return 0;
    for (uint32_t at = stack; at && n < MOST_FRAMES; at = mt_stack(definitions, at)->parent) {
        const struct mt_own_code *code = code_of(steppers, definitions, at);
        if (!code)
            return -ENOMEM;
        codes[n++] = *code;
        first = code->is_constructor ? n : first; /* what it calls only constructs */
    }
    for (size_t i = first; i < n; i++) {
        if (!codes[i].owner || is_within(codes + i + 1, n - i - 1, codes[i].owner))
            continue;
        uint32_t place = MT_PLACE_OF(&steppers->by_name, codes[i].owner, steppers->stepper,
                                     steppers->capacity, steppers->n);
        if (!place)
            return -ENOMEM;
        more |= note_one(steppers, &steppers->stepper[place - 1], now, is_after);
    }
    return more ? 0 : set_noted(steppers, stack);
}

static bool is_stepper(const struct mt_steppers *steppers, uint64_t name)
{
    uint32_t place = name ? mt_address_map_get(&steppers->by_name, name) : 0;
    return place && !steppers->stepper[place - 1].is_other &&
           steppers->stepper[place - 1].times >= LEAST_TIMES;
}

bool mt_steppers_made(const struct mt_steppers *steppers, const struct mt_definitions *definitions,
                      uint32_t stack)
{
    for (uint32_t n = 0; stack && n < MOST_FRAMES; n++) {
        uint32_t place =
            mt_address_map_get(&steppers->by_frame, mt_stack(definitions, stack)->frame);
        const struct mt_own_code *code = place ? &steppers->code[place - 1] : NULL;
        if (code && (is_stepper(steppers, code->owner) || is_stepper(steppers, code->name)))
            return true;
        stack = mt_stack(definitions, stack)->parent;
    }
    return false;
}
