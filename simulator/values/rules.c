/* SPDX-License-Identifier: Apache-2.0 */
#include "rules.h"

#include <math.h>
#include <string.h>

#include "choices.h"
#include "choose.h"
#include "core/memory/content.h"
#include "core/memory/written.h"
#include "small.h"
#include "zeroed.h"

static const double most_guard = 1e-3;

enum { MOST_ENDS = 64 }; /* tokens that end a text */

/* Rules by name, without the overload; a name that ends in '*' is a prefix. */
static const struct {
    const char *name;
    unsigned rules;
} table[] = {
    {"aten::empty*", SIM_LEFT_ALONE},
    {"aten::new_empty*", SIM_LEFT_ALONE},
    {"aten::_empty*", SIM_LEFT_ALONE},
    {"aten::resize_", SIM_NOT_COMPUTED | SIM_KEEPS},
    {"aten::resize*", SIM_LEFT_ALONE},
    {"aten::_resize*", SIM_LEFT_ALONE},
    {"aten::set_", SIM_LEFT_ALONE},
    {"aten::record_stream", SIM_LEFT_ALONE},
    {"aten::is_pinned", SIM_LEFT_ALONE},
    {"aten::_pin_memory", SIM_LEFT_ALONE},
    {"aten::is_set_to", SIM_LEFT_ALONE},
    {"aten::_fused_sdp_choice", SIM_LEFT_ALONE},
    {"aten::_cudnn_rnn_flatten_weight", SIM_LEFT_ALONE}, /* it calls copy_ */
    {"c10d::*", SIM_LEFT_ALONE},
    {"aten::convolution", SIM_EVERYWHERE | SIM_OVERWRITES},
    {"aten::convolution_backward", SIM_EVERYWHERE | SIM_OVERWRITES},
    {"aten::_native_batch_norm_legit", 0}, /* it reads what it writes */
    {"aten::_batch_norm_with_update", 0},
    {"aten::_fused_moving_avg_obs_fq_helper", 0},
    {"aten::_local_scalar_dense", SIM_READS | SIM_NOT_COMPUTED},
    {"aten::equal", SIM_DECIDES},
    {"aten::nonzero", SIM_COUNTS | SIM_FINDS | SIM_ROUTES},
    {"aten::unique_dim", SIM_COUNTS | SIM_ALONG | SIM_TALLIES},
    {"aten::unique_consecutive", SIM_COUNTS | SIM_IN_ORDER},
    {"aten::unique_dim_consecutive", SIM_COUNTS | SIM_ALONG | SIM_IN_ORDER},
    {"aten::_unique", SIM_COUNTS | SIM_TALLIES},
    {"aten::_unique2", SIM_COUNTS | SIM_TALLIES | SIM_ROUTES},
    {"aten::copy_", SIM_EVERYWHERE | SIM_COPIES | SIM_CARRIES | SIM_ROUTES | SIM_OVERWRITES},
    {"aten::cat", SIM_CARRIES | SIM_OVERWRITES},
    {"aten::fill_", SIM_FILLS | SIM_OVERWRITES},
    {"aten::zero_", SIM_CLEARS | SIM_OVERWRITES},
    {"aten::arange", SIM_FILLS | SIM_OVERWRITES},
    {"aten::uniform_", SIM_RANDOM | SIM_OVERWRITES},
    {"aten::normal_", SIM_RANDOM | SIM_DRAWS | SIM_OVERWRITES},
    {"aten::log_normal_", SIM_RANDOM | SIM_OVERWRITES},
    {"aten::exponential_", SIM_RANDOM | SIM_OVERWRITES},
    {"aten::cauchy_", SIM_RANDOM | SIM_OVERWRITES},
    {"aten::geometric_", SIM_RANDOM | SIM_OVERWRITES},
    {"aten::random_", SIM_RANDOM | SIM_OVERWRITES},
    {"aten::bernoulli_", SIM_RANDOM | SIM_OVERWRITES},
    {"aten::bernoulli", SIM_RANDOM | SIM_OVERWRITES},
    {"aten::normal", SIM_RANDOM | SIM_OVERWRITES},
    {"aten::poisson", SIM_RANDOM},
    {"aten::binomial", SIM_RANDOM},
    {"aten::_standard_gamma", SIM_RANDOM},
    {"aten::_sample_dirichlet", SIM_RANDOM},
    {"aten::randperm", SIM_RANDOM | SIM_OVERWRITES},
    {"aten::native_dropout", SIM_RANDOM},
    {"aten::rrelu_with_noise*", SIM_RANDOM},
    {"aten::multinomial", SIM_RANDOM | SIM_CHOOSES | SIM_OVERWRITES},
    {"aten::mode", SIM_SEEKS | SIM_OVERWRITES},
    {"aten::argmax", SIM_CHOOSES | SIM_OVERWRITES},
    {"aten::argmin", SIM_CHOOSES | SIM_OVERWRITES},
    {"aten::max", SIM_CHOOSES | SIM_ROUTES | SIM_OVERWRITES},
    {"aten::min", SIM_CHOOSES | SIM_LEASTS | SIM_ROUTES | SIM_OVERWRITES},
    {"aten::amin", SIM_LEASTS | SIM_ROUTES | SIM_OVERWRITES},
    {"aten::topk", SIM_CHOOSES | SIM_OVERWRITES},
    {"aten::histc", SIM_AS_REALS | SIM_TALLIES | SIM_ROUTES | SIM_OVERWRITES},
    {"aten::log", SIM_DIVIDES | SIM_OVERWRITES},
    {"aten::log_", SIM_DIVIDES},
    {"aten::log2*", SIM_DIVIDES},
    {"aten::log10*", SIM_DIVIDES},
    {"aten::div", SIM_DIVIDES | SIM_OVERWRITES},
    {"aten::div_", SIM_DIVIDES},
    {"aten::reciprocal*", SIM_DIVIDES},
    {"aten::rsqrt*", SIM_DIVIDES},
    {"aten::pow*", SIM_DIVIDES},
    {"aten::mean", SIM_DIVIDES | SIM_OVERWRITES},
    {"aten::_foreach_div*", SIM_DIVIDES},
    {"aten::_foreach_reciprocal*", SIM_DIVIDES},
    {"aten::isnan", SIM_COMPARES},
    {"aten::eq", SIM_ENDS | SIM_COMPARES | SIM_MATCHES | SIM_ROUTES | SIM_OVERWRITES},
    {"aten::ne", SIM_ENDS | SIM_COMPARES | SIM_MATCHES | SIM_ROUTES | SIM_OVERWRITES},
    {"aten::lt", SIM_BOUNDS | SIM_MATCHES | SIM_ROUTES | SIM_OVERWRITES},
    {"aten::gt", SIM_BOUNDS | SIM_MATCHES | SIM_ROUTES | SIM_OVERWRITES},
    {"aten::all", SIM_HOLDS | SIM_OVERWRITES},
    {"aten::any", SIM_JOINS | SIM_ROUTES | SIM_OVERWRITES},
    {"aten::bitwise_or", SIM_JOINS | SIM_ROUTES | SIM_OVERWRITES},
    {"aten::logical_or", SIM_JOINS | SIM_ROUTES | SIM_OVERWRITES},
    {"aten::le", SIM_MATCHES | SIM_ROUTES | SIM_OVERWRITES},
    {"aten::ge", SIM_MATCHES | SIM_ROUTES | SIM_OVERWRITES},
    {"aten::bitwise_and", SIM_ROUTES | SIM_OVERWRITES},
    {"aten::bitwise_not", SIM_ROUTES | SIM_OVERWRITES},
    {"aten::logical_and", SIM_ROUTES | SIM_OVERWRITES},
    {"aten::logical_not", SIM_ROUTES | SIM_OVERWRITES},
    {"aten::scatter", SIM_TALLIES | SIM_ROUTES | SIM_OVERWRITES},
    {"aten::scatter_", SIM_TALLIES | SIM_ROUTES},
    {"aten::scatter_add", SIM_TALLIES | SIM_ROUTES | SIM_OVERWRITES},
    {"aten::scatter_add_", SIM_TALLIES | SIM_ROUTES},
    {"aten::sum", SIM_ROUTES | SIM_OVERWRITES},
    {"aten::bincount", SIM_TALLIES | SIM_ROUTES | SIM_OVERWRITES},
    {"aten::sort", SIM_TALLIES | SIM_ROUTES | SIM_OVERWRITES},
    {"aten::amax", SIM_ROUTES | SIM_OVERWRITES},
    {"aten::aminmax", SIM_ROUTES | SIM_OVERWRITES},
    {"aten::_aminmax", SIM_ROUTES | SIM_OVERWRITES},
    {"aten::isin", SIM_ENDS | SIM_TALLIES | SIM_OVERWRITES},
    {"aten::searchsorted", SIM_TALLIES | SIM_ROUTES | SIM_OVERWRITES},
    {"aten::bucketize", SIM_TALLIES | SIM_ROUTES | SIM_OVERWRITES},
    {"aten::count_nonzero", SIM_TALLIES | SIM_OVERWRITES},
    {"aten::index_put_", SIM_TALLIES | SIM_ROUTES},
    {"aten::_index_put_impl_", SIM_TALLIES | SIM_ROUTES},
    {"aten::index_add_", SIM_TALLIES},
};

static bool is_name(const char *name, const char *pattern)
{
    size_t length = strlen(pattern);

    return pattern[length - 1] == '*' ? !strncmp(name, pattern, length - 1)
                                      : !strcmp(name, pattern);
}

unsigned sim_rules_of(const char *entry)
{
    const char *name = sim_operator_name(entry);

    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        if (is_name(name, table[i].name))
            return table[i].rules;
    /* An operator that writes in place also reads its argument; output arguments are only
     * written. */
    return name[strlen(name) - 1] == '_' ? 0 : SIM_OVERWRITES;
}

/* --- results that are settled though the arguments are not known ------------------------------ */

static bool is_infinite(const struct sim_value *value)
{
    return value->tag == SIM_TAG_DOUBLE && isinf(value->real);
}

static bool is_same(const struct sim_value *a, const struct sim_value *b)
{
    return sim_is_on_device(a) && sim_is_on_device(b) &&
           sim_elements(a->object) == sim_elements(b->object) &&
           sim_numel(a->object) == sim_numel(b->object);
}

/* What this thread drew last, unless something else has written there since. CUDA's generator never
 * produces a value seven standard deviations from the mean. */
static _Thread_local struct {
    const void *storage, *elements;
    int64_t n;
    double low, high;
} drawn;

static void note_drawn(const struct sim_replaced *op, const struct sim_value *arguments)
{
    for (size_t i = 0; drawn.storage && i < op->arguments; i++)
        if (op->writes >> i & 1 && sim_is_on_device(&arguments[i]) &&
            sim_storage(arguments[i].object) == drawn.storage)
            drawn.storage = NULL;
    if (!(op->rules & SIM_DRAWS) || !sim_is_on_device(&arguments[0]) ||
        arguments[1].tag != SIM_TAG_DOUBLE || arguments[2].tag != SIM_TAG_DOUBLE)
        return;
    drawn.storage = sim_storage(arguments[0].object);
    drawn.elements = sim_elements(arguments[0].object);
    drawn.n = sim_numel(arguments[0].object);
    drawn.low = arguments[1].real - 8 * arguments[2].real;
    drawn.high = arguments[1].real + 8 * arguments[2].real;
}

/* The last minimum that this thread computed from unknown values. */
static _Thread_local struct {
    const void *storage, *elements;
} lowest;

static void note_least(const struct sim_replaced *op, const struct sim_value *results, bool known)
{
    for (size_t i = 0; i < op->results; i++)
        if (sim_is_on_device(&results[i]) && sim_storage(results[i].object) == lowest.storage)
            lowest.storage = NULL;
    if (!(op->rules & SIM_LEASTS) || known || op->results != 1 || !sim_is_on_device(&results[0]) ||
        sim_numel(results[0].object) != 1)
        return;
    lowest.storage = sim_storage(results[0].object);
    lowest.elements = sim_elements(results[0].object);
}

/* Answer whether the minimum is below or above a number close to 0: programs guard divisions like
 * this. */
static void guard(const struct sim_replaced *op, const struct sim_value *arguments,
                  struct sim_rule_state *rule)
{
    if (!lowest.storage || !sim_is_on_device(&arguments[0]) ||
        sim_elements(arguments[0].object) != lowest.elements ||
        sim_numel(arguments[0].object) != 1 || arguments[1].tag != SIM_TAG_DOUBLE ||
        !(arguments[1].real > 0 && arguments[1].real <= most_guard))
        return;
    rule->settled = rule->guards = true;
    rule->answer = strcmp(sim_operator_name(op->entry), "aten::lt") != 0;
}

/* Answer whether a drawn number is below or above another number, if the answer is the same for
 * all. */
static void bound(const struct sim_replaced *op, const struct sim_value *arguments,
                  struct sim_rule_state *rule)
{
    bool below = !strcmp(sim_operator_name(op->entry), "aten::lt");
    bool is_integer = arguments[1].tag == SIM_TAG_INT;
    double number = is_integer ? (double)arguments[1].integer : arguments[1].real;

    if (!sim_is_on_device(&arguments[0]) || !drawn.storage ||
        (!is_integer && arguments[1].tag != SIM_TAG_DOUBLE) ||
        sim_elements(arguments[0].object) != drawn.elements ||
        sim_numel(arguments[0].object) != drawn.n)
        return;
    rule->settled = number < drawn.low || number > drawn.high;
    rule->answer = below == (number > drawn.high);
}

/* Return whether all elements of a mask are equal. */
static bool is_all(const struct sim_value *value, bool answer)
{
    size_t size = sim_is_on_device(value) ? (size_t)sim_numel(value->object) : 0;
    const char *elements = size ? sim_elements(value->object) : NULL;

    return size && sim_dtype(value->object) == SIM_TYPE_BOOL && sim_span(value->object) == size &&
           (sim_is_written(elements, size)
                ? *elements == answer && !memcmp(elements, elements + 1, size - 1)
                : !answer);
}

/* Return whether that holds for all masks that an operator reads. */
static bool are_all(const struct sim_replaced *op, const struct sim_value *arguments, bool answer)
{
    const char *name = sim_operator_name(op->entry);
    size_t masks = 0, needed = strcmp(name, "aten::any") && strcmp(name, "aten::all") ? 2 : 1;

    for (size_t i = 0; i < op->arguments; i++)
        if (arguments[i].tag == SIM_TAG_TENSOR && !(op->writes >> i & 1)) {
            if (sim_find_known(arguments[i].object) != SIM_KNOWN || !is_all(&arguments[i], answer))
                return false;
            masks++;
        }
    return masks == needed;
}

/* Return whether an operator searches choices for one of a few known numbers: the end of a text. */
static bool seeks_end(const struct sim_replaced *op, const struct sim_value *arguments)
{
    const struct sim_value *end = &arguments[1];
    int64_t most = op->rules & SIM_TALLIES ? MOST_ENDS : 1;

    return op->rules & SIM_ENDS && sim_is_on_device(&arguments[0]) &&
           sim_find_known(arguments[0].object) == SIM_CHOSEN &&
           (end->tag == SIM_TAG_INT ||
            (sim_is_on_device(end) && sim_find_known(end->object) == SIM_KNOWN &&
             sim_numel(end->object) <= most));
}

enum sim_known sim_rule_gives(const struct sim_replaced *op, const struct sim_value *arguments,
                              enum sim_known least)
{
    const struct sim_value *a = &arguments[0], *b = &arguments[1];
    bool pair = op->arguments > 1 && sim_is_on_device(a) && sim_is_on_device(b) &&
                sim_numel(a->object) == sim_numel(b->object) && sim_numel(a->object) > 1;
    bool both =
        pair && sim_find_known(a->object) == SIM_EVEN && sim_find_known(b->object) == SIM_EVEN;

    if (least != SIM_EVEN)
        return least;
    /* Whether two choices are equal is unknown, except that neighbours in one list never are. */
    if (both && (op->rules & SIM_MATCHES ||
                 (sim_storage(a->object) == sim_storage(b->object) && !is_same(a, b))))
        return SIM_CHOSEN;
    if (op->rules & SIM_TALLIES || (op->rules & SIM_MATCHES && !pair))
        return SIM_KNOWN;
    if (!strcmp(sim_operator_name(op->entry), "aten::sum") && sim_is_on_device(a) &&
        sim_dtype(a->object) == SIM_TYPE_BOOL)
        return SIM_KNOWN; /* counts a mask */
    return SIM_EVEN;
}

int64_t sim_rule_finds(const void *tensor, struct sim_rule_state *rule)
{
    size_t n = sim_dimensions(tensor);

    if (!n || n > SIM_MOST_DIMENSIONS)
        return 0;
    memcpy(rule->sizes, sim_sizes(tensor), n * sizeof(int64_t));
    rule->among = sim_numel(tensor);
    rule->found = sim_found(rule->among);
    return rule->found;
}

int64_t sim_rule_along(const struct sim_replaced *op, const struct sim_value *arguments)
{
    return op->rules & SIM_ALONG ? arguments[1].integer : 0;
}

void sim_rule_before(const struct sim_replaced *op, const struct sim_value *arguments,
                     struct sim_rule_state *rule, bool within)
{
    *rule = (struct sim_rule_state){0};
    note_drawn(op, arguments);
    if (op->rules & SIM_BOUNDS) {
        bound(op, arguments, rule);
        guard(op, arguments, rule);
    }
    if (op->rules & SIM_COMPARES) {
        bool infinite = op->arguments > 1 && is_infinite(&arguments[1]);
        bool same = op->arguments > 1 && is_same(&arguments[0], &arguments[1]);

        rule->settled = op->arguments == 1 || infinite || same;
        /* A value equals itself, and does not equal infinity. */
        rule->answer =
            op->arguments > 1 && same == !strcmp(sim_operator_name(op->entry), "aten::eq");
    }
    if (op->rules & SIM_JOINS)
        rule->settled = are_all(op, arguments, false);
    if (op->rules & SIM_HOLDS) {
        rule->settled = rule->answer = are_all(op, arguments, true);
        rule->holds = sim_is_on_device(&arguments[0]) && !rule->settled &&
                      (within || sim_numel(arguments[0].object) >
                                     SIM_MANY_CHOICES); /* fewer: a loop's flags */
        rule->is_made_up = rule->holds && sim_find_known(arguments[0].object) == SIM_FOUND;
    }
    if (op->rules & SIM_COPIES && sim_is_on_device(&arguments[0]) &&
        arguments[1].tag == SIM_TAG_TENSOR && arguments[1].object != sim_layout.undefined)
        rule->content = sim_copies_bytes(arguments[0].object, arguments[1].object);
    if (op->rules & SIM_KEEPS && sim_is_on_device(&arguments[0]))
        rule->kept = sim_known(sim_storage(arguments[0].object));
    rule->zero = op->rules & SIM_CLEARS;
    sim_note_zeroed(op, arguments);
    if (op->rules & SIM_CHOOSES) {
        rule->choices = sim_choices(op, arguments);
        rule->zeroed = sim_known_zero(op, arguments);
    }
    rule->picks = sim_picks(op, arguments);
    rule->ends = seeks_end(op, arguments);
}

/* Choose. The last dimension of the results of topk and multinomial holds the choices of one
 * row. */
static void choose(void *tensor, const struct sim_rule_state *rule)
{
    size_t n = (size_t)sim_numel(tensor), picks = (size_t)rule->picks;

    if (!n || sim_span(tensor) != n * 8 || sim_is_wide(SIM_LARGE, tensor) || n % picks)
        return;
    sim_mark_written(sim_elements(tensor), n * 8);
    sim_choose((int64_t *)(void *)sim_elements(tensor), n / picks, picks, (size_t)rule->choices,
               rule->zeroed);
    /* Experts are balanced; a position in a sequence may be any. */
    sim_know(sim_storage(tensor), rule->choices < SIM_MANY_CHOICES ? SIM_EVEN : SIM_CHOSEN);
}

/* Return the i-th of so many elements that are spread evenly over all. */
static int64_t found_place(int64_t i, int64_t found, int64_t among)
{
    return i * among / found;
}

/* Find elements that are spread evenly over all. */
static void find_some(void *tensor, const struct sim_rule_state *rule)
{
    size_t dimensions = sim_dimensions(tensor) == 2 ? (size_t)sim_sizes(tensor)[1] : 0;
    int64_t found = dimensions ? sim_sizes(tensor)[0] : 0,
            *at = (int64_t *)(void *)sim_elements(tensor);

    if (found != rule->found || !found || sim_span(tensor) > sim_copy_limit())
        return;
    sim_mark_written(at, sim_span(tensor));
    for (int64_t i = 0; i < found; i++) {
        int64_t place = found_place(i, found, rule->among);

        for (size_t d = dimensions; d-- > 0; place /= rule->sizes[d])
            at[i * sim_strides(tensor)[0] + (int64_t)d * sim_strides(tensor)[1]] =
                place % rule->sizes[d];
    }
}

/* Set a mask of unknown values to true where a selection by it finds its elements, so that
 * counting, copying or combining the mask finds the same ones. */
static void make_up(void *tensor)
{
    int64_t n = sim_numel(tensor), found = n > 1 && sim_dimensions(tensor) ? sim_found(n) : 0;
    char *elements = sim_elements(tensor);

    if (!found || sim_dtype(tensor) != SIM_TYPE_BOOL || sim_span(tensor) != (size_t)n ||
        sim_is_wide(SIM_LARGE, tensor) || sim_is_settled(sim_find_known(tensor)))
        return;
    if (sim_is_written(elements, (size_t)n))
        memset(elements, false, (size_t)n);
    sim_mark_written(elements, (size_t)n);
    for (int64_t i = 0; i < found; i++)
        elements[found_place(i, found, n)] = true;
    sim_know(sim_storage(tensor), SIM_FOUND);
}

/* Answer a comparison whose results are too many to be computed. */
static void know_answer(void *tensor, bool answer)
{
    size_t size = (size_t)sim_numel(tensor);

    if (sim_element(tensor) != 1 || sim_span(tensor) != size || (answer && size > sim_copy_limit()))
        return;
    if (answer || size <= sim_size_limit()) { /* over what was there before */
        sim_mark_written(sim_elements(tensor), size);
        memset(sim_elements(tensor), answer, size);
    }
    sim_know(sim_storage(tensor), SIM_KNOWN);
}

/* Let a check of unknown values succeed. The result stays unknown. */
static void let_hold(void *tensor)
{
    size_t size = (size_t)sim_numel(tensor);

    if (!size || sim_element(tensor) != 1 || sim_span(tensor) != size || size > sim_copy_limit())
        return;
    sim_mark_written(sim_elements(tensor), size);
    memset(sim_elements(tensor), true, size);
}

/* Note known content. Large copies and fills are made by the device itself, up to a size. */
static void know_content(void *tensor, const struct sim_rule_state *rule)
{
    size_t size = (size_t)sim_numel(tensor) * sim_element(tensor);

    if (sim_known(sim_storage(tensor)) == SIM_FRESH && size == sim_span(tensor) &&
        (rule->zero || size <= sim_copy_limit()) && size >= sim_storage_size(tensor))
        sim_know(sim_storage(tensor), rule->zero ? SIM_KNOWN : rule->content);
}

void sim_rule_after(const struct sim_replaced *op, struct sim_value *results,
                    const struct sim_rule_state *rule, bool known)
{
    const struct sim_value *index = results + op->results - 1;

    note_least(op, results, known);
    sim_forget_zeroed(results, op->results);
    if (rule->choices > 0 && !known && sim_is_on_device(index) &&
        sim_dtype(index->object) == SIM_TYPE_LONG)
        choose(index->object, rule);
    if (op->rules & SIM_KEEPS && sim_is_on_device(&results[0]))
        sim_know(sim_storage(results[0].object), rule->kept);
    if (rule->found && sim_is_on_device(&results[0]))
        find_some(results[0].object, rule);
    if (rule->settled && (!known || rule->guards) && sim_is_on_device(&results[0]))
        know_answer(results[0].object, rule->answer);
    /* Choices are made so that no text ends. */
    if (rule->ends && known &&
        is_all(&results[0], !strcmp(sim_operator_name(op->entry), "aten::ne")))
        sim_know(sim_storage(results[0].object), SIM_KNOWN);
    if (rule->holds && (!known || rule->is_made_up) && sim_is_on_device(&results[0]))
        let_hold(results[0].object);
    if (!known && op->results && sim_is_on_device(&results[0]) &&
        (sim_is_settled(rule->content) || rule->zero))
        know_content(results[0].object, rule);
    if (!known && op->results && !(op->rules & SIM_RANDOM) && sim_is_on_device(&results[0]))
        make_up(results[0].object);
}
