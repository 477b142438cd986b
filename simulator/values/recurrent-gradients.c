/* SPDX-License-Identifier: Apache-2.0 */
/* The gradients of a recurrent network: forward once more, keeping each step's gates, then back
 * through the steps. Rows of all layers are in the input's order. */
#include "recurrent-gradients.h"
#include "host-tensor.h"

#include <math.h>
#include <stdlib.h>

enum { OF_INPUT, OF_STATE, INPUT_BIAS, STATE_BIAS, MOST_WEIGHTS };

/* One direction of a layer. */
struct pass {
    const struct sim_numbers *weight;
    double *gradient[MOST_WEIGHTS];
    double *gate;  /* of each row: after their functions */
    double *inner; /* of each row: an LSTM's cell; what a GRU's reset gate multiplies */
    double *hidden, *cell, *of_hidden, *of_cell; /* of each sequence, before it and its gradients */
    size_t number, inputs;
    bool is_reversed;
};

struct network {
    struct sim_numbers argument[SIM_RNN_ARGUMENTS], *weight; /* those that are tensors */
    size_t steps, batch, hidden, layers, directions, gates, weights;
    int64_t mode;
    bool batch_first;
    struct pass *pass; /* of each layer and direction */
    double **output;   /* of each layer; the first: the input */
    double *memory, *next, *limit;
};

static double logistic(double x)
{
    return 1 / (1 + exp(-x));
}

/* Return zeros of the network's memory. */
static double *take(struct network *network, size_t n)
{
    double *taken = network->next;
    network->next += n;
    return network->next <= network->limit ? taken : NULL;
}

static size_t row_of(const struct network *network, size_t step, size_t sequence)
{
    return network->batch_first ? sequence * network->steps + step
                                : step * network->batch + sequence;
}

/* Return the state before a step of a sequence; `step` counts in the pass's direction. */
static const double *state_before(const struct network *network, const struct pass *pass,
                                  size_t step, size_t sequence)
{
    size_t width = network->directions * network->hidden;
    const double *output = network->output[pass->number / network->directions + 1];
    if (!step)
        return pass->hidden + sequence * network->hidden;
    size_t before = pass->is_reversed ? network->steps - step : step - 1;
    return output + row_of(network, before, sequence) * width +
           pass->number % network->directions * network->hidden;
}

static double product(const double *a, const double *b, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

static void add_scaled(double *to, double factor, const double *from, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] += factor * from[i];
}

/* Return what the input, or the state, contributes to a gate. */
static double part_of_gate(const struct pass *pass, unsigned of, size_t gate, const double *given)
{
    const struct sim_numbers *weight = &pass->weight[of], *bias = weight + INPUT_BIAS;
    return product(weight->number + gate * weight->columns, given, weight->columns) +
           (pass->gradient[INPUT_BIAS] ? bias->number[gate] : 0);
}

/* Compute one element of a step: its gates, and the next state. */
static void compute_element(const struct network *network, const struct pass *pass, size_t row,
                            size_t element, const double *input, const double *state, double cell,
                            double *out)
{
    size_t n = network->hidden;
    double *gate = pass->gate + row * network->gates * n + element, *inner = pass->inner + row * n;
    double sum[4];
    for (size_t i = 0; i < network->gates; i++) {
        double of_state = part_of_gate(pass, OF_STATE, i * n + element, state);
        bool is_fresh = network->mode == SIM_GRU && i == 2;
        if (is_fresh)
            inner[element] = of_state;
        sum[i] = part_of_gate(pass, OF_INPUT, i * n + element, input) +
                 (is_fresh ? gate[0] * of_state : of_state);
        bool is_tanh = network->mode == SIM_RNN_TANH || (network->mode >= SIM_LSTM && i == 2);
        gate[i * n] = is_tanh                         ? tanh(sum[i])
                      : network->mode == SIM_RNN_RELU ? fmax(sum[i], 0)
                                                      : logistic(sum[i]);
    }
    if (network->mode == SIM_LSTM) {
        inner[element] = gate[n] * cell + gate[0] * gate[2 * n];
        *out = gate[3 * n] * tanh(inner[element]);
    } else if (network->mode == SIM_GRU) {
        *out = gate[2 * n] + gate[n] * (state[element] - gate[2 * n]);
    } else {
        *out = gate[0];
    }
}

/* Return an LSTM's cell before a step. */
static double cell_before(const struct network *network, const struct pass *pass, size_t step,
                          size_t sequence, size_t element)
{
    if (network->mode != SIM_LSTM)
        return 0;
    if (!step)
        return pass->cell[sequence * network->hidden + element];
    size_t before = pass->is_reversed ? network->steps - step : step - 1;
    return pass->inner[row_of(network, before, sequence) * network->hidden + element];
}

static void go_forward(const struct network *network, const struct pass *pass)
{
    size_t layer = pass->number / network->directions, n = network->hidden;
    for (size_t step = 0; step < network->steps; step++)
        for (size_t sequence = 0; sequence < network->batch; sequence++) {
            size_t row =
                row_of(network, pass->is_reversed ? network->steps - 1 - step : step, sequence);
            double *out = network->output[layer + 1] +
                          (row * network->directions + pass->number % network->directions) * n;
            for (size_t i = 0; i < n; i++)
                compute_element(network, pass, row, i, network->output[layer] + row * pass->inputs,
                                state_before(network, pass, step, sequence),
                                cell_before(network, pass, step, sequence, i), out + i);
        }
}

/* Compute the gradients of an element's gates before their functions: as the input contributes to
 * them, and as the state does. Leave in *of_state and *of_cell what goes to the step before. */
static void differentiate(const struct network *network, const double *gate, double inner,
                          double state, double cell, double *of_state, double *of_cell,
                          double *by_input, double *by_state)
{
    size_t n = network->hidden;
    double given = *of_state, first = gate[0];
    *of_state = 0;
    if (network->mode == SIM_LSTM) {
        double forget = gate[n], fresh = gate[2 * n], out = gate[3 * n], bent = tanh(inner);
        double into = *of_cell + given * out * (1 - bent * bent);
        by_input[0] = into * fresh * first * (1 - first);
        by_input[n] = into * cell * forget * (1 - forget);
        by_input[2 * n] = into * first * (1 - fresh * fresh);
        by_input[3 * n] = given * bent * out * (1 - out);
        *of_cell = into * forget;
    } else if (network->mode == SIM_GRU) {
        double kept = gate[n], fresh = gate[2 * n];
        by_input[2 * n] = given * (1 - kept) * (1 - fresh * fresh);
        by_input[n] = given * (state - fresh) * kept * (1 - kept);
        by_input[0] = by_input[2 * n] * inner * first * (1 - first);
        *of_state = given * kept;
    } else {
        by_input[0] =
            network->mode == SIM_RNN_TANH ? given * (1 - first * first) : given * (first > 0);
    }
    for (size_t i = 0; i < network->gates; i++)
        by_state[i * n] = by_input[i * n] * (network->mode == SIM_GRU && i == 2 ? first : 1);
}

/* Go back through a pass. of_output: gradients of the layer's output; of_input: those of its input
 * are added there. room: for both gradients of a step's gates. */
static void go_back(const struct network *network, const struct pass *pass, const double *of_output,
                    double *of_input, double *room)
{
    size_t n = network->hidden, gates = network->gates * n;
    double *by_input = room, *by_state = room + gates;
    for (size_t step = network->steps; step--;)
        for (size_t sequence = 0; sequence < network->batch; sequence++) {
            size_t row =
                row_of(network, pass->is_reversed ? network->steps - 1 - step : step, sequence);
            const double *input =
                network->output[pass->number / network->directions] + row * pass->inputs;
            const double *state = state_before(network, pass, step, sequence);
            double *of_state = pass->of_hidden + sequence * n;
            const double *given =
                of_output + (row * network->directions + pass->number % network->directions) * n;
            for (size_t i = 0; i < n; i++) {
                of_state[i] += given[i];
                differentiate(network, pass->gate + row * gates + i, pass->inner[row * n + i],
                              state[i], cell_before(network, pass, step, sequence, i), of_state + i,
                              pass->of_cell + sequence * n + i, by_input + i, by_state + i);
            }
            for (size_t i = 0; i < gates; i++) {
                const struct sim_numbers *weight = pass->weight;
                add_scaled(pass->gradient[OF_INPUT] + i * pass->inputs, by_input[i], input,
                           pass->inputs);
                add_scaled(pass->gradient[OF_STATE] + i * n, by_state[i], state, n);
                add_scaled(of_input + row * pass->inputs, by_input[i],
                           weight[OF_INPUT].number + i * pass->inputs, pass->inputs);
                add_scaled(of_state, by_state[i], weight[OF_STATE].number + i * n, n);
                if (pass->gradient[INPUT_BIAS]) {
                    pass->gradient[INPUT_BIAS][i] += by_input[i];
                    pass->gradient[STATE_BIAS][i] += by_state[i];
                }
            }
        }
}

/* --- arguments and results ------------------------------------------------------------------- */

static bool has_shape(const struct sim_numbers *of, size_t rows, size_t columns)
{
    return !of->number || (of->rows == rows && of->columns == columns);
}

static bool read_weights(struct network *network, const struct sim_value *list)
{
    const struct sim_values *weights = sim_list(list);
    size_t n = network->layers * network->directions * network->weights, i = 0;
    if ((size_t)(weights->end - weights->begin) != n)
        return false;
    network->weight = calloc(n + 1, sizeof *network->weight);
    while (network->weight && i < n && sim_read_numbers(&network->weight[i], &weights->begin[i]) &&
           network->weight[i].number)
        i++;
    return network->weight && i == n;
}

/* Read the arguments, and check that their shapes agree. */
static bool read_network(struct network *network, const struct sim_value *argument)
{
    struct sim_numbers *part = network->argument;
    for (size_t i = 0; i < SIM_RNN_MODE; i++)
        if (i != SIM_RNN_WEIGHTS && !sim_read_numbers(&part[i], &argument[i]))
            return false;
    network->mode = argument[SIM_RNN_MODE].integer;
    network->gates = network->mode == SIM_LSTM ? 4 : network->mode == SIM_GRU ? 3 : 1;
    network->layers = (size_t)argument[SIM_RNN_LAYERS].integer;
    network->batch_first = argument[SIM_RNN_BATCH_FIRST].boolean;
    network->directions = argument[SIM_RNN_BIDIRECTIONAL].boolean ? 2 : 1;
    network->weights = argument[SIM_RNN_BIASES].boolean ? MOST_WEIGHTS : INPUT_BIAS;
    if (!part[SIM_RNN_INPUT].number || !part[SIM_RNN_HIDDEN].number ||
        sim_dimensions(argument[SIM_RNN_INPUT].object) != 3 || !network->layers)
        return false;
    network->steps = (size_t)sim_sizes(argument[SIM_RNN_INPUT].object)[network->batch_first];
    network->batch = (size_t)sim_sizes(argument[SIM_RNN_INPUT].object)[!network->batch_first];
    network->hidden = part[SIM_RNN_HIDDEN].columns;
    size_t passes = network->layers * network->directions;
    for (size_t i = SIM_RNN_HIDDEN; i < SIM_RNN_MODE; i++)
        if (i != SIM_RNN_OF_OUTPUT &&
            !has_shape(&part[i], passes * network->batch, network->hidden))
            return false;
    return has_shape(&part[SIM_RNN_OF_OUTPUT], part[SIM_RNN_INPUT].rows,
                     network->directions * network->hidden) &&
           (network->mode != SIM_LSTM || part[SIM_RNN_CELL].number) &&
           read_weights(network, &argument[SIM_RNN_WEIGHTS]);
}

/* Copy a pass's part of a state or its gradient; zeros if there is none. */
static double *part_of_state(struct network *network, const struct sim_numbers *all, size_t pass)
{
    size_t n = network->batch * network->hidden;
    double *part = take(network, n);
    if (part && all->number)
        add_scaled(part, 1, all->number + pass * n, n);
    return part;
}

static bool prepare_pass(struct network *network, size_t number)
{
    struct pass *pass = &network->pass[number];
    const struct sim_numbers *part = network->argument;
    size_t n = network->hidden, rows = part[SIM_RNN_INPUT].rows;
    *pass = (struct pass){.weight = &network->weight[number * network->weights],
                          .number = number,
                          .inputs = number < network->directions ? part[SIM_RNN_INPUT].columns
                                                                 : network->directions * n,
                          .is_reversed = number % network->directions};
    if (!has_shape(&pass->weight[OF_INPUT], network->gates * n, pass->inputs) ||
        !has_shape(&pass->weight[OF_STATE], network->gates * n, n))
        return false;
    for (size_t i = 0; i < network->weights; i++) {
        if (i >= INPUT_BIAS && pass->weight[i].columns != network->gates * n)
            return false;
        pass->gradient[i] = take(network, pass->weight[i].rows * pass->weight[i].columns);
    }
    pass->gate = take(network, rows * network->gates * n);
    pass->inner = take(network, rows * n);
    pass->hidden = part_of_state(network, &part[SIM_RNN_HIDDEN], number);
    pass->cell = part_of_state(network, &part[SIM_RNN_CELL], number);
    pass->of_hidden = part_of_state(network, &part[SIM_RNN_OF_HIDDEN], number);
    pass->of_cell = part_of_state(network, &part[SIM_RNN_OF_CELL], number);
    return pass->of_cell;
}

/* Prepare all passes and outputs, in one piece of memory. */
static bool prepare(struct network *network)
{
    const struct sim_numbers *input = &network->argument[SIM_RNN_INPUT];
    size_t passes = network->layers * network->directions,
           width = network->directions * network->hidden;
    size_t n =
        passes * (network->hidden * (input->rows * (network->gates + 1) + 4 * network->batch)) +
        input->rows * (2 * network->layers * width + input->columns) +
        2 * network->gates * network->hidden;
    for (size_t i = 0; i < passes * network->weights; i++)
        n += network->weight[i].rows * network->weight[i].columns;
    network->memory = network->next = calloc(n + 1, sizeof(double));
    network->pass = calloc(passes + 1, sizeof *network->pass);
    network->output = calloc(network->layers + 1, sizeof *network->output);
    if (!network->memory || !network->pass || !network->output)
        return false;
    network->limit = network->memory + n;
    network->output[0] = input->number;
    for (size_t i = 1; i <= network->layers; i++)
        network->output[i] = take(network, input->rows * width);
    for (size_t i = 0; i < passes; i++)
        if (!prepare_pass(network, i))
            return false;
    return true;
}

/* Compute all gradients. Return those of the input. */
static const double *compute(struct network *network)
{
    size_t rows = network->argument[SIM_RNN_INPUT].rows;
    size_t passes = network->layers * network->directions;
    double *room = take(network, 2 * network->gates * network->hidden);
    double *of_output = network->argument[SIM_RNN_OF_OUTPUT].number;
    if (!of_output)
        of_output = take(network, rows * network->directions * network->hidden);
    for (size_t i = 0; i < passes; i++)
        go_forward(network, &network->pass[i]);
    for (size_t i = passes; i;) {
        double *of_input = take(network, rows * network->pass[i - 1].inputs);
        if (!of_input || !of_output || !room)
            return NULL;
        for (size_t direction = 0; direction < network->directions; direction++)
            go_back(network, &network->pass[--i], of_output, of_input, room);
        of_output = of_input;
    }
    return of_output;
}

static bool add_tensor(struct sim_value *to, const double *number, const void *like)
{
    *to = sim_tensor_value(number ? sim_write_numbers(number, like) : NULL);
    return to->object;
}

/* Create the results: gradients of the input, of both states, and a list of those of weights. */
static bool write_results(const struct network *network, const struct sim_value *argument,
                          const double *of_input, struct sim_value results[4])
{
    size_t passes = network->layers * network->directions, n = network->batch * network->hidden;
    double *states[2] = {malloc((passes * n + 1) * sizeof(double)),
                         malloc((passes * n + 1) * sizeof(double))};
    void *list = sim_torch_list(&argument[SIM_RNN_WEIGHTS]);
    bool is_done = states[0] && states[1] && list &&
                   add_tensor(&results[0], of_input, argument[SIM_RNN_INPUT].object);
    if (list)
        results[3] = (struct sim_value){.object = list, .tag = sim_layout.tag_list};
    for (size_t i = 0; is_done && i < passes; i++) {
        const struct pass *pass = &network->pass[i];
        for (size_t j = 0; j < n; j++) {
            states[0][i * n + j] = pass->of_hidden[j];
            states[1][i * n + j] = pass->of_cell[j];
        }
        for (size_t j = 0; is_done && j < network->weights; j++) {
            const struct sim_value *like =
                sim_list(&argument[SIM_RNN_WEIGHTS])->begin + i * network->weights + j;
            struct sim_value made;
            is_done = add_tensor(&made, pass->gradient[j], like->object);
            if (is_done)
                *sim_list(&results[3])->end++ = made;
        }
    }
    is_done = is_done && add_tensor(&results[1], states[0], argument[SIM_RNN_HIDDEN].object);
    if (is_done && network->mode == SIM_LSTM)
        is_done = add_tensor(&results[2], states[1], argument[SIM_RNN_CELL].object);
    free(states[0]);
    free(states[1]);
    return is_done;
}

static void clear(struct network *network)
{
    size_t n = network->layers * network->directions * network->weights;
    for (size_t i = 0; i < SIM_RNN_ARGUMENTS; i++)
        free(network->argument[i].number);
    for (size_t i = 0; network->weight && i < n; i++)
        free(network->weight[i].number);
    free(network->weight);
    free(network->pass);
    free(network->output);
    free(network->memory);
}

bool sim_compute_network_gradients(struct sim_values *stack)
{
    struct network network = {0};
    struct sim_value results[4] = {0};
    bool is_done = stack->end - stack->begin == SIM_RNN_ARGUMENTS &&
                   read_network(&network, stack->begin) && prepare(&network) &&
                   write_results(&network, stack->begin, compute(&network), results);
    while (stack->end > stack->begin)
        sim_drop_value(--stack->end);
    for (size_t i = 0; i < 4; i++)
        if (is_done)
            *stack->end++ = results[i];
        else if (results[i].object)
            sim_drop_value(&results[i]);
    clear(&network);
    return is_done;
}
