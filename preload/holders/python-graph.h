/* SPDX-License-Identifier: Apache-2.0 */
/* Python's objects in a picture of the program's memory: those that the collector tracks, what they
 * refer to, and the roots from which the program reaches them. */
#ifndef MT_HOLDERS_PYTHON_GRAPH_H
#define MT_HOLDERS_PYTHON_GRAPH_H

#include "layouts.h"
#include "preload/python/python-versions.h"

#include <stdbool.h>
#include <stdint.h>

/* The Python of this process. */
struct mt_holder_python {
    const struct mt_python_layout *layout; /* NULL: none, or not known */
    const struct mt_holder_layout *holding;
    uint64_t thread; /* PyThreadState of the thread whose moment it is; 0: none */
    /* Functions of CPython's API; they only read. */
    void *(*first_interpreter)(void), *(*next_interpreter)(void *);
    void *(*first_thread)(void *), *(*next_thread)(void *);
    int (*is_finalizing)(void);
    uint64_t runtime; /* _PyRuntime */
    uint64_t module, frame, function, method, generator, coroutine, async_generator, traceback;
};

extern struct mt_holder_python mt_holder_python;

/* What an object's type, or one that it derives from, is. */
enum mt_holder_type {
    MT_TYPE_PLAIN,
    MT_TYPE_TENSOR,
    MT_TYPE_CONTEXT, /* of a torch.autograd.Function: ctx */
    MT_TYPE_STORAGE,
    MT_TYPE_OF_THREAD, /* the values of a threading.local for a thread */
    MT_TYPE_LOCAL,     /* threading.local */
    MT_TYPE_CACHE,     /* functools.lru_cache's */
    MT_TYPE_ARRAY,     /* numpy's */
    MT_TYPE_OPTIMIZER, /* of torch.optim */
    MT_TYPE_LEAF,      /* it refers to nothing */
};
enum mt_holder_type mt_holder_type_of(uint64_t object);

/* Return the address of the C++ object of a tensor or storage. */
uint64_t mt_holder_wrapped(uint64_t object);

/* Add all tracked objects to the picture. Return 0, -ENOENT: not found; -ENOMEM. */
int mt_objects_read(void);

/* Add those that a collection which is under way has moved to lists of its own, as far as others
 * lead to them: not what it has found to be garbage. */
void mt_objects_read_moved(void);

/* Subtract from each object's references those by tracked objects and by running functions. */
void mt_objects_count(void);

/* Call for each object that an object refers to. */
typedef int mt_visit(void *object, void *data);
void mt_object_visit(uint64_t object, mt_visit *visit, void *data);

/* Reach what a node of Python refers to. */
void mt_object_expand(uint32_t node);

/* Return a function's frame as a range of variables: names and addresses. */
unsigned mt_frame_variables(uint64_t code);

/* Copy the name of a variable of a function's frame. */
void mt_variable_name(uint64_t code, unsigned i, char *out, unsigned size);

/* Return the first variable's address in the frame. */
static inline uint64_t mt_variable(uint64_t frame, unsigned i)
{
    return frame + (uint64_t)mt_holder_python.layout->frame_locals + 8ull * i;
}

/* Reach from roots: running functions and modules (of the program's own files or libraries'), what
 * threads have, values at hand, and everything else that is referred to by something else. */
void mt_roots_of_code(bool is_own);
void mt_roots_of_threads(void);
void mt_roots_at_hand(void);
void mt_roots_native(void);

/* Find the cycles of what nothing has reached; then reach it from those of their objects that are
 * dicts, or are not. */
void mt_roots_garbage(void);
void mt_roots_of_cycles(bool of_dicts);

/* Return a node's predecessor in its cycle. */
uint32_t mt_cycle_referrer(uint32_t node);

/* Return the objects of one of numpy's arrays, in the order of memory, and how many there are; 0:
 * it has none, or they are another array's (its base). */
uint64_t mt_array_objects(uint64_t array, const uint64_t **out);

#endif
