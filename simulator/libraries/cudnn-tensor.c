/* SPDX-License-Identifier: Apache-2.0 */
/* cuDNN's descriptors of tensors and filters. */
#include <stdlib.h>
#include <string.h>

#include "cudnn.h"

size_t cudnn_type_size(int type)
{
    enum { DOUBLE = 1, HALF = 2, INT8 = 3, UINT8 = 6, BFLOAT16 = 9, INT64 = 10 };
    switch (type) {
    case DOUBLE:
    case INT64:
        return 8;
    case HALF:
    case BFLOAT16:
        return 2;
    case INT8:
    case UINT8:
        return 1;
    default:
        return 4;
    }
}

void cudnn_shape(struct cudnn_tensor *tensor, int type, int dimensions, const int *sizes)
{
    int stride = 1;
    tensor->type = type;
    tensor->dimensions = dimensions;
    for (int i = dimensions - 1; i >= 0; i--) {
        tensor->sizes[i] = sizes[i];
        tensor->strides[i] = stride;
        stride *= sizes[i];
    }
}

int cudnnCreateTensorDescriptor(struct cudnn_tensor **out)
{
    *out = calloc(1, sizeof(**out));
    return *out ? CUDNN_SUCCESS : CUDNN_ALLOC_FAILED;
}

int cudnnDestroyTensorDescriptor(struct cudnn_tensor *tensor)
{
    free(tensor);
    return CUDNN_SUCCESS;
}

int cudnnSetTensorNdDescriptor(struct cudnn_tensor *tensor, int type, int dimensions,
                               const int *sizes, const int *strides)
{
    if (!tensor || dimensions < 1 || dimensions > CUDNN_DIMENSIONS)
        return CUDNN_BAD_PARAM;
    cudnn_shape(tensor, type, dimensions, sizes);
    memcpy(tensor->strides, strides, (size_t)dimensions * sizeof(*strides));
    return CUDNN_SUCCESS;
}

int cudnnGetTensorNdDescriptor(const struct cudnn_tensor *tensor, int wanted, int *type,
                               int *dimensions, int *sizes, int *strides)
{
    if (!tensor || wanted < 0)
        return CUDNN_BAD_PARAM;
    *type = tensor->type;
    *dimensions = tensor->dimensions;
    for (int i = 0; i < wanted && i < tensor->dimensions; i++) {
        sizes[i] = tensor->sizes[i];
        strides[i] = tensor->strides[i];
    }
    return CUDNN_SUCCESS;
}

int cudnnSetFilterNdDescriptor(struct cudnn_tensor *filter, int type, int format, int dimensions,
                               const int *sizes)
{
    if (!filter || dimensions < 1 || dimensions > CUDNN_DIMENSIONS)
        return CUDNN_BAD_PARAM;
    cudnn_shape(filter, type, dimensions, sizes);
    filter->format = format;
    return CUDNN_SUCCESS;
}

int cudnnGetFilterNdDescriptor(const struct cudnn_tensor *filter, int wanted, int *type,
                               int *format, int *dimensions, int *sizes)
{
    if (!filter || wanted < 0)
        return CUDNN_BAD_PARAM;
    *type = filter->type;
    *format = filter->format;
    *dimensions = filter->dimensions;
    for (int i = 0; i < wanted && i < filter->dimensions; i++)
        sizes[i] = filter->sizes[i];
    return CUDNN_SUCCESS;
}
