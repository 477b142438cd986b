/* SPDX-License-Identifier: Apache-2.0 */
#include "instead.h"

#include <stdatomic.h>
#include <string.h>

/* The arguments of the host's operator are CUDA's of the same names, in whatever order a release
 * has them. */
static const struct equivalent {
    const char *name, *host; /* NULL: a recurrent network */
    size_t results;          /* how many first results are the same */
} equivalents[] = {
    {"aten::_scaled_dot_product_efficient_attention", "aten::_scaled_dot_product_attention_math",
     1},
    {"aten::_scaled_dot_product_flash_attention", "aten::_scaled_dot_product_attention_math", 1},
    {"aten::_scaled_dot_product_cudnn_attention", "aten::_scaled_dot_product_attention_math", 1},
    {"aten::cudnn_batch_norm", "aten::native_batch_norm", 1},
    {"aten::cudnn_grid_sampler", "aten::grid_sampler_2d", 1},
    {"aten::_cudnn_ctc_loss", "aten::_ctc_loss", 1},
    {"aten::_cudnn_rnn", NULL, 3},
};

/* Names that differ: the host's, CUDA's. */
static const char *const renamed[][2] = {
    {"attn_mask", "attn_bias"},
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

/* Find an operator of the host, the first time by a search. */
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

/* Return whether several heads of the query share one of the key: what the host has a switch for.
 */
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

/* cuDNN's modes, in its order. */
enum { LSTM = 2 };
static const char *const networks[] = {"aten::rnn_relu", "aten::rnn_tanh", "aten::lstm",
                                       "aten::gru"};

/* Make a list of the two states of an LSTM, of the type of a list of tensors. */
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
    if (mode.integer == LSTM) {
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

/* --- any of them ----------------------------------------------------------------------------- */

bool sim_begin_instead(const struct sim_replaced *op, const struct sim_value *arguments,
                       struct sim_instead *instead)
{
    static _Atomic(const char *) entries[sizeof(equivalents) / sizeof(equivalents[0])];
    const struct equivalent *found = find_equivalent(op->entry);

    *instead = (struct sim_instead){.results = found->results};
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
