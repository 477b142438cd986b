/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the ids in a trace stand for. Filled while the trace is read; everything that was never
 * defined, or in a way that cannot be (a stack before its caller), is "?". Owned by one thread.
 */
#ifndef MT_DEFINITIONS_H
#define MT_DEFINITIONS_H

#include "trace-format/model.h"

#include <stdbool.h>
#include <stdlib.h>

#include <string.h>

struct mt_definitions;

struct mt_frame {
    const char *function, *file; /* "?" where not known, never NULL */
    uint32_t name;               /* the function's string id; 0: none */
    uint32_t line;               /* 0: not known */
    uint32_t marks;              /* enum mt_mark */
    /* Native frames; before they are looked up, function is "library+0xaddress" and file is the
     * library's path. */
    uint8_t is_native;
    uint8_t is_gap;    /* stands for frames of a deep stack that are left out */
    uint8_t is_named;  /* by the trace, or where it was looked up */
    uint8_t is_sought; /* was looked up, in vain perhaps */
    uint32_t image;    /* 0: its code was in no file */
    uint64_t address;  /* in the image, as its symbol table has it */
    /* Frames that are at work for a torch.nn module: the outermost one's class, and the name in it
     * (""; it is that one). NULL: others. */
    const char *root, *path;
    const char *called; /* that module, as it is shown */
};

/* A library or the program. */
struct mt_trace_image {
    const char *build_id; /* hexadecimal, "": none */
    const char *path;     /* "?" where not known */
};

struct mt_stack {
    uint32_t parent; /* the caller's stack; always defined and of a smaller depth. 0: none */
    uint32_t frame;
    uint32_t marks;  /* of the innermost frame and all its callers */
    uint32_t phase;  /* the phase marks of the innermost frame that has any */
    uint32_t user;   /* the stack of the innermost frame that is no framework code, a Python frame
                      * before a native one; 0: none */
    uint32_t python; /* the stack of the innermost Python frame; 0: none */
    uint32_t call;   /* the frame of the innermost call of a torch.nn module; 0: none */
    uint32_t custom; /* string id of "Class.backward": of the innermost torch.autograd.Function whose
                      * backward runs; 0: none */
    uint32_t depth;  /* frames */
};

struct mt_info {
    const char *key, *value;
};

/* NULL when there is no memory. */
struct mt_definitions *mt_definitions_create(void);
void mt_definitions_destroy(struct mt_definitions *definitions);

/* Takes a copy of the definition. 0, -ENOMEM, or -EINVAL where it makes no sense (an id far out of
 * line, a second definition of an id): it is then left out and nothing else is wrong. */
int mt_definitions_add(struct mt_definitions *definitions, const struct mt_definition *definition);

/* Everything is defined: finds what needs all frames to be known, namely which constructors are
 * those of modules of the program's own. Of a trace that grows again and again. 0 or -ENOMEM. */
int mt_definitions_finish(struct mt_definitions *definitions);

/* All of these answer for any id; the results live as long as the definitions, but the frames' and
 * stacks' addresses only until the next mt_definitions_add. */
const char *mt_string(const struct mt_definitions *definitions, uint32_t id);
const struct mt_frame *mt_frame(const struct mt_definitions *definitions, uint32_t id);
const struct mt_stack *mt_stack(const struct mt_definitions *definitions, uint32_t id);

/* The stack is about to be looked at: memory may bring it while other work is done. */
void mt_stack_expect(const struct mt_definitions *definitions, uint32_t id);

/* One more than the highest id of a string; of a frame; of a stack. */
uint32_t mt_definitions_string_limit(const struct mt_definitions *definitions);
uint32_t mt_definitions_frame_limit(const struct mt_definitions *definitions);
uint32_t mt_definitions_stack_limit(const struct mt_definitions *definitions);

struct mt_trace_image mt_trace_image(const struct mt_definitions *definitions, uint32_t id);

/* The innermost frame of a stack. */
static inline const struct mt_frame *mt_stack_frame(const struct mt_definitions *definitions,
                                                    uint32_t stack)
{
    return mt_frame(definitions, mt_stack(definitions, stack)->frame);
}

/* The frame for showing it: a native one's function, file and line are looked up in its file at the
 * first time (symbols.h), unless the trace names them. */
const struct mt_frame *mt_named_frame(const struct mt_definitions *definitions, uint32_t id);
/* "train.py:42 main", of the innermost frame; "unknown" where there is none. */
void mt_place_text(char *out, size_t size, const struct mt_definitions *definitions,
                   uint32_t stack);

/* The same after the name that the program gave to what was made there, in quotes; 0: none. */
void mt_named_place_text(char *out, size_t size, const struct mt_definitions *definitions,
                         uint32_t name, uint32_t stack);

/* The torch.nn module that a stack is at work for: "layers.3.mlp", the class's name of the
 * outermost one; "": none, or not known. Where the program called several that have named parts,
 * each name begins with the class of its outermost one: "Generator.main.0" (after
 * mt_definitions_finish). */
const char *mt_stack_module(const struct mt_definitions *definitions, uint32_t stack);

/* A thread's name, "" where it has none or is not known; *os_thread its kernel id or 0. */
const char *mt_thread(const struct mt_definitions *definitions, uint32_t id, uint32_t *os_thread);

/* The value of an info record, NULL where there is none. Several with one key: the last. */
const char *mt_info(const struct mt_definitions *definitions, const char *key);
const struct mt_info *mt_info_at(const struct mt_definitions *definitions, size_t index);

/* In a compact trace: records of its own for what only a whole one shows. They say nothing of the
 * process. */
#define MT_WHOLE "whole."
static inline bool mt_info_is_whole(const struct mt_info *info)
{
    return !strncmp(info->key, MT_WHOLE, sizeof MT_WHOLE - 1);
}

/* Events of the trace that a compact one was made of; 0: it is not one. */
static inline uint64_t mt_compact_of(const struct mt_definitions *definitions)
{
    const char *compact = mt_info(definitions, "compact");
    return compact ? strtoull(compact, NULL, 10) : 0;
}

#endif
