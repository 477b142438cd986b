/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tensors that libraries keep as plain attributes under names of their own: gradients of Megatron's
 * parameters (main_grad), parts of parameters and gradients in DeepSpeed's ZeRO. Read like modules
 * and optimizers, by reads that cannot crash.
 */
#ifndef MT_PRELOAD_KEPT_ATTRIBUTES_H
#define MT_PRELOAD_KEPT_ATTRIBUTES_H

#include "preload/python/python-versions.h"
#include "preload/record/recorder.h"

/* The owner of the attributes. */
enum mt_keeper {
    MT_KEEPER_PARAMETER = 1,
    MT_KEEPER_OPTIMIZER = 2, /* one that wraps another as its `optimizer` */
};

/* Record such tensors of the object. */
void mt_kept_attributes_look(struct mt_thread *self, const struct mt_python_layout *layout,
                             uint64_t object, enum mt_keeper keeper);

#endif
