/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The graph of references, in the child process that has a copy of the program's memory (child.c):
 * nodes by address, each with the node from which it was first reached. Only the child uses it: one
 * thread, memory straight from the kernel, no locks.
 */
#ifndef MT_HOLDERS_PICTURE_H
#define MT_HOLDERS_PICTURE_H

#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum mt_node_sort {
    MT_NODE_OBJECT,  /* of Python */
    MT_NODE_IMPL,    /* c10::TensorImpl */
    MT_NODE_STORAGE, /* c10::StorageImpl */
    MT_NODE_GRAPH,   /* torch::autograd::Node */
    MT_NODE_CHUNK,   /* on the C++ heap, owned by one of those */
};

enum {
    MT_NODE_IS_TRACKED = 1, /* by Python's collector */
    MT_NODE_IS_REACHED = 2,
    MT_NODE_IS_GLOBALS = 4, /* a module, or its dict: only a root */
    MT_NODE_IS_IN_CYCLE = 8,
};

#define MT_NO_NODE UINT32_MAX
#define MT_ROOT_BIT (1u << 31) /* for a parent: the rest is the number of a root */

/* How a path begins. */
enum mt_picture_root_sort {
    MT_ROOT_NATIVE,  /* not referred to by any Python object, but counts as referred to */
    MT_ROOT_FRAME,   /* a local variable of a running function */
    MT_ROOT_STACK,   /* a value on its stack */
    MT_ROOT_GLOBALS, /* a module's dict */
    MT_ROOT_HANDLED, /* an exception being handled */
    MT_ROOT_RAISED,
    MT_ROOT_LAST, /* sys.last_exc */
    MT_ROOT_THREAD,
    MT_ROOT_AUTOCAST, /* its cache of weights */
    MT_ROOT_CYCLE,
};

struct mt_picture_root {
    enum mt_picture_root_sort sort;
    uint32_t index;   /* of the frame's variable */
    uint64_t address; /* of the frame, or the dict */
};

struct mt_picture {
    uint32_t n, most;
    uint64_t *address;
    uint32_t *parent; /* that it was reached from */
    int64_t *refs;    /* references to a tracked object from untracked ones */
    uint8_t *sort, *flags;
    uint32_t *place, places; /* hash table of the nodes by address */
    uint32_t *queue, head, tail;
    uint32_t *later, later_head, later_tail; /* other paths to their tensors are more informative */
    struct mt_picture_root *root;
    uint32_t n_roots, most_roots;
    bool is_full;
    int parent_pid;
    uint64_t room; /* bytes that memory limits left at the start; UINT64_MAX: no limit */
};

extern struct mt_picture mt_picture;

/* Allocate memory for so many nodes. Return 0 or -ENOMEM. */
int mt_picture_create(uint32_t most);

/* Return the number of a node; MT_NO_NODE: not found (find), or no room (add). */
uint32_t mt_picture_find(uint64_t address);
uint32_t mt_picture_add(uint64_t address, enum mt_node_sort sort);

/* Reach a node from another or from a root: queue it if this is the first time. */
void mt_picture_reach(uint64_t address, enum mt_node_sort sort, uint32_t parent);
/* The same, but process the node only after all others. */
void mt_picture_reach_later(uint64_t address, enum mt_node_sort sort, uint32_t parent);

/* Add a root. Return the value that its children have as their parent. */
uint32_t mt_picture_add_root(enum mt_picture_root_sort sort, uint64_t address, uint32_t index);

/* Return the next node of the queue, or MT_NO_NODE if it is empty. */
static inline uint32_t mt_picture_next(void)
{
    if (mt_picture.head != mt_picture.tail)
        return mt_picture.queue[mt_picture.head++];
    return mt_picture.later_head == mt_picture.later_tail
               ? MT_NO_NODE
               : mt_picture.later[mt_picture.later_head++];
}

/* A read or call that may crash: `if (MT_MAY_CRASH()) { ...; mt_crash_over(); }`. After a crash,
 * execution continues after the block. Not nestable. */
extern sigjmp_buf mt_picture_crash_point;
extern volatile bool mt_picture_may_crash;
extern volatile uint32_t mt_picture_crashes;
#define MT_MAY_CRASH() (mt_picture_may_crash = true, !sigsetjmp(mt_picture_crash_point, 0))
static inline void mt_crash_over(void)
{
    mt_picture_may_crash = false;
}

static inline uint64_t mt_word(uint64_t address)
{
    uint64_t word;
    memcpy(&word, (const void *)(uintptr_t)address, sizeof word);
    return word;
}

/* Return whether the whole range is mapped and readable. */
bool mt_is_readable(uint64_t address, uint64_t size);

/* Read the list of mappings. Return 0 or -ENOENT. */
int mt_picture_read_mappings(void);

/* The variables of PyTorch's libraries, according to that list. */
#define MT_MOST_TORCH_VARIABLES 64u
struct mt_mapping {
    uint64_t begin, end;
};
extern struct mt_mapping *mt_picture_torch_variables;
extern uint32_t mt_picture_n_torch_variables;

#endif
