/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tensors that modules and parameters keep as plain attributes (tables, masks, constants of
 * quantization), and those that libraries keep under known names: gradients of Megatron's
 * parameters (main_grad), parts of parameters and gradients in DeepSpeed's ZeRO, keys and values in
 * vLLM's attention. Read like modules and optimizers, by reads that cannot crash.
 */
#ifndef MT_PRELOAD_KEPT_ATTRIBUTES_H
#define MT_PRELOAD_KEPT_ATTRIBUTES_H

#include "preload/python/python-objects.h"
#include "preload/python/python-versions.h"
#include "preload/record/recorder.h"

/* The owner of the attributes. */
enum mt_keeper {
    MT_KEEPER_PARAMETER = 1,
    MT_KEEPER_OPTIMIZER = 2, /* one that wraps another as its `optimizer` */
};

/* Record the tensors that libraries keep in the object, and a parameter's other attributes. */
void mt_kept_attributes_scan(struct mt_thread *self, const struct mt_python_layout *layout,
                             uint64_t object, enum mt_keeper keeper);

/* Return whether a module's buffer or attribute of this name (a str) is a KV cache. */
bool mt_is_name_of_cache(const struct mt_python_layout *layout, uint64_t name);

/* Record the tensors that a module keeps as attributes, also within lists, dicts and objects.
 * Attributes up to the key last_own are torch.nn.Module's own. */
void mt_module_attributes_scan(struct mt_thread *self, const struct mt_python_layout *layout,
                               struct mt_py_dict *attributes, uint64_t last_own);

/* Begin another pass over modules: what was scanned may have changed. */
void mt_module_attributes_begin(void);

#endif
