/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kinds of changes, as mt_change_kind.apply has them; and what several of them need.
 */
#ifndef MT_CHANGE_KINDS_H
#define MT_CHANGE_KINDS_H

#include "changes.h"
#include "edits.h"
#include "planner/recording/facts.h"

mt_change_editor mt_change_optimizer, mt_change_zero1, mt_change_bucket_views, mt_change_zero2,
    mt_change_zero3, mt_change_checkpoint, mt_change_checkpoint_each, mt_change_chunked_loss,
    mt_change_offload, mt_change_lora, mt_change_batch, mt_change_sequence, mt_change_precision,
    mt_change_zero_grad, mt_change_keep_nothing, mt_change_no_grad, mt_change_drop_exception,
    mt_change_host_copies, mt_change_no_benchmark, mt_change_del, mt_change_defer, mt_change_omit,
    mt_change_offload_idle, mt_change_kv_cache;

/* Read a whole number from 1 up; 0: it is none. */
uint64_t mt_change_number(const char *argument);

/* Read a part of one, "0.5" or "1/2"; 0: it is none. */
double mt_change_part(const char *argument);

/* Take the optimizer's state and what its steps make off the device. */
void mt_drop_optimizer(struct mt_edits *edits);
void mt_drop_block(struct mt_edits *edits, size_t block);

/* End an activation that was saved, and is so no more: when its module is done with it. */
void mt_end_unsaved(struct mt_edits *edits, size_t block);

/* Keep parameters, gradients and state in the host's memory, as FSDP2 does. As
 * mt_change_kind.apply. */
int mt_offload_parameters(struct mt_edits *edits, struct mt_modelled *change);

/* Drop copies of what attention made: in 16 bits it runs as flash attention, whose output is laid
 * out as its queries are, and needs none. */
void mt_drop_attention_copies(struct mt_edits *edits);

/* Let forward run under torch.autocast. 0 or -ENOMEM. */
int mt_change_autocast(struct mt_edits *edits);

/* Modules that were called, "layers.*.mlp": every number is a "*". The likeliest to be
 * checkpointed: those with most activations, and of others those whose activations are largest; at
 * most MT_MODULE_PATTERNS. */
#define MT_MODULE_PATTERNS 9u
struct mt_module_patterns {
    char pattern[MT_MODULE_PATTERNS][MT_CHANGE_NAME - 16];
    uint64_t bytes[MT_MODULE_PATTERNS];
    size_t n;
};

/* Find the patterns. 0 or -ENOMEM. */
int mt_module_patterns_find(struct mt_module_patterns *patterns,
                            const struct mt_recording *recording);

#endif
