/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Optimizers written by hand, without PyTorch's class: a class, or a function that returns another,
 * whose code runs after backward, and never before the first backward or in forward. What its
 * constructor allocated is its state. A data loader differs: it runs before each forward, in
 * evaluation too.
 */
#ifndef MT_STEPPERS_H
#define MT_STEPPERS_H

#include <stdbool.h>

#include "analyzer/support/address-map.h"
#include "analyzer/trace/definitions.h"
#include "trace-format/meaning/phase.h"

struct mt_steppers {
    struct mt_address_map by_name; /* hash of class or function, and file -> index, from 1 */
    struct mt_stepper {
        uint32_t backwards, calls; /* when it last ran */
        uint32_t times;            /* number of backwards after which it ran */
        bool is_other;             /* it also runs elsewhere */
    } *stepper;
    size_t n, capacity;
    struct mt_address_map by_frame; /* its id -> index, from 1 */
    struct mt_own_code {
        uint64_t name, owner; /* hashes with the file; 0: PyTorch's code, or no enclosing name */
        bool is_constructor;
    } *code;
    size_t n_codes, codes_capacity;
    uint64_t *noted;   /* bit set of stacks that need no further look */
    size_t noted_room; /* words */
    uint64_t changes;  /* number of changes */
};

/* Clear a table; one of zeros is empty. */
void mt_steppers_clear(struct mt_steppers *steppers);

/* Note that code with this Python stack runs, in a thread in this phase, before any step of an
 * optimizer of PyTorch's kind. Return 0 or -ENOMEM. */
int mt_steppers_note(struct mt_steppers *steppers, const struct mt_definitions *definitions,
                     uint32_t stack, const struct mt_when *now, enum mt_phase phase);

/* Return whether the class or function of such an optimizer is on the stack. */
bool mt_steppers_made(const struct mt_steppers *steppers, const struct mt_definitions *definitions,
                      uint32_t stack);

#endif
