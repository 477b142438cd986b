/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tensors that libraries keep as plain attributes, under names of their own: gradients of Megatron's
 * parameters (main_grad), parts of parameters and gradients in DeepSpeed's ZeRO. Read as modules and
 * optimizers are, by reads that cannot crash.
 */
#ifndef MT_PRELOAD_KEPT_ATTRIBUTES_H
#define MT_PRELOAD_KEPT_ATTRIBUTES_H

#include "preload/python/python-versions.h"
#include "preload/record/recorder.h"

/* Whose attributes they are. */
enum mt_keeper {
    MT_KEEPER_PARAMETER = 1,
    MT_KEEPER_OPTIMIZER = 2, /* one around another, which is its `optimizer` */
};

/* Records what the object keeps so. */
void mt_kept_attributes_look(struct mt_thread *self, const struct mt_python_layout *layout,
                             uint64_t object, enum mt_keeper keeper);

#endif
