/* SPDX-License-Identifier: Apache-2.0 */
#include "instead.h"
#include "host-tensor.h"
#include "recurrent-gradients.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* The arguments of the host's operator are CUDA's arguments of the same names, in whatever order
 * the release has them. */
static bool compute_lstm_cell(struct sim_values *stack);
static bool compute_gru_cell(struct sim_values *stack);
static bool compute_attention_gradients(struct sim_values *stack);

static const struct equivalent {
    const char *name, *host; /* NULL: a recurrent network, or: */
    size_t results;          /* how many of the first results are the same */
    bool (*function)(struct sim_values *stack);
} equivalents[] = {
    {"aten::_scaled_dot_product_efficient_attention", "aten::_scaled_dot_product_attention_math",
     1},
    {"aten::_scaled_dot_product_flash_attention", "aten::_scaled_dot_product_attention_math", 1},
    {"aten::_scaled_dot_product_cudnn_attention", "aten::_scaled_dot_product_attention_math", 1},
    {"aten::_scaled_dot_product_efficient_attention_backward", NULL, 3,
     compute_attention_gradients},
    {"aten::_scaled_dot_product_flash_attention_backward", NULL, 3, compute_attention_gradients},
    {"aten::_scaled_dot_product_cudnn_attention_backward", NULL, 3, compute_attention_gradients},
    {"aten::cudnn_batch_norm", "aten::native_batch_norm", 1},
    {"aten::cudnn_grid_sampler", "aten::grid_sampler_2d", 1},
    {"aten::_cudnn_ctc_loss", "aten::_ctc_loss", 1},
    {"aten::_cudnn_rnn", NULL, 3},
    {"aten::_cudnn_rnn_backward", NULL, 4, sim_compute_network_gradients},
    {"aten::_thnn_fused_lstm_cell", NULL, 2, compute_lstm_cell},
    {"aten::_thnn_fused_gru_cell", NULL, 1, compute_gru_cell},
};

/* Names that differ: the host's, CUDA's. */
static const char *const renamed[][2] = {
    {"attn_mask", "attn_bias"},
    {"grad_out", "grad_out_"},
    {"momentum", "exponential_average_factor"},
    {"eps", "epsilon"},
    {"input", "self"},
};

static const struct equivalent *find_equivalent(const char *entry)
{
    for (size_t i = 0; i < sizeof(equivalents) / sizeof(equivalents[0]); i++)
        if (!strcmp(sim_operator_name(entry), equivalents[i].name))
            return &equivalents[i];
    return NULL;
}

bool sim_has_instead(const char *entry)
{
    return find_equivalent(entry) != NULL;
}

/* Find an operator of the host; only the first call searches for it. */
static const char *find_once(_Atomic(const char *) *found, const char *name, const char *overload)
{
    const char *entry = atomic_load_explicit(found, memory_order_relaxed);

    if (!entry) {
        entry = sim_find_operator(name, overload);
        atomic_store_explicit(found, entry, memory_order_relaxed);
    }
    return entry;
}

/* --- values --------------------------------------------------------------------------------- */

static const struct sim_value none = {.tag = SIM_TAG_NONE};

static const struct sim_value *find_argument(const struct sim_replaced *op,
                                             const struct sim_value *arguments, const char *name)
{
    for (size_t i = 0; i < op->arguments; i++)
        if (!strcmp(sim_argument_name(op->entry, i), name))
            return &arguments[i];
    return NULL;
}

/* A recurrent network's weights lie in its buffer. */
const char *sim_returned_storage(const struct sim_replaced *op, const struct sim_value *arguments)
{
    const struct sim_value *buffer = find_argument(op, arguments, "weight_buf");

    return buffer && buffer->tag == SIM_TAG_TENSOR && buffer->object != sim_layout.undefined
               ? sim_storage(buffer->object)
               : NULL;
}

/* Return whether several heads of the query share one head of the key, for which the host has an
 * option. */
static bool shares_heads(const struct sim_replaced *op, const struct sim_value *arguments)
{
    const struct sim_value *query = find_argument(op, arguments, "query"),
                           *key = find_argument(op, arguments, "key");

    return query && key && sim_dimensions(query->object) == 4 && sim_dimensions(key->object) == 4 &&
           sim_sizes(query->object)[1] != sim_sizes(key->object)[1];
}

/* Return the host's argument of that name, or what CUDA's operator implies. */
static struct sim_value argument_named(const struct sim_replaced *op,
                                       const struct sim_value *arguments, const char *name)
{
    const struct sim_value *found = find_argument(op, arguments, name);

    for (size_t i = 0; !found && i < sizeof(renamed) / sizeof(renamed[0]); i++)
        if (!strcmp(name, renamed[i][0]))
            found = find_argument(op, arguments, renamed[i][1]);
    if (found)
        return *found;
    if (!strcmp(name, "enable_gqa"))
        return sim_bool_value(shares_heads(op, arguments));
    if (!strcmp(name, "align_corners"))
        return sim_bool_value(true);
    if (!strcmp(name, "interpolation_mode") || !strcmp(name, "padding_mode"))
        return sim_integer_value(0);
    return none;
}

/* --- recurrent networks ---------------------------------------------------------------------- */

/* By cuDNN's mode. */
static const char *const networks[] = {"aten::rnn_relu", "aten::rnn_tanh", "aten::lstm",
                                       "aten::gru"};

/* Create the list of an LSTM's two states, with the type of a list of tensors. */
static void *states_of(const struct sim_value *tensors, struct sim_value hidden,
                       struct sim_value cell)
{
    struct sim_values *states;
    void *list = NULL;

    if (sim_list(tensors)->end - sim_list(tensors)->begin < 2 || cell.tag != SIM_TAG_TENSOR)
        return NULL;
    list = sim_torch_list(tensors);
    if (!list)
        return NULL;
    states = sim_list(&(struct sim_value){.object = list});
    sim_hold(hidden.object);
    sim_hold(cell.object);
    *states->end++ = hidden;
    *states->end++ = cell;
    return list;
}

static bool of_network(const struct sim_replaced *op, const struct sim_value *arguments,
                       struct sim_instead *instead)
{
    struct sim_value weights = argument_named(op, arguments, "weight"),
                     stride = argument_named(op, arguments, "weight_stride0"),
                     hidden = argument_named(op, arguments, "hx"),
                     mode = argument_named(op, arguments, "mode"),
                     batches = argument_named(op, arguments, "batch_sizes"), states = hidden;
    static _Atomic(const char *) found[sizeof(networks) / sizeof(networks[0])];
    const struct sim_values *packed;

    if (weights.tag != sim_layout.tag_list || batches.tag != sim_layout.tag_list ||
        mode.tag != SIM_TAG_INT || mode.integer < 0 || mode.integer > 3 ||
        hidden.tag != SIM_TAG_TENSOR)
        return false;
    packed = sim_list(&batches);
    if (packed->begin != packed->end)
        return false; /* sequences of several lengths */
    if (mode.integer == SIM_LSTM) {
        instead->list = states_of(&weights, hidden, argument_named(op, arguments, "cx"));
        if (!instead->list)
            return false;
        states = (struct sim_value){.object = instead->list, .tag = sim_layout.tag_list};
    }
    instead->entry = find_once(&found[mode.integer], networks[mode.integer], "input");
    instead->n = 9;
    memcpy(instead->arguments,
           (struct sim_value[]){argument_named(op, arguments, "input"), states, weights,
                                sim_bool_value(stride.integer >= 4), /* 2 or 3 without biases */
                                argument_named(op, arguments, "num_layers"),
                                argument_named(op, arguments, "dropout"),
                                argument_named(op, arguments, "train"),
                                argument_named(op, arguments, "bidirectional"),
                                argument_named(op, arguments, "batch_first")},
           instead->n * sizeof(instead->arguments[0]));
    return instead->entry != NULL;
}

/* Translate the gradients of a network. Dropout between layers is random. */
static bool of_network_gradients(const struct sim_replaced *op, const struct sim_value *arguments,
                                 struct sim_instead *instead)
{
    static const char *const names[SIM_RNN_ARGUMENTS] = {
        "input",   "weight", "hx",         "cx",          "grad_output",  "grad_hy",
        "grad_cy", "mode",   "num_layers", "batch_first", "bidirectional"};
    struct sim_value batches = argument_named(op, arguments, "batch_sizes"),
                     dropout = argument_named(op, arguments, "dropout"),
                     train = argument_named(op, arguments, "train"),
                     projection = argument_named(op, arguments, "proj_size");
    instead->entry = op->entry;
    instead->n = SIM_RNN_ARGUMENTS;
    for (size_t i = 0; i < SIM_RNN_BIASES; i++)
        instead->arguments[i] = argument_named(op, arguments, names[i]);
    instead->arguments[SIM_RNN_BIASES] =
        sim_bool_value(argument_named(op, arguments, "weight_stride0").integer >= 4);
    const struct sim_value *given = instead->arguments;
    return given[SIM_RNN_WEIGHTS].tag == sim_layout.tag_list &&
           given[SIM_RNN_MODE].tag == SIM_TAG_INT && given[SIM_RNN_MODE].integer >= SIM_RNN_RELU &&
           given[SIM_RNN_MODE].integer <= SIM_GRU && given[SIM_RNN_LAYERS].tag == SIM_TAG_INT &&
           batches.tag == sim_layout.tag_list &&
           sim_list(&batches)->begin == sim_list(&batches)->end && !projection.integer &&
           !(train.boolean && dropout.real > 0 && given[SIM_RNN_LAYERS].integer > 1);
}

/* --- cells of recurrent networks ------------------------------------------------------------- */

enum { INPUT_GATES, HIDDEN_GATES, STATE, INPUT_BIAS, HIDDEN_BIAS, CELL_ARGUMENTS };

static double at(const struct sim_numbers *of, size_t row, size_t column)
{
    return of->number ? of->number[(of->rows > 1 ? row * of->columns : 0) + column] : 0;
}

static double logistic(double x)
{
    return 1 / (1 + exp(-x));
}

/* Compute a cell's next states: `results` of them, one after another. */
typedef void next_states(const struct sim_numbers part[CELL_ARGUMENTS], size_t row, size_t column,
                         double *out, size_t apart);

/* Replace gates, state and biases by the next states. */
static bool compute_cell(struct sim_values *stack, size_t gates, size_t results, next_states *next)
{
    struct sim_numbers part[CELL_ARGUMENTS] = {0};
    bool is_read = stack->end - stack->begin == CELL_ARGUMENTS;
    for (size_t i = 0; is_read && i < CELL_ARGUMENTS; i++)
        is_read = sim_read_numbers(&part[i], &stack->begin[i]);
    size_t rows = part[STATE].rows, columns = part[STATE].columns;
    is_read = is_read && part[INPUT_GATES].rows == rows && part[HIDDEN_GATES].rows == rows;
    for (size_t i = 0; is_read && i < CELL_ARGUMENTS; i++)
        is_read = !part[i].number || part[i].columns == (i == STATE ? 1 : gates) * columns;
    double *out = is_read ? calloc(rows * columns + 1, results * sizeof *out) : NULL;
    for (size_t i = 0; out && i < rows * columns; i++)
        next(part, i / columns, i % columns, out + i, rows * columns);
    void *made[2] = {NULL};
    bool are_made = out != NULL;
    for (size_t i = 0; out && i < results; i++) {
        made[i] = sim_write_numbers(out + i * rows * columns, stack->begin[STATE].object);
        are_made = are_made && made[i];
    }
    while (stack->end > stack->begin)
        sim_drop_value(--stack->end);
    for (size_t i = 0; i < results; i++)
        if (are_made)
            *stack->end++ = (struct sim_value){.object = made[i], .tag = SIM_TAG_TENSOR};
        else if (made[i])
            sim_drop(made[i]);
    free(out);
    for (size_t i = 0; i < CELL_ARGUMENTS; i++)
        free(part[i].number);
    return are_made;
}

/* Return what the input contributes to a gate, and what the state does. */
static double of_input(const struct sim_numbers *part, size_t row, size_t column)
{
    return at(&part[INPUT_GATES], row, column) + at(&part[INPUT_BIAS], row, column);
}

static double of_state(const struct sim_numbers *part, size_t row, size_t column)
{
    return at(&part[HIDDEN_GATES], row, column) + at(&part[HIDDEN_BIAS], row, column);
}

/* Gates: input, forget, cell, output. States: hidden, cell. */
static void next_of_lstm(const struct sim_numbers part[CELL_ARGUMENTS], size_t row, size_t column,
                         double *out, size_t apart)
{
    double gate[4];
    for (size_t i = 0; i < 4; i++) {
        size_t place = i * part[STATE].columns + column;
        gate[i] = of_input(part, row, place) + of_state(part, row, place);
    }
    double cell =
        logistic(gate[1]) * at(&part[STATE], row, column) + logistic(gate[0]) * tanh(gate[2]);
    out[0] = logistic(gate[3]) * tanh(cell);
    out[apart] = cell;
}

/* Gates: reset, update, new. */
static void next_of_gru(const struct sim_numbers part[CELL_ARGUMENTS], size_t row, size_t column,
                        double *out, size_t apart)
{
    size_t update = part[STATE].columns + column, fresh = update + part[STATE].columns;
    double reset = logistic(of_input(part, row, column) + of_state(part, row, column)),
           kept = logistic(of_input(part, row, update) + of_state(part, row, update)),
           new = tanh(of_input(part, row, fresh) + reset * of_state(part, row, fresh));
    (void)apart;
    out[0] = new + kept *(at(&part[STATE], row, column) - new);
}

static bool compute_lstm_cell(struct sim_values *stack)
{
    return compute_cell(stack, 4, 2, next_of_lstm);
}

static bool compute_gru_cell(struct sim_values *stack)
{
    return compute_cell(stack, 3, 1, next_of_gru);
}

/* --- gradients of attention ------------------------------------------------------------------ */

enum { GRADIENT, QUERY, KEY, VALUE, DROPOUT, IS_CAUSAL, MASK, SCALE, ATTENTION_ARGUMENTS };
static const char *const attention_arguments[] = {"grad_out",  "query",     "key",       "value",
                                                  "dropout_p", "is_causal", "attn_mask", "scale"};

static void push(struct sim_values *stack, struct sim_value value)
{
    if (value.tag == SIM_TAG_TENSOR)
        sim_hold(value.object);
    *stack->end++ = value;
}

static bool call_host(const char *entry, struct sim_values *stack, ptrdiff_t results)
{
    const struct sim_handle handle = {(char *)(uintptr_t)entry};
    const char *slot = sim_kernel_slot(entry, SIM_SLOT_HOST);
    return sim_field(slot, 0) && sim_field(slot, 8) &&
           sim_torch_call((sim_boxed *)(uintptr_t)sim_field(slot, 8), sim_field(slot, 0), &handle,
                          0, stack) &&
           stack->end - stack->begin == results;
}

/* Compute the gradients. The host's forward computes the sums that its backward needs, because
 * their layout differs from CUDA's. */
static bool compute_attention_gradients(struct sim_values *stack)
{
    static const char forward[] = "aten::_scaled_dot_product_flash_attention_for_cpu",
                      backward[] = "aten::_scaled_dot_product_flash_attention_for_cpu_backward";
    static _Atomic(const char *) entries[2];
    const char *first = find_once(&entries[0], forward, ""),
               *second = find_once(&entries[1], backward, "");
    const struct sim_value *given = stack->begin;
    struct sim_values sums = {0}, gradients = {0};
    bool is_done = first && second && stack->end - given == ATTENTION_ARGUMENTS &&
                   sim_torch_stack(&sums, ATTENTION_ARGUMENTS) &&
                   sim_torch_stack(&gradients, ATTENTION_ARGUMENTS + 2);
    for (size_t i = QUERY; is_done && i < ATTENTION_ARGUMENTS; i++)
        push(&sums, given[i]);
    is_done = is_done && call_host(first, &sums, 2);
    for (size_t i = 0; is_done && i < ATTENTION_ARGUMENTS; i++) {
        push(&gradients, given[i]);
        if (i == VALUE) {
            push(&gradients, sums.begin[0]);
            push(&gradients, sums.begin[1]);
        }
    }
    is_done = is_done && call_host(second, &gradients, 3);
    while (stack->end > stack->begin)
        sim_drop_value(--stack->end);
    for (size_t i = 0; is_done && i < 3; i++)
        push(stack, gradients.begin[i]);
    if (sums.begin)
        sim_torch_free(&sums);
    if (gradients.begin)
        sim_torch_free(&gradients);
    return is_done;
}

static bool of_attention(const struct sim_replaced *op, const struct sim_value *arguments,
                         struct sim_instead *instead)
{
    instead->entry = op->entry;
    instead->n = ATTENTION_ARGUMENTS;
    for (size_t i = 0; i < ATTENTION_ARGUMENTS; i++) {
        struct sim_value value = argument_named(op, arguments, attention_arguments[i]);
        bool is_none = value.tag == SIM_TAG_TENSOR && value.object == sim_layout.undefined;
        instead->arguments[i] = is_none ? none : value;
    }
    return !shares_heads(op, arguments);
}

/* --- any of them ----------------------------------------------------------------------------- */

bool sim_begin_instead(const struct sim_replaced *op, const struct sim_value *arguments,
                       struct sim_instead *instead)
{
    static _Atomic(const char *) entries[sizeof(equivalents) / sizeof(equivalents[0])];
    const struct equivalent *found = find_equivalent(op->entry);

    *instead = (struct sim_instead){.results = found->results, .function = found->function};
    if (found->function == compute_attention_gradients)
        return of_attention(op, arguments, instead);
    if (found->function == sim_compute_network_gradients)
        return of_network_gradients(op, arguments, instead);
    if (found->function) {
        instead->entry = op->entry;
        instead->n = op->arguments;
        memcpy(instead->arguments, arguments, instead->n * sizeof(instead->arguments[0]));
        return op->arguments == CELL_ARGUMENTS;
    }
    if (!found->host)
        return of_network(op, arguments, instead);
    instead->entry =
        find_once(&entries[found - equivalents], found->host, sim_operator_overload(op->entry));
    if (!instead->entry || sim_arguments(instead->entry) > SIM_INSTEAD_ARGUMENTS)
        return false;
    instead->n = sim_arguments(instead->entry);
    for (size_t i = 0; i < instead->n; i++)
        instead->arguments[i] = argument_named(op, arguments, sim_argument_name(instead->entry, i));
    return true;
}

void sim_end_instead(struct sim_instead *instead)
{
    if (instead->list)
        sim_drop(instead->list);
}
