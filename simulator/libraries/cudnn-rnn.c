/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuDNN's recurrent networks: the size of the weights, the place of each, and the memory of a pass.
 * Weights are exact: all matrices, layer after layer, then all biases. The memory of a pass is an
 * estimate.
 */
#include <stdlib.h>

#include "cudnn.h"

enum { TRAINING = 1 };

static int64_t gates_of(const struct cudnn_rnn *rnn)
{
    return rnn->mode == CUDNN_LSTM ? 4 : rnn->mode == CUDNN_GRU ? 3 : 1;
}

static bool projects(const struct cudnn_rnn *rnn)
{
    return rnn->projection != rnn->hidden;
}

/* Return the columns of the input matrices of a pseudo-layer: one direction of a layer. */
static int64_t input_of(const struct cudnn_rnn *rnn, int64_t layer)
{
    return layer < rnn->directions ? rnn->input : rnn->projection * rnn->directions;
}

/* Count the elements of all matrices of a pseudo-layer. */
static int64_t matrices_of(const struct cudnn_rnn *rnn, int64_t layer)
{
    int64_t rows = gates_of(rnn) * rnn->hidden;
    return rows * (input_of(rnn, layer) + rnn->projection) +
           (projects(rnn) ? rnn->projection * rnn->hidden : 0);
}

static int64_t biases_of(const struct cudnn_rnn *rnn)
{
    int64_t one = gates_of(rnn) * rnn->hidden;
    return rnn->bias == CUDNN_NO_BIAS ? 0 : rnn->bias == CUDNN_BOTH_BIASES ? 2 * one : one;
}

static int64_t pseudo_layers(const struct cudnn_rnn *rnn)
{
    return rnn->layers * rnn->directions;
}

/* Return the place of a pseudo-layer's matrices, in elements. */
static int64_t matrices_at(const struct cudnn_rnn *rnn, int64_t layer)
{
    int64_t at = 0;
    for (int64_t before = 0; before < layer; before++)
        at += matrices_of(rnn, before);
    return at;
}

/*
 * Find one matrix: first the input's matrices, one per gate, then the recurrence's, finally the
 * projection. Return its offset in its pseudo-layer.
 */
static int64_t find_matrix(const struct cudnn_rnn *rnn, int64_t layer, int64_t id, int sizes[3])
{
    int64_t gates = gates_of(rnn), input = input_of(rnn, layer);
    bool projection = id == 2 * gates, recurrent = id >= gates;
    int64_t of_input = id < gates ? id : gates, of_recurrence = recurrent ? id - gates : 0;
    sizes[0] = 1;
    sizes[1] = (int)(projection ? rnn->projection : rnn->hidden);
    sizes[2] = (int)(projection ? rnn->hidden : recurrent ? rnn->projection : input);
    return rnn->hidden * (of_input * input + of_recurrence * rnn->projection);
}

/* Return the place of one bias, -1: none. */
static int64_t find_bias(const struct cudnn_rnn *rnn, int64_t id)
{
    int64_t gates = gates_of(rnn);
    bool recurrent = id >= gates;
    if (id >= 2 * gates || rnn->bias == CUDNN_NO_BIAS ||
        (rnn->bias == CUDNN_INPUT_BIAS && recurrent) ||
        (rnn->bias == CUDNN_RECURRENT_BIAS && !recurrent))
        return -1;
    return rnn->hidden * (rnn->bias == CUDNN_RECURRENT_BIAS ? id - gates : id);
}

int cudnnCreateRNNDescriptor(struct cudnn_rnn **out)
{
    *out = calloc(1, sizeof(**out));
    return *out ? CUDNN_SUCCESS : CUDNN_ALLOC_FAILED;
}

int cudnnDestroyRNNDescriptor(struct cudnn_rnn *rnn)
{
    free(rnn);
    return CUDNN_SUCCESS;
}

int cudnnSetRNNDescriptor_v8(struct cudnn_rnn *rnn, int algorithm, int mode, int bias,
                             int direction, int input_mode, int type, int precision, int math,
                             int32_t input, int32_t hidden, int32_t projection, int32_t layers,
                             void *dropout, uint32_t flags)
{
    (void)algorithm, (void)input_mode, (void)precision, (void)math, (void)dropout, (void)flags;
    if (!rnn || mode < CUDNN_RNN_RELU || mode > CUDNN_GRU || input < 1 || hidden < 1 ||
        layers < 1 || projection < 0 || projection > hidden)
        return CUDNN_BAD_PARAM;
    *rnn = (struct cudnn_rnn){.mode = (enum cudnn_rnn_mode)mode,
                              .bias = (enum cudnn_rnn_bias)bias,
                              .directions = direction ? 2 : 1,
                              .type = type,
                              .input = input,
                              .hidden = hidden,
                              .projection = projection ? projection : hidden,
                              .layers = layers};
    return CUDNN_SUCCESS;
}

int cudnnCreateRNNDataDescriptor(struct cudnn_rnn_data **out)
{
    *out = calloc(1, sizeof(**out));
    return *out ? CUDNN_SUCCESS : CUDNN_ALLOC_FAILED;
}

int cudnnSetRNNDataDescriptor(struct cudnn_rnn_data *data, int type, int layout, int length,
                              int batch, int vector, const int *lengths, void *padding)
{
    (void)type, (void)layout, (void)vector, (void)lengths, (void)padding;
    if (!data || length < 1 || batch < 1)
        return CUDNN_BAD_PARAM;
    *data = (struct cudnn_rnn_data){length, batch};
    return CUDNN_SUCCESS;
}

int cudnnGetRNNWeightSpaceSize(void *handle, const struct cudnn_rnn *rnn, size_t *size)
{
    int64_t layers = pseudo_layers(rnn);
    (void)handle;
    *size =
        (size_t)(matrices_at(rnn, layers) + layers * biases_of(rnn)) * cudnn_type_size(rnn->type);
    return CUDNN_SUCCESS;
}

/* Return the workspace: the gates of one layer; and the reserve, for the backward pass: every
 * layer's gates, and its states. */
int cudnnGetRNNTempSpaceSizes(void *handle, const struct cudnn_rnn *rnn, int forward,
                              const struct cudnn_rnn_data *data, size_t *workspace, size_t *reserve)
{
    int64_t steps = data->length * data->batch * rnn->hidden * rnn->directions;
    size_t element = cudnn_type_size(rnn->type);
    (void)handle;
    if (workspace)
        *workspace = (size_t)(steps * gates_of(rnn)) * element;
    if (reserve)
        *reserve =
            forward == TRAINING ? (size_t)(steps * (gates_of(rnn) + 2) * rnn->layers) * element : 0;
    return CUDNN_SUCCESS;
}

int cudnnGetRNNWeightParams(void *handle, const struct cudnn_rnn *rnn, int32_t layer, size_t size,
                            char *weights, int32_t id, struct cudnn_tensor *matrix,
                            void **matrix_at, struct cudnn_tensor *bias, void **bias_at)
{
    int64_t layers = pseudo_layers(rnn), element = (int64_t)cudnn_type_size(rnn->type), at;
    int sizes[3];
    (void)handle, (void)size;
    if (layer < 0 || layer >= layers || id < 0 || id > 2 * gates_of(rnn))
        return CUDNN_BAD_PARAM;
    if (matrix && matrix_at) {
        at = matrices_at(rnn, layer) + find_matrix(rnn, layer, id, sizes);
        cudnn_shape(matrix, rnn->type, 3, sizes);
        *matrix_at = weights + at * element;
    }
    if (bias && bias_at) {
        at = find_bias(rnn, id);
        cudnn_shape(bias, rnn->type, 3, (const int[]){1, at < 0 ? 0 : (int)rnn->hidden, 1});
        at += matrices_at(rnn, layers) + layer * biases_of(rnn);
        *bias_at = bias->sizes[1] ? weights + at * element : NULL;
    }
    return CUDNN_SUCCESS;
}
