/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Optimizers that a program writes by hand, without a class of PyTorch's: a class, or a function
 * that gives back another, whose code works after backward, and never before the first one nor in
 * forward. What its constructor made is its state. A class that has data works in between: it gives
 * a batch to each forward, also in evaluation.
 */
#ifndef MT_STEPPERS_H
#define MT_STEPPERS_H

#include <stdbool.h>

#include "analyzer/support/address-map.h"
#include "analyzer/trace/definitions.h"
#include "trace-format/meaning/phase.h"

struct mt_steppers {
    struct mt_address_map by_name; /* a class's or function's name and file -> place, from 1 */
    struct mt_stepper {
        uint32_t backwards, calls; /* when it worked last */
        uint32_t times;            /* backwards after which it worked */
        bool is_other;             /* it works elsewhere, too */
    } *stepper;
    size_t n, capacity;
    struct mt_address_map by_frame; /* its id -> place, from 1 */
    struct mt_own_code {
        uint64_t name, owner; /* hashes with the file; 0: PyTorch's code, and: it stands alone */
        bool is_constructor;
    } *code;
    size_t n_codes, codes_capacity;
    uint64_t *noted;   /* bits of the stacks with which nothing more is to be learned */
    size_t noted_room; /* words */
    uint64_t changes;  /* number of changes */
};

/* Clear a table; one of zeros is empty. */
void mt_steppers_clear(struct mt_steppers *steppers);

/* Note that code with this Python stack works at a moment, in a thread in this phase, before any
 * step of an optimizer of PyTorch's kind. 0 or -ENOMEM. */
int mt_steppers_note(struct mt_steppers *steppers, const struct mt_definitions *definitions,
                     uint32_t stack, const struct mt_when *now, enum mt_phase phase);

/* Return whether such an optimizer's class or function is on the stack. */
bool mt_steppers_made(const struct mt_steppers *steppers, const struct mt_definitions *definitions,
                      uint32_t stack);

#endif
