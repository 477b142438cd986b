/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Python frames with a meaning: the code of PyTorch's optimizers, modules and parameters, and the
 * user's own code. One table of them, in marks.c.
 */
#ifndef MT_MARKS_H
#define MT_MARKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A bit each, in the order of this list. */
/* clang-format off */
#define MT_MARKS(M)                                                                               \
    M(OPTIMIZER)         /* an optimizer's step and what it calls */                              \
    M(OPTIMIZER_INIT)    /* where torch.optim makes its state: in a step, or before */            \
    M(MODULE_CALL)       /* a module's forward, or one that checkpointing computes again */       \
    M(MODULE_APPLY)      /* module.to(), .cuda(), .half() */                                      \
    M(MODULE_INIT)       /* the constructor of a torch.nn module */                               \
    M(PARAMETER_NEW)     /* nn.Parameter(...) */                                                  \
    M(BUFFER_NEW)        /* nn.Buffer(...) */                                                     \
    M(FRAMEWORK)         /* PyTorch's own code or Python's library */                             \
    M(LIBRARY)           /* an installed package */                                               \
    M(BACKWARD)          /* what starts backward: .backward(), autograd.grad() */                 \
    M(COMMUNICATION)     /* torch.distributed, DDP, FSDP */                                       \
    M(FIRST_GRADIENT)    /* makes what backward begins with: 1 for the loss */                    \
    M(MATH_LIBRARY)      /* native: cuBLAS, cuDNN and the like */                                 \
    M(CUSTOM_BACKWARD)   /* calls the backward of a torch.autograd.Function */                    \
    M(NCCL)              /* native: NCCL, NVSHMEM */                                              \
    M(COPY_OBJECT)       /* copy.deepcopy(): makes another object of a class */                   \
    M(COPY_DICT)         /* likewise a dict; inside of the one above: attributes */               \
    M(COPY_TENSOR)       /* likewise a tensor that is no nn.Parameter */                          \
    M(GATHER)            /* FSDP: has memory for parameters of all ranks */                       \
    M(ZERO_PARAMETERS)   /* DeepSpeed's ZeRO: makes flat parameters, or a rank's part of them */  \
    M(ZERO_GRADIENTS)    /* likewise gradients */                                                 \
    M(BUCKETS)           /* DDP, which makes its buckets */                                       \
    M(DISPATCH)          /* a tensor subclass's, or a mode's, own way to do an operator */         \
    M(SCRATCH)           /* makes memory that is used again and again for results in between */    \
    M(CACHE)             /* makes a pool of keys and values */                                    \
    M(SERVER)            /* vLLM's runner makes what it keeps, and fills for each step */         \
    M(EVALUATION)        /* a framework's loop of evaluation, also within training */             \
    M(SAMPLING)          /* a library chooses tokens by a model's logits */                        \
    M(LOAD)              /* reads a checkpoint: torch.load(), safetensors */                       \
    M(AUTOCAST_END)      /* drops the copies of parameters that autocast has cached */
/* clang-format on */

enum mt_mark_bit {
#define MT_MARK_BIT_ENUM(name) MT_MARK_BIT_##name,
    MT_MARKS(MT_MARK_BIT_ENUM)
#undef MT_MARK_BIT_ENUM
};

enum mt_mark {
#define MT_MARK_ENUM(name) MT_MARK_##name = 1 << MT_MARK_BIT_##name,
    MT_MARKS(MT_MARK_ENUM)
#undef MT_MARK_ENUM
};

/* Marks of phases: the innermost of them on a stack is its phase. */
#define MT_PHASE_MARKS                                                                             \
    (MT_MARK_OPTIMIZER | MT_MARK_MODULE_CALL | MT_MARK_MODULE_APPLY | MT_MARK_MODULE_INIT |        \
     MT_MARK_BACKWARD)

/* Return whether torch.compile wrote a file of code: by its name, a hash, below a folder of two of
 * its characters, since the folder above may be any (TORCHINDUCTOR_CACHE_DIR). */
bool mt_is_inductor_file(const char *file);

/* Return where a path of so many bytes names the folder of installed packages ("/site-packages/"),
 * and the length of that; NULL: nowhere. */
const char *mt_packages_in(const char *file, size_t size, size_t *length);

/* Return the marks of a native frame, by its library's path. */
uint32_t mt_module_marks(const char *path);

/* Return the marks of a Python frame. function may be a qualified name ("Adam.step"). */
uint32_t mt_frame_marks(const char *function, const char *file);

/* Return the marks that a Python frame has besides, where its first argument is a module: a class
 * may have a __call__ of its own, and a program may call forward itself. */
uint32_t mt_call_marks(const char *function);

#endif
