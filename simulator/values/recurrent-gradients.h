/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIM_RECURRENT_GRADIENTS_H
#define SIM_RECURRENT_GRADIENTS_H

#include "torch.h"

/* cuDNN's modes, in its order. */
enum { SIM_RNN_RELU, SIM_RNN_TANH, SIM_LSTM, SIM_GRU };

/* The arguments of a recurrent network's gradients. */
enum {
    SIM_RNN_INPUT,
    SIM_RNN_WEIGHTS,
    SIM_RNN_HIDDEN,
    SIM_RNN_CELL,
    SIM_RNN_OF_OUTPUT,
    SIM_RNN_OF_HIDDEN,
    SIM_RNN_OF_CELL,
    SIM_RNN_MODE,
    SIM_RNN_LAYERS,
    SIM_RNN_BATCH_FIRST,
    SIM_RNN_BIDIRECTIONAL,
    SIM_RNN_BIASES,
    SIM_RNN_ARGUMENTS
};

/* Replace them by the gradients of the input, of both initial states, and of the weights: of a
 * network of which all sequences are equally long, without dropout. false: it cannot. */
bool sim_compute_network_gradients(struct sim_values *stack);

#endif
