/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the parts of cuDNN: results, and descriptors, which one function fills in and another
 * reads. */
#ifndef SIM_CUDNN_H
#define SIM_CUDNN_H

#include "core/device/device.h"
#include "core/memory/memory.h"

#include <stdbool.h>

enum {
    CUDNN_SUCCESS = 0,
    CUDNN_NOT_INITIALIZED = 1001,
    CUDNN_BAD_PARAM = 2000,
    CUDNN_ALLOC_FAILED = 2003,
    CUDNN_NOT_SUPPORTED = 3000,
    CUDNN_DEVICE_ALLOC_FAILED = 4004,
};

enum { CUDNN_DIMENSIONS = 8 };

/* A tensor or a filter: its type and shape. */
struct cudnn_tensor {
    int type, format;
    int dimensions;
    int sizes[CUDNN_DIMENSIONS], strides[CUDNN_DIMENSIONS];
};

enum cudnn_rnn_mode { CUDNN_RNN_RELU, CUDNN_RNN_TANH, CUDNN_LSTM, CUDNN_GRU };
enum cudnn_rnn_bias { CUDNN_NO_BIAS, CUDNN_INPUT_BIAS, CUDNN_BOTH_BIASES, CUDNN_RECURRENT_BIAS };

struct cudnn_rnn {
    enum cudnn_rnn_mode mode;
    enum cudnn_rnn_bias bias;
    int directions, type;
    int64_t input, hidden, projection, layers; /* projection: equals hidden if there is none */
};

/* Sequences, as a pass gets them. */
struct cudnn_rnn_data {
    int64_t length, batch;
};

/* Return the version that the program sees: 92600 is 9.26.0, and 8907 is 8.9.7. */
size_t cudnnGetVersion(void);
/* Note that a program queried a convolution's workspace; `fastest`: while trying all algorithms. */
void cudnn_note_workspace(bool fastest);
/* Return the bytes of an element of a type. */
size_t cudnn_type_size(int type);
/* Make it a dense tensor of that shape. */
void cudnn_shape(struct cudnn_tensor *tensor, int type, int dimensions, const int *sizes);

int cudnnCreateRNNDescriptor(struct cudnn_rnn **out);
int cudnnDestroyRNNDescriptor(struct cudnn_rnn *rnn);
int cudnnSetRNNDescriptor_v8(struct cudnn_rnn *rnn, int algorithm, int mode, int bias,
                             int direction, int input_mode, int type, int precision, int math,
                             int32_t input, int32_t hidden, int32_t projection, int32_t layers,
                             void *dropout, uint32_t flags);
int cudnnCreateRNNDataDescriptor(struct cudnn_rnn_data **out);
int cudnnSetRNNDataDescriptor(struct cudnn_rnn_data *data, int type, int layout, int length,
                              int batch, int vector, const int *lengths, void *padding);
int cudnnGetRNNWeightSpaceSize(void *handle, const struct cudnn_rnn *rnn, size_t *size);
int cudnnGetRNNTempSpaceSizes(void *handle, const struct cudnn_rnn *rnn, int forward,
                              const struct cudnn_rnn_data *data, size_t *workspace,
                              size_t *reserve);
int cudnnGetRNNWeightParams(void *handle, const struct cudnn_rnn *rnn, int32_t layer, size_t size,
                            char *weights, int32_t id, struct cudnn_tensor *matrix,
                            void **matrix_at, struct cudnn_tensor *bias, void **bias_at);

#endif
