/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loops around a line of source, by its indentation: of Python, and of C as most people write
 * it. Add the file's lines in order up to that line.
 */
#ifndef MT_SOURCE_BLOCKS_H
#define MT_SOURCE_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

/* The info record "loop.FRAME=19,12;work,*" of a frame of Python, by its id: the lines that begin
 * the loops around its line in its function, the innermost first; then what the line does more than
 * once: functions that it calls, and "*" for arithmetic. */
#define MT_LOOP_INFO "loop."

#define MT_SOURCE_DEPTH 32u  /* of blocks, one in the other; deeper ones are left out */
#define MT_SOURCE_TWICE 128u /* bytes of such names; more are left out */

enum mt_source_kind { MT_SOURCE_OTHER, MT_SOURCE_FOR, MT_SOURCE_WHILE, MT_SOURCE_FUNCTION };

struct mt_source_blocks {
    unsigned n;
    struct {
        uint32_t line;
        unsigned indent;
        enum mt_source_kind kind;
    } block[MT_SOURCE_DEPTH];
};

/* What the source says of a line. */
struct mt_source_facts {
    bool is_known;
    unsigned n_loops;
    uint32_t loops[MT_SOURCE_DEPTH]; /* lines that begin them, the innermost first */
    char twice[MT_SOURCE_TWICE];     /* what it does more than once: "work,*" */
};

/* Add the next line. Each line is kept, whether or not it begins a block: only what is less
 * indented is around a later one. is_last: the line in question, which may be empty. */
void mt_source_add(struct mt_source_blocks *blocks, uint32_t line, const char *text, bool is_last);

/* Describe the last line, of this text: a line that begins a loop runs in it, and a comprehension
 * is one. Functions that allocate nothing, such as len, are left out of `twice`. */
void mt_source_describe(const struct mt_source_blocks *blocks, const char *text,
                        struct mt_source_facts *line);

/* Return whether a list such as "work,*" has a name. */
bool mt_source_has(const char *names, const char *name);

#endif
