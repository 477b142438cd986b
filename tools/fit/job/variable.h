/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A variable of --vary: the values that it is to have, as the command line gives them.
 */
#ifndef MT_FIT_VARIABLE_H
#define MT_FIT_VARIABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MT_VALUE_TEXT 24 /* bytes of a number's text */

struct mt_variable {
    char *name;
    char **text; /* of a list; NULL: numbers, first + i * step */
    uint64_t first, step;
    size_t n;            /* values */
    bool is_ordered;     /* a range: its values go up */
    bool has_step;       /* the range says which of its values */
    bool is_environment; /* the program has it in its environment, not in its command line */
};

/* Read "NAME=VALUES": a range (1..512; 8..512+8: every 8th; 1..512*2: each twice the one before)
 * or a list (0,1; "\," is a comma in a value). 0; -EINVAL and what is wrong with it, in words that
 * follow the text; or -ENOMEM. To be cleared in any case. */
int mt_variable_read(struct mt_variable *variable, const char *text, char *wrong, size_t size);
void mt_variable_clear(struct mt_variable *variable);

/* Keep, of a range without steps, values that are each twice the one before, and the last. 0 or
 * -ENOMEM. */
int mt_variable_double(struct mt_variable *variable);

/* Return the text of value i: in the variable, or in `room`. */
const char *mt_variable_text(const struct mt_variable *variable, size_t i,
                             char room[MT_VALUE_TEXT]);

/* Return whether value i is a whole number, and which. */
bool mt_variable_number(const struct mt_variable *variable, size_t i, uint64_t *number);

#endif
