/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recurrent networks of cuDNN 7, which release 8 still supports: the same, but each call
 * specifies the type and the inputs.
 */
#include "cudnn.h"

/* Add the type and inputs of `x`, a batch. */
static struct cudnn_rnn complete(const struct cudnn_rnn *rnn, const struct cudnn_tensor *x)
{
    struct cudnn_rnn whole = *rnn;
    whole.type = x->type;
    whole.input = x->sizes[1];
    return whole;
}

int cudnnSetRNNDescriptor_v6(void *handle, struct cudnn_rnn *rnn, int hidden, int layers,
                             void *dropout, int input_mode, int direction, int mode, int algorithm,
                             int precision)
{
    (void)handle;
    return cudnnSetRNNDescriptor_v8(rnn, algorithm, mode, CUDNN_BOTH_BIASES, direction, input_mode,
                                    0, precision, 0, 1, hidden, 0, layers, dropout, 0);
}

int cudnnSetRNNProjectionLayers(void *handle, struct cudnn_rnn *rnn, int projection, int output)
{
    (void)handle, (void)output;
    if (!rnn || projection < 0 || projection > rnn->hidden)
        return CUDNN_BAD_PARAM;
    rnn->projection = projection ? projection : rnn->hidden;
    return CUDNN_SUCCESS;
}

int cudnnGetRNNParamsSize(void *handle, const struct cudnn_rnn *rnn, const struct cudnn_tensor *x,
                          size_t *size, int type)
{
    struct cudnn_rnn whole = complete(rnn, x);
    whole.type = type;
    return cudnnGetRNNWeightSpaceSize(handle, &whole, size);
}

/* Return the temporary size. x: one tensor per step; later ones may have a smaller batch. */
static int temporary(void *handle, const struct cudnn_rnn *rnn, int length,
                     const struct cudnn_tensor *const *x, size_t *workspace, size_t *reserve)
{
    struct cudnn_rnn whole = complete(rnn, x[0]);
    struct cudnn_rnn_data data = {length, x[0]->sizes[0]};
    return cudnnGetRNNTempSpaceSizes(handle, &whole, 1, &data, workspace, reserve);
}

int cudnnGetRNNWorkspaceSize(void *handle, const struct cudnn_rnn *rnn, int length,
                             const struct cudnn_tensor *const *x, size_t *size)
{
    return temporary(handle, rnn, length, x, size, NULL);
}

int cudnnGetRNNTrainingReserveSize(void *handle, const struct cudnn_rnn *rnn, int length,
                                   const struct cudnn_tensor *const *x, size_t *size)
{
    return temporary(handle, rnn, length, x, NULL, size);
}

int cudnnGetRNNLinLayerMatrixParams(void *handle, const struct cudnn_rnn *rnn, int layer,
                                    const struct cudnn_tensor *x, const struct cudnn_tensor *filter,
                                    char *weights, int id, struct cudnn_tensor *matrix, void **at)
{
    struct cudnn_rnn whole = complete(rnn, x);
    (void)filter;
    return cudnnGetRNNWeightParams(handle, &whole, layer, 0, weights, id, matrix, at, NULL, NULL);
}

int cudnnGetRNNLinLayerBiasParams(void *handle, const struct cudnn_rnn *rnn, int layer,
                                  const struct cudnn_tensor *x, const struct cudnn_tensor *filter,
                                  char *weights, int id, struct cudnn_tensor *bias, void **at)
{
    struct cudnn_rnn whole = complete(rnn, x);
    (void)filter;
    return cudnnGetRNNWeightParams(handle, &whole, layer, 0, weights, id, NULL, NULL, bias, at);
}
