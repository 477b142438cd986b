/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Python frames that mean something: where PyTorch's optimizers, modules and parameters are at
 * work, and which code is the user's own. One table of what is recognised, in marks.c.
 */
#ifndef MT_MARKS_H
#define MT_MARKS_H

#include <stdint.h>

enum mt_mark {
    MT_MARK_OPTIMIZER = 1 << 0,       /* an optimizer's step and what it calls */
    MT_MARK_OPTIMIZER_INIT = 1 << 1,  /* where torch.optim makes its state: in a step, or before */
    MT_MARK_MODULE_CALL = 1 << 2,     /* a module's forward */
    MT_MARK_MODULE_APPLY = 1 << 3,    /* module.to(), .cuda(), .half() */
    MT_MARK_MODULE_INIT = 1 << 4,     /* the constructor of a torch.nn module */
    MT_MARK_PARAMETER_NEW = 1 << 5,   /* nn.Parameter(...) */
    MT_MARK_BUFFER_NEW = 1 << 6,      /* nn.Buffer(...) */
    MT_MARK_FRAMEWORK = 1 << 7,       /* PyTorch's own code or Python's library */
    MT_MARK_LIBRARY = 1 << 8,         /* an installed package */
    MT_MARK_BACKWARD = 1 << 9,        /* what starts backward: .backward(), autograd.grad() */
    MT_MARK_COMMUNICATION = 1 << 10,  /* torch.distributed, DDP, FSDP */
    MT_MARK_FIRST_GRADIENT = 1 << 11, /* makes what backward begins with: 1 for the loss */
    MT_MARK_MATH_LIBRARY = 1 << 12,   /* native: cuBLAS, cuDNN and the like */
    MT_MARK_CUSTOM_BACKWARD = 1 << 14, /* calls the backward of a torch.autograd.Function */
    MT_MARK_NCCL = 1 << 13,           /* native: NCCL, NVSHMEM */
    MT_MARK_COPY_OBJECT = 1 << 14,    /* copy.deepcopy(): makes another object of a class */
    MT_MARK_COPY_DICT = 1 << 15,      /* likewise a dict; inside of the one above: attributes */
    MT_MARK_COPY_TENSOR = 1 << 16,    /* likewise a tensor that is no nn.Parameter */
};

/* Marks that say what a program is doing: the innermost of them on a stack is its phase. */
#define MT_PHASE_MARKS                                                                             \
    (MT_MARK_OPTIMIZER | MT_MARK_MODULE_CALL | MT_MARK_MODULE_APPLY | MT_MARK_MODULE_INIT |        \
     MT_MARK_BACKWARD)

/* Marks of a native frame, by its library's path. */
uint32_t mt_module_marks(const char *path);

/* Marks of a Python frame. function may be a qualified name ("Adam.step"). */
uint32_t mt_frame_marks(const char *function, const char *file);

#endif
