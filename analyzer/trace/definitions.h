/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The definitions of the ids in a trace. Filled while the trace is read. Ids that were never
 * defined, or in an impossible way (a stack before its caller), are "?". Owned by one thread.
 */
#ifndef MT_DEFINITIONS_H
#define MT_DEFINITIONS_H

#include "trace-format/meaning/serving.h"
#include "trace-format/meaning/source-blocks.h"
#include "trace-format/model.h"

#include <stdbool.h>
#include <stdlib.h>

#include <string.h>

struct mt_definitions;

struct mt_frame {
    const char *function, *file; /* "?" if unknown, never NULL */
    uint32_t name;               /* the function's string id; 0: none */
    uint32_t line;               /* 0: unknown */
    uint32_t marks;              /* enum mt_mark */
    uint32_t place;              /* the first frame with this function, file and line */
    /* Native frames; before the lookup, function is "library+0xaddress" and file is the library's
     * path. */
    bool is_native : 1;
    bool is_gap : 1;    /* stands for the left out frames of a deep stack */
    bool is_before : 1; /* stands for all that is from before the recording */
    bool is_named : 1;  /* by the trace, or by a lookup */
    bool is_sought : 1; /* was looked up, perhaps without success */
    uint32_t image;     /* 0: its code is in no file */
    uint64_t address;   /* in the image, as in its symbol table */
    /* Frames that run for a torch.nn module: the outermost module's class, and the name of this one
     * in it ("": it is the outermost itself). NULL: other frames. */
    const char *root, *path;
    const char *called; /* this module, as shown */
    enum mt_serving serving;
};

/* A library or the program. */
struct mt_trace_image {
    const char *build_id; /* hexadecimal, "": none */
    const char *path;     /* "?" if unknown */
};

struct mt_stack {
    uint32_t parent; /* the caller's stack; always defined and less deep. 0: none */
    uint32_t frame;
    uint32_t marks;  /* of the innermost frame and all its callers */
    uint32_t phase;  /* the phase marks of the innermost frame that has any */
    uint32_t user;   /* the stack of the innermost frame outside framework code, a Python frame
                      * before a native one; 0: none */
    uint32_t python; /* the stack of the innermost Python frame; 0: none */
    uint32_t caller; /* the stack that called the outermost module whose forward runs; 0: none */
    uint32_t call;   /* the frame of the innermost call of a torch.nn module; 0: none */
    uint32_t custom; /* string id of "Class.backward": of the innermost torch.autograd.Function
                      * whose backward runs; 0: none */
    uint32_t depth;  /* frames */
    enum mt_serving serving;
};

struct mt_info {
    const char *key, *value;
};

/* Create definitions. NULL: no memory. */
struct mt_definitions *mt_definitions_create(void);
void mt_definitions_destroy(struct mt_definitions *definitions);

/* Copy the definition. 0, -ENOMEM, or -EINVAL if it makes no sense (an id far out of order, a
 * second definition of an id): it is then left out and nothing else is wrong. */
int mt_definitions_add(struct mt_definitions *definitions, const struct mt_definition *definition);

/* Finish, after all definitions: find the constructors of the program's own modules, which needs
 * all frames. May be called again as a trace grows. 0 or -ENOMEM. */
int mt_definitions_finish(struct mt_definitions *definitions);

/* Return a text. All accept any id. Results live as long as the definitions, but the addresses of
 * frames and stacks only until the next mt_definitions_add. */
const char *mt_string(const struct mt_definitions *definitions, uint32_t id);
const struct mt_frame *mt_frame(const struct mt_definitions *definitions, uint32_t id);
const struct mt_stack *mt_stack(const struct mt_definitions *definitions, uint32_t id);

/* Prefetch a stack that will be used soon. */
void mt_stack_expect(const struct mt_definitions *definitions, uint32_t id);

/* Return one more than the highest id of a string; of a frame; of a stack. */
uint32_t mt_definitions_string_limit(const struct mt_definitions *definitions);
uint32_t mt_definitions_frame_limit(const struct mt_definitions *definitions);
uint32_t mt_definitions_stack_limit(const struct mt_definitions *definitions);

struct mt_trace_image mt_trace_image(const struct mt_definitions *definitions, uint32_t id);

/* Return the innermost frame of a stack. */
static inline const struct mt_frame *mt_stack_frame(const struct mt_definitions *definitions,
                                                    uint32_t stack)
{
    return mt_frame(definitions, mt_stack(definitions, stack)->frame);
}

/* Return what is one number for all stacks with one innermost line of code. */
static inline uint32_t mt_stack_place(const struct mt_definitions *definitions, uint32_t stack)
{
    return mt_stack_frame(definitions, stack)->place;
}

/* Return whether a stack is that of blocks which were allocated before the recording began. */
bool mt_is_from_before(const struct mt_definitions *definitions, uint32_t stack);

/* Return whether there are such blocks: the recording began during the run. */
bool mt_begins_late(const struct mt_definitions *definitions);

/* Keys of what memtap import notes: what it was made of, and the bytes that a profiler's totals
 * have from before its first event, of which nothing else is known. */
#define MT_IMPORTED "imported"
#define MT_IMPORT_UNKNOWN "imported_unknown"

/* Return the library that requested memory, a file's name: that of the innermost native frame,
 * except CUDA's runtime and PyTorch's own. NULL: not known. */
const char *mt_library_of(const struct mt_definitions *definitions, uint32_t stack);

/* Return whether that is one of NVIDIA's: cuBLAS, cuDNN, NCCL ... */
bool mt_is_of_library(const struct mt_definitions *definitions, uint32_t stack);

/* Return the stack whose innermost frame is the line that stands for a stack: the user's; where
 * there is none, the innermost Python frame's; else its own. 0: unknown. What is the user's is
 * decided where stacks are added. */
static inline uint32_t mt_stack_line(const struct mt_definitions *definitions, uint32_t id)
{
    const struct mt_stack *stack = mt_stack(definitions, id);
    return stack->user ? stack->user : stack->python ? stack->python : stack->depth ? id : 0;
}

/* Return the frame for output: a native frame's function, file and line are looked up in its file
 * the first time (symbols.h), unless the trace names them. */
const struct mt_frame *mt_named_frame(const struct mt_definitions *definitions, uint32_t id);
/* Write "train.py:42 main", the innermost frame; "unknown" if there is none. */
void mt_place_text(char *out, size_t size, const struct mt_definitions *definitions,
                   uint32_t stack);

/* Write the same after the program's name for the block, in quotes; name 0: none. */
void mt_named_place_text(char *out, size_t size, const struct mt_definitions *definitions,
                         uint32_t name, uint32_t stack);

/* Return the torch.nn module that a stack runs for: "layers.3.mlp", the outermost one's class; "":
 * none, or unknown. If the program called several modules with named parts, each name begins with
 * the class of its outermost one: "Generator.main.0" (after mt_definitions_finish). */
const char *mt_stack_module(const struct mt_definitions *definitions, uint32_t stack);

/* Return the name of the outermost module that a stack runs for, one address for one name; NULL:
 * none, or unknown. */
static inline const char *mt_stack_root(const struct mt_definitions *definitions, uint32_t stack)
{
    uint32_t call = mt_stack(definitions, stack)->call;
    return call ? mt_frame(definitions, call)->root : NULL;
}

/* Return a thread's name, "": none or unknown; *os_thread its kernel id or 0. */
const char *mt_thread(const struct mt_definitions *definitions, uint32_t id, uint32_t *os_thread);

/* Return the value of an info record, NULL: none. Several with one key: the last. */
const char *mt_info(const struct mt_definitions *definitions, const char *key);
const struct mt_info *mt_info_at(const struct mt_definitions *definitions, size_t index);

/* Records that are not about the process: a compact trace's own on the whole trace, and those on
 * single frames. */
#define MT_WHOLE "whole."
static inline bool mt_info_is_apart(const struct mt_info *info)
{
    return !strncmp(info->key, MT_WHOLE, sizeof MT_WHOLE - 1) ||
           !strncmp(info->key, MT_LOOP_INFO, sizeof MT_LOOP_INFO - 1);
}

/* Return the number of events of the trace that a compact one was made from; 0: it is not
 * compact. */
static inline uint64_t mt_compact_of(const struct mt_definitions *definitions)
{
    const char *compact = mt_info(definitions, "compact");
    return compact ? strtoull(compact, NULL, 10) : 0;
}

/* A process's place in a job of several. */

/* Return the launcher's text; NULL: the trace does not have it. It lives as long as the
 * definitions. */
const char *mt_rank_text(const struct mt_definitions *definitions);
const char *mt_world_size_text(const struct mt_definitions *definitions);

/* Return how many ranks a simulated one represents. NULL: unknown. */
const char *mt_stands_for_text(const struct mt_definitions *definitions);

/* Return whether an info record has the rank: *value is it, of *size bytes. */
bool mt_names_rank(const struct mt_definition *definition, const char **value, size_t *size);

/* Describe a frame's line: as the trace has it, or for native frames as the unchanged source file
 * does. It is known if either has it. */
void mt_describe_frame(const struct mt_definitions *definitions, uint32_t frame,
                       struct mt_source_facts *out);

/* The text of a line of the program, if its file has not changed since the run. */

/* Copy the line of a stack's innermost frame, without surrounding blanks. Return 1; 0: the program
 * ran on another machine, or the file is missing, not a source file, or changed since the recording
 * began. The text is foreign: print it safely. */
bool mt_source_line(char *out, size_t size, const struct mt_definitions *definitions,
                    uint32_t stack);

#endif
