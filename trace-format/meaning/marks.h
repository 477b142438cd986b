/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Python frames with a meaning: the code of PyTorch's optimizers, modules and parameters, and the
 * user's own code. The table is in marks.c.
 */
#ifndef MT_MARKS_H
#define MT_MARKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One bit each, in the order of this list. */
/* clang-format off */
#define MT_MARKS(M)                                                                               \
    M(OPTIMIZER)         /* an optimizer's step and what it calls */                              \
    M(OPTIMIZER_INIT)    /* where torch.optim creates its state, in a step or before */            \
    M(MODULE_CALL)       /* a module's forward, or its recomputation by checkpointing */       \
    M(MODULE_APPLY)      /* module.to(), .cuda(), .half() */                                      \
    M(MODULE_INIT)       /* the constructor of a torch.nn module */                               \
    M(PARAMETER_NEW)     /* nn.Parameter(...) */                                                  \
    M(BUFFER_NEW)        /* nn.Buffer(...) */                                                     \
    M(FRAMEWORK)         /* PyTorch's own code or Python's standard library */                             \
    M(LIBRARY)           /* an installed package */                                               \
    M(BACKWARD)          /* what starts backward: .backward(), autograd.grad() */                 \
    M(COMMUNICATION)     /* torch.distributed, DDP, FSDP */                                       \
    M(FIRST_GRADIENT)    /* creates backward's first gradient: 1 for the loss */                    \
    M(MATH_LIBRARY)      /* native: cuBLAS, cuDNN and the like */                                 \
    M(CUSTOM_BACKWARD)   /* calls the backward of a torch.autograd.Function */                    \
    M(NCCL)              /* native: NCCL, NVSHMEM */                                              \
    M(COPY_OBJECT)       /* copy.deepcopy(): creates another object of a class */                   \
    M(COPY_DICT)         /* copies a dict; within COPY_OBJECT: attributes */               \
    M(COPY_TENSOR)       /* copies a tensor other than an nn.Parameter */                          \
    M(GATHER)            /* FSDP: allocates memory for the parameters of all ranks */                       \
    M(ZERO_PARAMETERS)   /* DeepSpeed's ZeRO: creates flat parameters, or a rank's part */  \
    M(ZERO_GRADIENTS)    /* creates flat gradients */                                                 \
    M(ZERO_MASTERS)      /* creates copies of parameters in itself, not in what it calls */           \
    M(BUCKETS)           /* DDP creates its buckets */                                       \
    M(DISPATCH)          /* __torch_dispatch__ of a tensor subclass or a mode */         \
    M(SCRATCH)           /* allocates memory that is reused for intermediate results */    \
    M(CACHE)             /* allocates a pool of keys and values */                                    \
    M(SERVER)            /* vLLM's runner allocates buffers that it keeps and refills */         \
    M(EVALUATION)        /* a framework's evaluation loop, also within training */             \
    M(SAMPLING)          /* a library samples tokens from a model's logits */                      \
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

/* Marks of phases: the innermost of them on a stack determines its phase. */
#define MT_PHASE_MARKS                                                                             \
    (MT_MARK_OPTIMIZER | MT_MARK_MODULE_CALL | MT_MARK_MODULE_APPLY | MT_MARK_MODULE_INIT |        \
     MT_MARK_BACKWARD)

/* Return whether torch.compile generated a file. The name decides: a hash, in a folder of two of
 * its characters. The folder above may be any (TORCHINDUCTOR_CACHE_DIR). */
bool mt_is_inductor_file(const char *file);

/* Return where a path of `size` bytes names the folder of installed packages ("/site-packages/")
 * and the length of that name; NULL if it does not. */
const char *mt_packages_in(const char *file, size_t size, size_t *length);

/* Return the marks of a native frame, by its library's path. */
uint32_t mt_module_marks(const char *path);

/* Return the marks of a Python frame. function may be a qualified name ("Adam.step"). */
uint32_t mt_frame_marks(const char *function, const char *file);

/* Return the additional marks of a Python frame whose first argument is a module: a class may have
 * its own __call__, and a program may call forward directly. */
uint32_t mt_call_marks(const char *function);

#endif
