/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The event model: what a trace contains. Writer and reader share these types; FORMAT.md specifies
 * their encoding. Sizes are bytes, times are ns since the trace's start (info
 * "start_monotonic_ns"). All functions here are pure and safe in any thread and signal handler.
 */
#ifndef MT_TRACE_MODEL_H
#define MT_TRACE_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MT_EVENT_ARGS 4
#define MT_STREAM_UNKNOWN UINT64_MAX

/* The function of the only frame of an alloc whose block, and of a cuda_malloc whose memory, is
 * from before the recording. */
#define MT_BEFORE_RECORDING "before the recording"

/* How a field is coded (FORMAT.md, "Codes"). */
enum mt_code {
    MT_CODE_PLAIN,     /* the value */
    MT_CODE_DELTA,     /* difference from the field's last value in the block */
    MT_CODE_ALLOCATED, /* difference from the device's last one plus or minus the size */
    MT_CODE_RESERVED,  /* difference from the device's last one */
    MT_CODE_RUNNING,   /* difference from the thread's last one; it ends what it began */
    MT_CODE_PENDING,   /* 0: the newest node that has not run yet (columns.h) */
};

/* The subject of an event. */
enum mt_about {
    MT_ABOUT_OTHER,
    MT_ABOUT_MEMORY, /* of an allocator, of CUDA, or of a device */
    MT_ABOUT_LABEL,  /* what the tensor at an address is for */
    MT_ABOUT_NODE,   /* autograd's nodes, which are also labels */
    MT_ABOUT_NAME,   /* what a program or a library calls the memory at an address */
    MT_ABOUT_RANGE,  /* phases that a program names */
};

/*
 * The event kinds: M(enumerator, number, name, about, fields), where fields is a list of
 * F(name, code), at most MT_EVENT_ARGS, in the order of mt_event.arg. A number is never reused.
 * The address of a tensor may point into a block (views).
 */
/* clang-format off */
#define MT_EVENT_KINDS(M, F)                                                                       \
    /* PyTorch's allocator hands out or frees a block. allocated and reserved: its own totals  \
     * for the device after the event, in bytes. */                                                \
    M(ALLOC, 1, "alloc", MEMORY,                                                                   \
      F(address, DELTA) F(size, PLAIN) F(allocated, ALLOCATED) F(reserved, RESERVED))              \
    M(FREE, 2, "free", MEMORY,                                                                     \
      F(address, DELTA) F(size, PLAIN) F(allocated, ALLOCATED) F(reserved, RESERVED))              \
    /* PyTorch's allocator could not serve `size` bytes (the program may catch the error). */          \
    M(OOM, 3, "oom", MEMORY,                                                                       \
      F(size, PLAIN) F(allocated, ALLOCATED) F(reserved, RESERVED))                                \
    /* CUDA's own memory. api: the call (cuda-apis.h), which says what the address is; result: its  \
     * error code, 0 is success. A free is recorded before the call. */                            \
    M(CUDA_MALLOC, 4, "cuda_malloc", MEMORY,                                                       \
      F(address, DELTA) F(size, PLAIN) F(result, PLAIN) F(api, PLAIN))                             \
    M(CUDA_FREE, 5, "cuda_free", MEMORY,                                                           \
      F(address, DELTA) F(api, PLAIN))                                                             \
    M(CUDA_FREE_FAILED, 6, "cuda_free_failed", MEMORY,                                             \
      F(address, DELTA) F(result, PLAIN) F(api, PLAIN))                                            \
    /* autograd: the tensor at address is saved for backward; a leaf that requires a gradient; \
     * gradient that a leaf (its address, 0: not known) keeps, whoever put it there. dtype: of its  \
     * elements (dtypes.h). */                                                                     \
    M(SAVED, 7, "saved", LABEL,                                                                    \
      F(address, DELTA) F(is_output, PLAIN) F(dtype, PLAIN))                                       \
    M(LEAF, 8, "leaf", LABEL,                                                                      \
      F(address, DELTA) F(dtype, PLAIN))                                                           \
    M(GRADIENT, 9, "gradient", LABEL,                                                              \
      F(address, DELTA) F(dtype, PLAIN) F(leaf, DELTA))                                                           \
    /* A backward node gets its output, the tensor at address on a device, in forward:             \
     * the event's stack is the forward line. It runs in backward. node: its address, reused after \
     * it is gone. name: string id of its C++ type's mangled name. */                              \
    M(NODE_NEW, 10, "node_new", NODE,                                                              \
      F(node, DELTA) F(address, DELTA))                                                            \
    M(NODE_BEGIN, 11, "node_begin", NODE,                                                          \
      F(node, PENDING) F(name, PLAIN))                                                             \
    M(NODE_END, 12, "node_end", NODE,                                                              \
      F(node, RUNNING))                                                                              \
    /* tensor.data = other (module.to(), .cuda()): address of the new data. elements: how many the  \
     * tensor has, 0: not known. */                                                                \
    M(SET_DATA, 13, "set_data", LABEL,                                                             \
      F(address, DELTA) F(dtype, PLAIN) F(elements, PLAIN))                                        \
    /* requires_grad set; from torch/nn/parameter.py:__new__ it makes a parameter. */              \
    M(REQUIRES_GRAD, 14, "requires_grad", LABEL,                                                   \
      F(address, DELTA) F(value, PLAIN) F(dtype, PLAIN) F(elements, PLAIN))                        \
    /* `count` events of this thread were not recorded just before this one. */                    \
    M(LOST, 15, "lost", OTHER,                                                                     \
      F(count, PLAIN))                                                                             \
    /* CUDA's own memory, in the order of a stream (its handle); they succeeded, a failure is a    \
     * cuda_malloc or cuda_free_failed. */                                                         \
    M(CUDA_MALLOC_ASYNC, 16, "cuda_malloc_async", MEMORY,                                          \
      F(address, DELTA) F(size, PLAIN) F(stream, DELTA) F(api, PLAIN))                             \
    M(CUDA_FREE_ASYNC, 17, "cuda_free_async", MEMORY,                                              \
      F(address, DELTA) F(stream, DELTA) F(api, PLAIN))                                            \
    /* Physical memory (handle: of a cuda_malloc by cuMemCreate) gets and loses addresses. */      \
    M(CUDA_MAP, 18, "cuda_map", MEMORY,                                                            \
      F(address, DELTA) F(size, PLAIN) F(handle, DELTA) F(api, PLAIN))                             \
    M(CUDA_UNMAP, 19, "cuda_unmap", MEMORY,                                                        \
      F(address, DELTA) F(size, PLAIN) F(api, PLAIN))                                              \
    /* What uses device memory that no call reports: a context, a module, a stream or a             \
     * communicator of NCCL, by its handle. size: of a module's image, as it was given to CUDA; 0:  \
     * not known. */                                                                               \
    M(CUDA_OBJECT, 20, "cuda_object", MEMORY,                                                      \
      F(handle, DELTA) F(api, PLAIN) F(size, PLAIN))                                               \
    M(CUDA_OBJECT_GONE, 21, "cuda_object_gone", MEMORY,                                            \
      F(handle, DELTA) F(api, PLAIN))                                                              \
    /* Ranges that the program names (NVTX, memtap.h). name, domain: string ids, domain 0: the      \
     * program's own. Those pushed nest per thread and domain; those started may end anywhere. */  \
    M(RANGE_PUSH, 22, "range_push", RANGE,                                                         \
      F(name, PLAIN) F(domain, PLAIN))                                                             \
    M(RANGE_POP, 23, "range_pop", RANGE,                                                           \
      F(domain, PLAIN))                                                                            \
    M(RANGE_START, 24, "range_start", RANGE,                                                       \
      F(range, DELTA) F(name, PLAIN) F(domain, PLAIN))                                             \
    M(RANGE_END, 25, "range_end", RANGE,                                                           \
      F(range, DELTA))                                                                             \
    M(RANGE_MARK, 26, "range_mark", RANGE,                                                         \
      F(name, PLAIN) F(domain, PLAIN))                                                             \
    /* The memory that address points into has this name until it is freed. */                     \
    M(NAMED, 27, "named", NAME,                                                                    \
      F(address, DELTA) F(name, PLAIN))                                                            \
    /* The device's free and total memory in bytes. own: used by this process, others: by all      \
     * others, as NVML reports; 0: unknown.          */                                             \
    M(DEVICE_MEMORY, 28, "device_memory", MEMORY,                                                  \
      F(total, PLAIN) F(free, PLAIN) F(own, PLAIN) F(others, PLAIN))                               \
    /* Memory was copied or set, by a call of a program without PyTorch. Addresses may point into  \
     * what was allocated, or be the host's. */                                                    \
    M(CUDA_COPY, 29, "cuda_copy", MEMORY,                                                          \
      F(to, DELTA) F(from, DELTA) F(size, PLAIN) F(api, PLAIN))                                    \
    M(CUDA_SET, 30, "cuda_set", MEMORY,                                                            \
      F(address, DELTA) F(size, PLAIN) F(api, PLAIN))                                              \
    /* The memory at address is given to a library of CUDA's (cuBLAS, cuDNN) to work in. */        \
    M(WORKSPACE, 31, "workspace", NAME,                                                            \
      F(address, DELTA) F(size, PLAIN))                                                            \
    /* An optimizer keeps the tensor at address for the parameter at parameter, under a name        \
     * (string id; 0: it has none); elements: how many the tensor has, 0: not known. Where both     \
     * are the same address, the optimizer works on that tensor. */                                \
    M(STATE, 32, "state", LABEL,                                                                   \
      F(address, DELTA) F(parameter, DELTA) F(name, PLAIN) F(elements, PLAIN))                     \
    /* An optimizer begins a step; the stack is inside it. */                                          \
    M(STEP, 33, "step", OTHER, )                                                                   \
    /* A torch.nn module has the tensor among its buffers; or, parameter being 1, its parameters; or, \
     * being 2, the module or one of its parameters keeps it in another attribute; being 3, a cache \
     * of keys and values made it, or a module has it under the name of such a cache. */           \
    M(MEMBER, 34, "member", LABEL,                                                                 \
      F(address, DELTA) F(parameter, PLAIN))                                                       \
    /* A storage (its own address) gives its memory at address back, size 0; or has got some again, \
     * and was the same tensor's before. size: bytes that it is to have. */                        \
    M(RESIZE, 35, "resize", LABEL,                                                                 \
      F(address, DELTA) F(storage, DELTA) F(size, PLAIN))                                          \
    /* The tensor at address is what this process has of the parameter that is the object at        \
     * parameter: as a whole it has so many elements, of that type. */                             \
    M(PART, 36, "part", LABEL,                                                                     \
      F(address, DELTA) F(parameter, DELTA) F(whole, PLAIN) F(dtype, PLAIN))                       \
    /* What PyTorch's allocator was asked for. The block of this thread's next alloc is larger than \
     * the request by so many bytes; without this event before it, it is as large. */              \
    M(REQUEST, 37, "request", OTHER,                                                               \
      F(unused, PLAIN))                                                                            \
    /* From here on, this thread's allocs of this device are of a stream (its handle; 0: the default \
     * one) and of a private pool (its address; 0: none). Stream MT_STREAM_UNKNOWN: from here on    \
     * requests are not known. */                                                                  \
    M(REQUEST_STREAM, 38, "request_stream", OTHER,                                                 \
      F(stream, PLAIN) F(pool, PLAIN))                                                             \
    /* The block of this thread's next free waits for work of other streams (record_stream); and the \
     * block that was at address has waited enough, and may be used again. */                      \
    M(FREE_WAITS, 39, "free_waits", OTHER, )                                                       \
    M(FREE_DONE, 40, "free_done", OTHER,                                                           \
      F(address, DELTA))                                                                           \
    /* What else the program did to PyTorch's allocator of a device, since its last alloc, free or oom: \
     * empty_cache, so many times; a limit of its memory from here on, in bytes (0: none);           \
     * other settings, as a text (string id), from here on, for all devices. */                     \
    M(EMPTY_CACHE, 41, "empty_cache", OTHER,                                                       \
      F(count, PLAIN))                                                                             \
    M(MEMORY_LIMIT, 42, "memory_limit", OTHER,                                                     \
      F(limit, PLAIN))                                                                             \
    M(ALLOC_CONF, 43, "alloc_conf", OTHER,                                                         \
      F(conf, PLAIN))                                                                              \
    /* On a simulated card the program read a value that is not simulated. what:      1 the size of a \
     * result, 2 a condition, 3 an integer for the program's own use, 4 a real number for it,      \
     * 5 a workspace of a convolution, 6 that of its fastest algorithm. count: how many such events \
     * this one stands for; 0: one. 7, 8: the user's cuDNN answers for workspaces; FORMAT.md. */    \
    M(UNKNOWN_VALUE, 44, "unknown_value", OTHER,                                                   \
      F(what, PLAIN) F(count, PLAIN))                                                              \
    /* A light recording has left out so many of PyTorch's blocks of this stack and device, with    \
     * their frees and labels, since the last such event: they lived for a moment only. */         \
    M(SHORT_LIVED, 45, "short_lived", OTHER,                                                       \
      F(blocks, PLAIN) F(bytes, PLAIN))                                                            \
    /* What keeps keys and values at address has room for so many tokens, as the objects say that   \
     * made it. longest: tokens of the longest sequence; 0: not known. each: room that such a       \
     * sequence takes; 0: not known, then tokens is the least that fit. */                          \
    M(ROOM, 46, "room", LABEL,                                                                     \
      F(address, DELTA) F(tokens, PLAIN) F(longest, PLAIN) F(each, PLAIN))                         \
    /* What keeps the memory at address alive, at the moment of the next `holders` event. path:    \
     * string id; steps from the root to the tensor, '\n' between them (FORMAT.md). root: enum     \
     * mt_holder_root. view: bytes of the tensor that the path leads to, if it is a view of a part \
     * of the memory; 0: all of it, or not known. Shorter paths of an address come first. */        \
    M(HOLDER, 47, "holder", OTHER,                                                                 \
      F(address, DELTA) F(path, PLAIN) F(root, PLAIN) F(view, PLAIN))                              \
    /* That list of holders ends. moment, result: enum mt_holders_moment, mt_holders_result.       \
     * objects: how many were visited. age: ns from the moment to this event. */                   \
    M(HOLDERS, 48, "holders", OTHER,                                                               \
      F(moment, PLAIN) F(result, PLAIN) F(objects, PLAIN) F(age, PLAIN))                           \
    /* Work on the memory at address was launched. name: string id of the kernel's mangled name; 0: \
     * a copy or a fill, or not known. how: bits of enum mt_use. Only the end of a killed process's \
     * trace has these; before it, they are in `uses`. Address 0: work on other memory. */         \
    M(USE, 49, "use", OTHER,                                                                       \
      F(address, DELTA) F(name, PLAIN) F(how, PLAIN))                                              \
    /* A use of the block at address, which is freed next, or is live at out of memory or the end:  \
     * ago ns before this event, by the thread and with the stack of this event. which: bits of     \
     * enum mt_uses. */                                                                            \
    M(USES, 50, "uses", OTHER,                                                                     \
      F(address, DELTA) F(ago, PLAIN) F(name, PLAIN) F(which, PLAIN))                              \
    /* Work was launched whose memory is not known: a kernel without a known layout of parameters,  \
     * or a graph that was built node by node. count: how often since the last such event. */      \
    M(UNSEEN_WORK, 51, "unseen_work", OTHER,                                                       \
      F(name, PLAIN) F(count, PLAIN))                                                          \
    /* So many bytes of the memory at address were requested, which CUDA has just allocated:       \
     * PyTorch's allocator rounded page-locked memory up; or CUDA added to its rows (pitch). */                                       \
    M(HOST_REQUEST, 52, "host_request", OTHER,                                                     \
      F(address, DELTA) F(requested, PLAIN))                                                       \
    /* What a memory pool of CUDA's has reserved, and how much of that is in use, bytes. pool: its \
     * handle; 0: the device's default pool. threshold: bytes that it keeps although they are free; \
     * the stack is where the program set it. high: the most of both, so far, of the same pool. */  \
    M(CUDA_POOL, 53, "cuda_pool", OTHER,                                                           \
      F(pool, DELTA) F(threshold, PLAIN) F(reserved, PLAIN) F(used, PLAIN))                        \
    M(CUDA_POOL_HIGH, 54, "cuda_pool_high", OTHER,                                                 \
      F(pool, DELTA) F(reserved, PLAIN) F(used, PLAIN))
/* clang-format on */

enum mt_kind {
#define MT_KIND_ENUM(id, number, name, about, fields) MT_##id = (number),
    MT_EVENT_KINDS(MT_KIND_ENUM, )
#undef MT_KIND_ENUM
        MT_KIND_LIMIT
};

/* Kinds of a `member`, its field `parameter`: a buffer, a parameter, another attribute; or what a
 * cache of keys and values made. */
enum mt_member_kind {
    MT_MEMBER_BUFFER,
    MT_MEMBER_PARAMETER,
    MT_MEMBER_ATTRIBUTE,
    MT_MEMBER_OF_CACHE
};

/* What a path of holders begins at, or what best describes it: field `root` of a `holder`. */
enum mt_holder_root {
    MT_HOLDER_UNKNOWN,
    MT_HOLDER_LOCAL,         /* a local variable of a running Python function */
    MT_HOLDER_GLOBAL,        /* a module's global variable */
    MT_HOLDER_CLASS,         /* an attribute of a class */
    MT_HOLDER_CLOSURE,       /* a variable of an outer function, kept by an inner one */
    MT_HOLDER_DEFAULT,       /* a default argument */
    MT_HOLDER_LRU_CACHE,     /* functools.lru_cache */
    MT_HOLDER_GENERATOR,     /* a local variable of a suspended generator or coroutine */
    MT_HOLDER_TRACEBACK,     /* a frame in the traceback of an exception that is being handled */
    MT_HOLDER_LAST_ERROR,    /* sys.last_exc, sys.last_value, sys.last_traceback */
    MT_HOLDER_NOTEBOOK,      /* a notebook's Out[] and _ */
    MT_HOLDER_THREAD,        /* threading.local */
    MT_HOLDER_AUTOGRAD = 20, /* an autograd graph: a saved tensor, an attribute of ctx */
    MT_HOLDER_HOOK,          /* a hook of a tensor, a node or a module */
    MT_HOLDER_OPTIMIZER,     /* an optimizer's state */
    MT_HOLDER_DATALOADER,
    MT_HOLDER_AUTOCAST,     /* autocast's cache of weights */
    MT_HOLDER_GRAPH_POOL,   /* a captured graph's private pool */
    MT_HOLDER_GARBAGE = 40, /* a reference cycle that no root reaches: gc.collect() frees it */
    MT_HOLDER_CYCLE,        /* a cycle that no root reaches and Python's collector cannot see */
    MT_HOLDER_NATIVE,       /* C++ only: no Python object leads to it */
    MT_HOLDER_LOST = 60,    /* no pointer to it exists */
    MT_HOLDER_SYMBOL,       /* a variable of a program or library */
    MT_HOLDER_STACK,        /* a native thread's stack */
    MT_HOLDER_HEAP,         /* a heap block */
    MT_HOLDER_NOT_FOUND     /* no pointer was found, but not all memory could be read */
};

/* When a list of holders was made: field `moment` of a `holders`. */
enum mt_holders_moment {
    MT_HOLDERS_OOM = 1,  /* PyTorch's allocator ran out of memory: before its exception unwinds */
    MT_HOLDERS_GROWTH,   /* the same point of the program had more memory several times in a row */
    MT_HOLDERS_END,      /* the program ends */
    MT_HOLDERS_REQUESTED /* memtap save, memtap.holders(), memtap.h */
};

/* Whether a list of holders is complete, or why not: field `result` of a `holders`. */
enum mt_holders_result {
    MT_HOLDERS_COMPLETE,
    MT_HOLDERS_TIME,    /* the limit of time */
    MT_HOLDERS_REFUSED, /* the system did not allow the child process */
    MT_HOLDERS_CRASHED, /* the child process crashed */
    MT_HOLDERS_MEMORY,  /* no memory for it, or more objects or holders than it has room for */
    MT_HOLDERS_PYTHON_UNKNOWN, /* not a Python whose objects memtap can read */
    MT_HOLDERS_TORCH_UNKNOWN,  /* not a PyTorch whose tensors memtap can read */
    MT_HOLDERS_PYTHON_ENDED    /* Python is shutting down: its variables are gone, or going */
};

/* How work uses memory: field `how` of a `use`. */
enum mt_use {
    MT_USE_WRITES = 1,   /* a copy to it, or a fill */
    MT_USE_CAPTURED = 2, /* while a graph was captured: its launches may use the memory, too */
    MT_USE_OF_GRAPH = 4, /* a captured graph is launched */
    MT_USE_UNSEEN = 8,   /* work on memory that is not known */
    MT_USE_PASSED = 16,  /* no use: its address is in what a copy put into CUDA's memory */
};

/* Which use of its block it is: field `which` of a `uses`. */
enum mt_uses {
    MT_USES_FIRST = 1,
    MT_USES_LAST = 2,
    MT_USES_BEFORE_IDLE = 4,   /* the last one before the longest time between two uses */
    MT_USES_AFTER_IDLE = 8,    /* the first one after it */
    MT_USES_ONLY_WRITTEN = 16, /* all uses were copies to it and fills */
    MT_USES_OF_GRAPH = 32,     /* a captured graph's launch, which may use it */
    MT_USES_IN_BACKWARD = 64,  /* within a node of autograd */
    MT_USES_NONE = 128,        /* there was none: ago, name and the stack are 0 */
    MT_USES_PASSED = 256,      /* a copy put its address into CUDA's memory: kernels may use it by
                                * that, which is not seen */
};

/* How many fields each kind has, in the header so that the compiler knows it for a constant kind.
 */
static const unsigned char mt_kind_fields[MT_KIND_LIMIT] = {
#define MT_ONE_MORE(name, code) +1
#define MT_COUNT_FIELDS(id, number, name, about, fields) [number] = 0 fields,
    MT_EVENT_KINDS(MT_COUNT_FIELDS, MT_ONE_MORE)
#undef MT_COUNT_FIELDS
#undef MT_ONE_MORE
};

static const unsigned char mt_kind_about[MT_KIND_LIMIT] = {
#define MT_ABOUT_OF(id, number, name, about, fields) [number] = MT_ABOUT_##about,
    MT_EVENT_KINDS(MT_ABOUT_OF, )
#undef MT_ABOUT_OF
};

struct mt_field {
    const char *name;
    enum mt_code code;
};

struct mt_kind_info {
    const char *name;                     /* NULL: unused number */
    struct mt_field field[MT_EVENT_ARGS]; /* as many as mt_kind_fields says */
};

extern const struct mt_kind_info mt_kinds[MT_KIND_LIMIT];

#define MT_NO_DEVICE (-1)

/* The fields of each kind by name: event->CUDA_MAP.handle. Kinds with the same first fields (ALLOC,
 * FREE) can be read through either. */
struct mt_event {
    uint64_t time_ns;
    __extension__ union {
        uint64_t arg[MT_EVENT_ARGS]; /* by the kind's fields; the rest is 0 */
        __extension__ struct {
            uint64_t address, size; /* the first fields of kinds that hand out memory */
        };
#define MT_FIELD_MEMBER(name, code) uint64_t name;
#define MT_KIND_MEMBER(id, number, name, about, fields)                                            \
    __extension__ struct {                                                                         \
        fields                                                                                     \
    } id;
        MT_EVENT_KINDS(MT_KIND_MEMBER, MT_FIELD_MEMBER)
#undef MT_KIND_MEMBER
#undef MT_FIELD_MEMBER
    };
    uint32_t thread; /* thread id of a MT_DEF_THREAD */
    uint32_t stack;  /* stack id of a MT_DEF_STACK, 0: unknown */
    uint16_t kind;   /* enum mt_kind */
    int16_t device;  /* CUDA device index, MT_NO_DEVICE: unknown */
};

/*
 * Definitions give the ids in events their meaning. Each is written once, in a block before its
 * first use. Ids of each space begin at 1; 0 is unknown (stack, parent) or the empty string.
 */
enum mt_definition_kind {
    MT_DEF_STRING = 1,   /* id, text */
    MT_DEF_FRAME = 2,    /* id, function: string id, file: string id, line (0: unknown) */
    MT_DEF_STACK = 3,    /* id, parent: stack id of the caller (0: none), frame: frame id */
    MT_DEF_THREAD = 4,   /* id, os_thread: the kernel's tid, text: its name */
    MT_DEF_INFO = 5,     /* key: text before the first '=', value: text after it */
    MT_DEF_IMAGE = 6,    /* id, build_id: string id (0: none), path: string id */
    MT_DEF_NATIVE = 7,   /* id, of a frame: image: image id (0: none), address in it */
    MT_DEF_SYMBOL = 8,   /* id, of a native frame: its function, file and line, as in FRAME */
    MT_DEF_CALL = 9,     /* id, a frame as in FRAME that runs for a torch.nn module: root:
                          * string id of the outermost module's class, path: string id of the module's
                          * name in it, "layers.3.mlp" (0: that module itself) */
    MT_DEF_SUMMARY = 10, /* id: enum mt_summary, device; text: numbers, each a zigzag varint */
    MT_DEF_LIMIT,
};

/* What a compact copy states about the whole run, as lists of numbers (FORMAT.md, "Summary
 * blocks"): number, name. */
#define MT_SUMMARIES(X)                                                                            \
    X(ODDITIES, 1, "oddities")                                                                     \
    X(CHART, 2, "chart")                                                                           \
    X(WORST, 3, "worst")                                                                           \
    X(PLACES, 4, "places")                                                                         \
    X(SPANS, 5, "spans")                                                                           \
    X(RANGES, 6, "ranges")                                                                         \
    X(OOMS, 7, "ooms")                                                                             \
    X(TWICE, 8, "twice")                                                                           \
    X(BY_OTHERS, 9, "by_others")                                                                   \
    X(WORST_WHOLE, 10, "worst_whole")                                                              \
    X(WORST_OTHERS, 11, "worst_others")                                                            \
    X(RESERVED, 12, "reserved")                                                                    \
    X(LOOP, 13, "loop")                                                                            \
    X(TURNS, 14, "turns")                                                                          \
    X(TURN_SPANS, 15, "turn_spans")

enum mt_summary {
#define MT_SUMMARY_MEMBER(id, number, name) MT_SUMMARY_##id = number,
    MT_SUMMARIES(MT_SUMMARY_MEMBER)
#undef MT_SUMMARY_MEMBER
};

/* Return the name of a summary; "?" if unknown. */
const char *mt_summary_name(uint64_t summary);

struct mt_definition {
    enum mt_definition_kind kind;
    uint32_t id; /* in its kind's id space; 0 for MT_DEF_INFO */
    union {
        struct {
            uint32_t function, file, line;
            uint32_t root, path; /* of a CALL */
        } frame;
        struct {
            uint32_t parent, frame;
        } stack;
        uint32_t os_thread;
        int32_t device; /* of a SUMMARY, -1: unknown, or of none */
        struct {
            uint32_t build_id, path;
        } image;
        struct {
            uint64_t address;
            uint32_t image;
        } native;
    };
    const char
        *text; /* STRING, THREAD, INFO, SUMMARY: not terminated; owned as the function says */
    size_t text_size; /* bytes, at most MT_TEXT_LIMIT */
};

#define MT_TEXT_LIMIT 65535u

/* How the recording ended. Only closed traces have it. */
struct mt_end {
    uint64_t time_ns;
    uint64_t events; /* written to the trace, LOST events included */
    uint64_t lost;   /* not recorded */
};

#define MT_FILE_HEADER_SIZE 32u /* bytes, of every trace */

/* Everything in a file so far, which the next block links to (FORMAT.md). Missing, repeated and
 * exchanged blocks are noticed by it. */
struct mt_chain {
    uint32_t blocks;
    uint32_t before;   /* the last block's checksum */
    uint64_t events;   /* with the older segment's; without carried ones */
    uint64_t of_older; /* events of the older segment */
    bool is_bare;      /* the file's version has no links */
};

#endif
