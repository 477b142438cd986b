/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolutions through the interface of cuDNN 7: a program queries algorithms. There is one for
 * each direction, deterministic and without a workspace, identified by a number.
 */
#include "core/values/values.h"
#include "cudnn.h"

/* The answer, in the library's layout. */
struct answer {
    int algorithm, status;
    float time;
    size_t workspace;
    int deterministic, math;
    int reserved[3];
};

/* Both functions for each direction: the arguments are in the same places. */
#define CONVOLUTION(direction)                                                                     \
    int cudnnGetConvolution##direction##Algorithm_v7(void *handle, void *a, void *b, void *c,      \
                                                     void *d, int wanted, int *count,              \
                                                     struct answer *answers);                      \
    int cudnnFindConvolution##direction##AlgorithmEx(                                              \
        void *handle, void *a, void *a_at, void *b, void *b_at, void *c, void *d, void *d_at,      \
        int wanted, int *count, struct answer *answers, void *workspace, size_t size);             \
    int cudnnGetConvolution##direction##Algorithm_v7(void *handle, void *a, void *b, void *c,      \
                                                     void *d, int wanted, int *count,              \
                                                     struct answer *answers)                       \
    {                                                                                              \
        (void)handle, (void)a, (void)b, (void)c, (void)d;                                          \
        cudnn_note_workspace(false);                                                               \
        return answer(wanted, count, answers);                                                     \
    }                                                                                              \
    int cudnnFindConvolution##direction##AlgorithmEx(                                              \
        void *handle, void *a, void *a_at, void *b, void *b_at, void *c, void *d, void *d_at,      \
        int wanted, int *count, struct answer *answers, void *workspace, size_t size)              \
    {                                                                                              \
        (void)handle, (void)a, (void)a_at, (void)b, (void)b_at, (void)c, (void)d, (void)d_at;      \
        (void)workspace, (void)size;                                                               \
        cudnn_note_workspace(true);                                                                \
        return answer(wanted, count, answers);                                                     \
    }

void cudnn_note_workspace(bool fastest)
{
    sim_unknown_value(fastest ? SIM_UNKNOWN_FASTEST_WORKSPACE : SIM_UNKNOWN_WORKSPACE,
                      "convolution");
}

static int answer(int wanted, int *count, struct answer *answers)
{
    enum {
        ALGORITHM = 1
    }; /* implicit GEMM, or the first algorithm with a fixed order of summation */
    if (wanted < 1 || !count || !answers)
        return CUDNN_BAD_PARAM;
    *count = 1;
    answers[0] = (struct answer){.algorithm = ALGORITHM, .time = 0.01f, .deterministic = 1};
    return CUDNN_SUCCESS;
}

CONVOLUTION(Forward)
CONVOLUTION(BackwardData)
CONVOLUTION(BackwardFilter)
