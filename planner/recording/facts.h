/* SPDX-License-Identifier: Apache-2.0 */
/* What a recording shows of its program: the model's modules and their calls, what belongs to a
 * batch, what the program keeps. Changes, and what a truncated run would have gone on to do, are
 * made of it. */
#ifndef MT_RECORDING_FACTS_H
#define MT_RECORDING_FACTS_H

#include "analyzer/support/by-id.h"
#include "recording.h"

/* Return whether the block is a copy of weights that the program keeps; autocast's are not. */
bool mt_is_weight_copy(const struct mt_recorded_block *block);

/* Return whether the recording ends in an evaluation: in a forward of a line that has had no
 * backward, while others have; or of a program that trains nothing. */
bool mt_ends_in_evaluation(const struct mt_recording *recording);

/* Return the turn at which the forwards begin that no backward and no step has followed; n_turns:
 * there are none. */
size_t mt_last_forwards(const struct mt_recording *recording);

/* Return whether the program trains nothing: it drops graph after graph without a backward, or
 * makes none. */
bool mt_only_infers(const struct mt_recording *recording);

/* Return whether the block is of the model, of its optimizer or of a library: another batch leaves
 * it alone. */
bool mt_is_of_model(const struct mt_recorded_block *block);

/* Return whether forward multiplies activations with each other otherwise than attention does: each
 * with each other one of a batch, pairs of rows, graphs. No bound was earned for these. */
bool mt_multiplies_freely(const struct mt_recording *recording);

/* What is shown to be of the batch: it has as many elements as what goes into a product with
 * weights, or comes out of one; these have a row for each of the batch's. Or it has as many as a
 * product of rows with rows, which has an element for each pair of them. */
struct mt_of_batch {
    struct mt_element_counts {
        uint64_t *of;
        size_t n, capacity;
    } rows, pairs;
};

/* 0 or -ENOMEM; to be cleared in any case. */
int mt_of_batch_find(struct mt_of_batch *of, const struct mt_recording *recording);
bool mt_is_of_batch(const struct mt_of_batch *of, const struct mt_recorded_block *block);
bool mt_is_of_pairs(const struct mt_of_batch *of, const struct mt_recorded_block *block);
void mt_of_batch_clear(struct mt_of_batch *of);

/* Return whether some node's operator is known: only its run in backward names it. */
bool mt_knows_operators(const struct mt_recording *recording);

/* Return the first step that ends after the event; NULL: none does. */
const struct mt_recorded_step *mt_step_after(const struct mt_recording *recording, uint64_t event);

/* Return whether the block outlives the first step that ends after its allocation. */
bool mt_outlives_step(const struct mt_recording *recording, const struct mt_recorded_block *block);

/* Return, by block, whether the program holds what was saved for backward longer than backward
 * does: a batch's variable, an output. It stays on the device though its node saves a copy. NULL:
 * no memory. To be freed. */
bool *mt_held_by_program(const struct mt_recording *recording);

/* Return, by block, whether it is a node's output; the node has a name only once it has run in
 * backward. NULL: no memory. To be freed. */
bool *mt_outputs_of_nodes(const struct mt_recording *recording);

/* Return, by block, whether forward made it of no parameter, elsewhere than the node that saves it:
 * masks and biases of positions are of no batch, may grow with the square of the sequence, and may
 * have the type of what they are for; those of inputs have not. NULL: no memory. To be freed. */
bool *mt_made_in_forward(const struct mt_recording *recording);

/* Parameters are sharded by layers: each has one of these, the rest of the model is group 0. */
struct mt_shard_groups {
    struct mt_by_id of_frame; /* frame of a module -> group, uint32_t */
    size_t n;
};

/* Number the modules by the begins of their paths, from 1: of_frame has an uint32_t for each frame,
 * 0: it is of none. size_of: bytes of the begin; 0: it has none. 0 or -ENOMEM; of_frame is to be
 * cleared in any case. */
int mt_modules_number(struct mt_by_id *of_frame, const struct mt_recording *recording,
                      size_t (*size_of)(const char *path, const char *pattern), const char *pattern,
                      size_t *n);

/* Find the groups. 0 or -ENOMEM; to be freed by mt_shard_groups_clear. */
int mt_shard_groups_find(struct mt_shard_groups *groups, const struct mt_recording *recording);
void mt_shard_groups_clear(struct mt_shard_groups *groups);

/* Return the layer of a module's frame; 0: of none. */
static inline uint32_t mt_shard_group(const struct mt_shard_groups *groups, uint32_t frame)
{
    return frame ? *(uint32_t *)mt_by_id(&groups->of_frame, frame) : 0;
}

/* The head of a language model: the parameter outside its layers, as large as the one before them
 * (the embedding) or that one itself. */
struct mt_head {
    size_t parameter; /* index of its newest block */
    uint64_t width;   /* of a row of what the last layer returns, in elements */
    uint64_t columns; /* of the logits */
};

/* Find the head of the model that has the layer. Return whether there is one. */
bool mt_head_find(struct mt_head *head, const struct mt_recording *recording,
                  const struct mt_shard_groups *groups, uint32_t group);

/* Return the length of a layer's path, "layers.3" of "layers.3.mlp"; 0: the path has no number. */
size_t mt_layer_size(const char *path);

/* Calls of modules: when each was in forward, and when in backward. */
struct mt_module_call {
    uint32_t group;
    uint64_t forward, forward_end;   /* events */
    uint64_t backward, backward_end; /* 0: it had none */
};

struct mt_module_calls {
    struct mt_module_call *call; /* in the order of forward */
    size_t n, capacity;
};

/* Find the calls of the groups that of_frame says (0: of none), one after the other. */
int mt_module_calls_find(struct mt_module_calls *calls, const struct mt_recording *recording,
                         const struct mt_by_id *of_frame);

/* Lines that called a model whose backward came: other lines evaluate, as far as is known. */
struct mt_call_lines {
    uint32_t *stack; /* ids */
    size_t n, capacity;
};

/* Find the lines. 0 or -ENOMEM; to be cleared in any case. */
int mt_call_lines_find(struct mt_call_lines *lines, const struct mt_module_calls *calls,
                       const struct mt_recording *recording);
/* Return whether the line of the call is none of them, and there are any. */
bool mt_call_evaluates(const struct mt_call_lines *lines, const struct mt_recording *recording,
                       const struct mt_module_call *call);

/* Return whether that holds of the newest call, since the last backward, whose line is known. */
bool mt_newest_call_evaluates(const struct mt_call_lines *lines,
                              const struct mt_recording *recording,
                              const struct mt_module_calls *calls);
void mt_call_lines_clear(struct mt_call_lines *lines);

/* Return the place of the first node, or block, that was made at the event or after it. */
size_t mt_first_node(const struct mt_recording *recording, uint64_t event);
size_t mt_first_made(const struct mt_recording *recording, uint64_t event);

/* Return the event that made what the call returns, by its last output; 0: not known. */
uint64_t mt_call_output(const struct mt_recording *recording, const struct mt_module_call *call);

/* Return whether it is what a recurrent network saves of its forward besides its outputs, in its
 * own type: PyTorch sees cuDNN's as bytes. */
bool mt_is_reserve(const struct mt_recording *recording, const struct mt_recorded_node *node,
                   const struct mt_recorded_block *saved);

/* Return whether it has floats of 32 bits, as far as is known. */
bool mt_is_float32(const struct mt_recorded_block *block);

/* Return when a linear layer's node has its products: the engine then sums the bias's gradient,
 * which is small and comes last, in 32 bits; MT_EVER: not known. */
uint64_t mt_sum_begins(const struct mt_recording *recording, const struct mt_recorded_node *node);

/* Return whether the stack is within torch.utils.checkpoint. */
bool mt_is_checkpointed(const struct mt_recording *recording, uint32_t stack);

#endif
