/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What other files keep for each thread (struct mt_thread in recorder.h). It is declared down here,
 * so that a thread is one piece of memory, without a pointer on the path of an event. A part is
 * written by the file that is named at it.
 */
#ifndef MT_PRELOAD_THREAD_PARTS_H
#define MT_PRELOAD_THREAD_PARTS_H

#include <stdbool.h>
#include <stdint.h>

/* --- stacks/python-frames.c ------------------------------------------------------------------ */

/* Python frames kept, as many as Python allows by default (sys.getrecursionlimit). Deeper stacks
 * keep the outermost MT_STACK_OUTER frames and the innermost ones. */
#define MT_STACK_DEPTH 1024u
#define MT_STACK_OUTER 64u

/* What identifies a frame of the stack that this thread recorded last (python-frames.c). These
 * words are compared at each event: four frames per cache line. */
struct mt_frame_words {
    uint64_t frame, instruction; /* instruction has MT_BY_OBJECT set if the object counts, too */
};

#define MT_BY_OBJECT (UINT64_C(1) << 63)

/* What is known about the same frame. */
struct mt_known_frame {
    uint64_t code;    /* as the frame has it */
    uint64_t object;  /* the first argument, if it is a torch.nn module */
    uint32_t stamp;   /* of the code (deaths.h) */
    uint32_t stack;   /* id of the stack that ends with this frame */
    uint32_t module;  /* the module that the frame runs for (python-modules.h) */
    bool is_lost;     /* it has no id: the tables are full */
    bool is_step;     /* the object is an optimizer and this frame its step */
    bool is_hidden;   /* CPython does not show it */
    uint8_t in_cache; /* its role for KV caches: the bits below */
};

/* The roles of frames for KV caches (kv-cache.h). */
enum {
    MT_MAKES_CACHE = 1, /* tensors created in the frame and its callees belong to a cache */
    MT_MAKES_ROOM = 2,  /* some of them may */
    MT_KNOWS_ROOM = 4,  /* the frame's object knows the capacity */
};

/* The stack of the thread's last event; outermost frame first, from 1 on. */
struct mt_thread_frames {
    uint64_t code_deaths; /* as of then (deaths.h) */
    uint32_t last_stack;  /* last one looked up (cache.h) */
    bool is_cut;          /* it is truncated */
    bool defines;         /* the thread holds the intern lock for the rest of the stack */
    uint8_t in_cache;     /* the role of its innermost frames for KV caches */
    unsigned n;
    struct mt_frame_words words[1 + MT_STACK_DEPTH];
    struct mt_known_frame known[1 + MT_STACK_DEPTH];
    uint16_t place[MT_STACK_DEPTH];  /* in known, by the frame's address; may be another frame's */
    uint64_t walked[MT_STACK_DEPTH]; /* frames to look up, innermost first */
};

/* --- modules/read-objects.h: what to read before the thread's next event -----------------------
 */

struct mt_thread_pending {
    union {
        struct {
            uint32_t n_steps; /* nested ones that run */
            uint32_t n_gradients;
        };
        uint64_t follow_up; /* nonzero if there are any */
    };
    bool has_to_read; /* ended steps, gradients, or this: */
    struct {
        uint64_t object; /* the called outermost module; 0: none */
        bool is_new;
        bool is_moved; /* its tensors are about to change */
    } called;
};

/* --- modules/optimizer-state.c -----------------------------------------------------------------
 */

/* An optimizer step around the thread's last event (optimizer-state.h). */
#define MT_STEPS 4u
struct mt_running_step {
    uint64_t optimizer;
    unsigned at; /* in known */
};

struct mt_thread_steps {
    uint64_t read_at; /* ring words at which optimizers are read next */
    unsigned n_ended;
    uint64_t ended[MT_STEPS];                 /* optimizers whose steps have ended */
    struct mt_running_step running[MT_STEPS]; /* pending.n_steps */
};

/* --- modules/gradients.c ------------------------------------------------------------------------
 */

/* A leaf whose gradient may change, or has changed since the thread's last event (gradients.h). */
#define MT_GRADIENTS 32u
struct mt_gradient {
    uint64_t leaf, meta; /* addresses of its TensorImpl and its autograd data*/
    uint64_t slot;       /* address of the gradient within that */
    uint64_t before;     /* its old value*/
    uint64_t replaced;   /* address of the old gradient's data; 0: none */
    unsigned looks;      /* checks since */
};

struct mt_thread_gradients {
    struct mt_gradient waiting[MT_GRADIENTS]; /* pending.n_gradients */
};

/* --- modules/module-members.c -------------------------------------------------------------------
 */

struct mt_thread_modules {
    uint64_t read_at; /* ring words at which modules are scanned next */
};

/* --- modules/node-names.c -----------------------------------------------------------------------
 */

/* A type of autograd node that the thread has run (node-names.h). */
#define MT_NODE_TYPES 64u
struct mt_node_type {
    uint64_t vtable; /* 0: none */
    uint32_t name;
};

struct mt_thread_nodes {
    struct mt_node_type type[MT_NODE_TYPES]; /* by a hash of the vtable */
};

/* --- torch/requests.c ---------------------------------------------------------------------------
 */

/* The origin of the thread's last alloc (torch/requests.h). */
struct mt_thread_request {
    uint64_t stream, pool;
    uint64_t shared; /* the last known pool of this device whose blocks all share; 0: none */
    int device;
    uint32_t thread; /* id of the thread; 0: there was none */
};

#endif
