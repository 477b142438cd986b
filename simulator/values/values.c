/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compute small values. The dispatcher calls our function in place of CUDA's kernel of an operator.
 * It calls that kernel, which requests the memory and computes nothing, and then the host's kernel
 * of the same operator on the same contents: memory of the simulated device is memory of the host.
 * The results are written to the device. Operators with large tensors are left alone, and what
 * depends on them is unknown.
 */
#include <pthread.h>
#include <string.h>

#include "core/memory/written.h"
#include "core/streams/capture.h"
#include "core/values/known.h"
#include "core/values/values.h"
#include "finite.h"
#include "host-tensor.h"
#include "instead.h"
#include "reads.h"
#include "replaced.h"
#include "rules.h"
#include "small.h"
#include "torch.h"

enum {
    MOST_WRITTEN = 64, /* tensors that an operator writes to */
    MOST_FAILURES = 8, /* of the host's kernel: then it is not called again */
};

struct run {
    struct sim_replaced *op;
    const char *entry;                          /* the host's operator, mostly the same one */
    bool (*function)(struct sim_values *stack); /* instead of its kernel; NULL: its kernel */
    size_t host_results;    /* of its results, so many are also the operator's */
    const char *returned;   /* the storage of an argument that is a result, too, as it is */
    struct sim_values host; /* the arguments, then the results, of the host's kernel */
    struct written {
        void *device, *host;
    } written[MOST_WRITTEN];
    size_t n_written;
    size_t most;          /* SIM_LARGE: bytes of its results */
    unsigned rules;       /* the operator's, and whether it computes with large tensors */
    bool computes, known; /* known: its results depend on known values alone */
    enum sim_known least; /* how sure the least sure of them is */
    bool stays_finite;    /* its results are: no argument is infinite, and not all are known */
    bool expects;         /* its kernel copies a number that is answered */
    bool reads;           /* it reads values itself; these copies are not reported */
    int64_t along;        /* the dimension whose size it counts */
};

static _Thread_local unsigned inside,
    quiet; /* operators under way; those that read values themselves */

/* --- what is known ------------------------------------------------------------------------- */

/* Note that a kernel which does not run would have written to the tensor. */
static void forget(const void *tensor)
{
    if (sim_is_device(tensor) && sim_field(tensor, sim_layout.storage))
        sim_know(sim_storage(tensor),
                 sim_storage_size(tensor) > sim_size_limit() ? SIM_FRESH : SIM_UNKNOWN);
}

static void forget_value(const struct sim_value *value)
{
    if (value->tag == SIM_TAG_TENSOR)
        forget(value->object);
    else if (value->tag == sim_layout.tag_list)
        for (struct sim_value *at = sim_list(value)->begin; at != sim_list(value)->end; at++)
            forget_value(at);
}

/* The same of a result that was not computed. */
static void forget_result(const struct run *run, const struct sim_value *value)
{
    if (!run->returned || value->tag != SIM_TAG_TENSOR ||
        sim_storage(value->object) != run->returned)
        forget_value(value);
}

/* Return whether the operator reads only known values there. */
static bool is_known(const struct run *run, const void *tensor, bool written)
{
    enum sim_known known = sim_find_known(tensor);

    if (written && run->op->rules & SIM_OVERWRITES)
        return known != SIM_UNKNOWN || sim_covers_storage(tensor);
    return written ? known != SIM_UNKNOWN : sim_is_settled(known);
}

/* Return whether this is a thread of autograd's: gradients steer nothing, so unknown ones are left
 * alone. */
static bool in_backward(void)
{
    static _Thread_local enum { NOT_KNOWN, YES, NO } state;
    char name[16];

    if (state == NOT_KNOWN)
        state = !pthread_getname_np(pthread_self(), name, sizeof(name)) &&
                        !strncmp(name, "pt_autograd", 11)
                    ? YES
                    : NO;
    return state == YES;
}

/* --- arguments for the host's kernel -------------------------------------------------------- */

/* Create a host tensor with the same elements. It shares memory only if that is not written and
 * outlives it: the device's. NULL: not possible. */
static void *stand_in(struct run *run, void *tensor, bool written)
{
    void *made;

    if (tensor == sim_layout.undefined)
        return tensor;
    if (written && (!sim_is_device(tensor) || run->n_written == MOST_WRITTEN))
        return NULL;
    run->known = run->known && is_known(run, tensor, written);
    if (!(written && run->op->rules & SIM_OVERWRITES) && sim_is_settled(sim_find_known(tensor)) &&
        sim_find_known(tensor) > run->least)
        run->least = sim_find_known(tensor);
    if (!run->known && in_backward())
        return NULL;
    if (sim_has_key(tensor, sim_layout.conjugate | sim_layout.negative))
        return written || !sim_is_device(tensor) ? NULL : sim_host_resolved(tensor);
    if (sim_is_device(tensor) && !written)
        return run->op->rules & SIM_AS_REALS && sim_dtype(tensor) <= SIM_TYPE_LONG
                   ? sim_host_reals(tensor)
                   : sim_host_over(tensor);
    made = sim_host_like(tensor);
    if (!made)
        return NULL;
    if (sim_numel(tensor) && !(written && run->op->rules & SIM_OVERWRITES))
        memcpy(sim_elements(made), sim_elements(tensor), sim_span(tensor));
    if (written) {
        sim_hold(made);
        run->written[run->n_written++] = (struct written){tensor, made};
    }
    return made;
}

static bool add_argument(struct run *run, struct sim_values *to, struct sim_value value,
                         bool written);

static bool add_list(struct run *run, struct sim_values *to, struct sim_value value, bool written)
{
    struct sim_values *elements = sim_list(&value);
    void *made;

    if (elements->begin == elements->end || elements->begin->tag == SIM_TAG_INT ||
        elements->begin->tag == SIM_TAG_DOUBLE || elements->begin->tag == sim_layout.tag_bool) {
        sim_hold(value.object);
        *to->end++ = value;
        return true;
    }
    made = sim_torch_list(&value);
    if (!made)
        return false;
    *to->end++ = (struct sim_value){.object = made, .tag = sim_layout.tag_list};
    for (struct sim_value *at = elements->begin; at != elements->end; at++)
        if ((at->tag != SIM_TAG_TENSOR && at->tag != SIM_TAG_NONE) ||
            !add_argument(run, sim_list(to->end - 1), *at, written))
            return false;
    return true;
}

static bool add_argument(struct run *run, struct sim_values *to, struct sim_value value,
                         bool written)
{
    if (value.tag == SIM_TAG_TENSOR) {
        value.object = stand_in(run, value.object, written);
        if (!value.object)
            return false;
    } else if (value.tag == sim_layout.tag_list) {
        return add_list(run, to, value, written);
    } else if (value.tag == sim_layout.tag_device) {
        value.device.type = SIM_DEVICE_CPU;
        value.device.index = -1;
    } else if (value.tag == sim_layout.tag_generator) {
        value.object = sim_torch_generator();
    } else if (value.tag == sim_layout.tag_string || value.tag == SIM_TAG_COMPLEX) {
        sim_hold(value.object);
    } else if (value.tag > SIM_TAG_INT && value.tag != sim_layout.tag_bool) {
        return false;
    } else if (value.tag == SIM_TAG_STORAGE) {
        return false;
    }
    *to->end++ = value;
    return true;
}

/* Add n arguments of the host's operator. writes: a bit for each that it writes to. */
static bool add_arguments(struct run *run, const struct sim_value *arguments, size_t n,
                          uint64_t writes)
{
    const char *slot = sim_kernel_slot(run->entry, SIM_SLOT_HOST);
    size_t results = sim_results(run->entry);

    if ((!run->function && (!sim_field(slot, 0) || !sim_field(slot, 8))) ||
        !sim_torch_stack(&run->host, (n > results ? n : results) + 1))
        return false;
    for (size_t i = 0; i < n; i++)
        if (!add_argument(run, &run->host, arguments[i], writes >> i & 1))
            return false;
    return true;
}

static bool add_instead(struct run *run, const struct sim_value *arguments)
{
    struct sim_instead instead;
    bool added = sim_begin_instead(run->op, arguments, &instead);

    run->entry = instead.entry;
    run->function = instead.function;
    run->host_results = instead.results;
    added = added && add_arguments(run, instead.arguments, instead.n, 0);
    sim_end_instead(&instead);
    return added;
}

/* Take the arguments over for the host's kernel. */
static void prepare(struct run *run, const struct sim_value *arguments)
{
    const struct sim_replaced *op = run->op;
    size_t together = 0;

    if (op->failures >= MOST_FAILURES ||
        atomic_load_explicit(&sim_captures_going_on, memory_order_relaxed))
        return;
    if (!sim_are_small(op->rules, arguments, arguments + op->arguments, &together)) {
        run->most = sim_route_limit(op, arguments);
        if (run->most)
            run->rules |= SIM_LARGE;
        else if (sim_is_of_integers(op, arguments))
            run->rules |= SIM_INTEGERS;
        else
            return;
    } else if (sim_is_long(together) && op->rules & SIM_CARRIES &&
               !sim_have_contents(arguments, arguments + op->arguments)) {
        return;
    }
    if (op->has_instead ? !add_instead(run, arguments)
                        : !add_arguments(run, arguments, op->arguments, op->writes))
        return;
    run->stays_finite =
        !run->known && op->rules & SIM_DIVIDES && sim_are_finite(run->host.begin, run->host.end);
    run->least = sim_rule_gives(op, arguments, run->least);
    run->computes = true;
}

/* --- results -------------------------------------------------------------------------------- */

static bool same_sizes(const void *a, const void *b)
{
    size_t n = sim_dimensions(a);

    return n == sim_dimensions(b) && !memcmp(sim_sizes(a), sim_sizes(b), n * sizeof(int64_t));
}

static bool is_dense(const void *a, const void *b)
{
    return sim_dtype(a) == sim_dtype(b) && sim_span(a) == sim_bytes(a) &&
           !memcmp(sim_strides(a), sim_strides(b), sim_dimensions(a) * sizeof(int64_t));
}

/* Give a tensor of the device the elements of the host's. */
static void settle(const struct run *run, void *device, void *host)
{
    void *seen;

    if (device == sim_layout.undefined || !sim_is_device(device) || host == sim_layout.undefined)
        return;
    if (!same_sizes(device, host) || sim_is_wide(run->rules, device) || !sim_element(device)) {
        forget(device);
        return;
    }
    if (run->stays_finite)
        sim_make_finite(host);
    if (sim_numel(device)) {
        if (is_dense(device, host)) {
            if (memcmp(sim_elements(device), sim_elements(host), sim_bytes(host))) {
                sim_mark_written(sim_elements(device), sim_bytes(host));
                memcpy(sim_elements(device), sim_elements(host), sim_bytes(host));
            }
        } else if ((seen = sim_host_like(device))) {
            sim_host_put(seen, sim_elements(device));
            sim_mark_written(sim_elements(device), sim_span(device));
            sim_torch_copy(seen, host);
            sim_drop(seen);
        }
    }
    sim_know(sim_storage(device), run->known ? run->least : SIM_UNKNOWN);
}

static void settle_value(const struct run *run, struct sim_value *device, struct sim_value *host)
{
    if (device->tag != host->tag)
        return;
    if (device->tag == SIM_TAG_TENSOR) {
        settle(run, device->object, host->object);
    } else if (device->tag == sim_layout.tag_list) {
        struct sim_values *to = sim_list(device), *from = sim_list(host);

        for (ptrdiff_t i = 0; i < to->end - to->begin && i < from->end - from->begin; i++)
            settle_value(run, to->begin + i, from->begin + i);
    } else if (device->tag == sim_layout.tag_bool || device->tag == SIM_TAG_INT ||
               device->tag == SIM_TAG_DOUBLE) {
        device->integer = host->integer;
    }
}

/* Call the host's kernel. */
static void compute(struct run *run, uint64_t keys)
{
    struct sim_replaced *op = run->op;
    const struct sim_handle handle = {(char *)(uintptr_t)run->entry};
    const char *slot = sim_kernel_slot(run->entry, SIM_SLOT_HOST);
    struct sim_pause paused = sim_torch_pause();
    bool random = op->rules & SIM_RANDOM;

    if (random)
        sim_torch_swap_generator();
    if (run->function ? !run->function(&run->host)
                      : !sim_torch_call((sim_boxed *)(uintptr_t)sim_field(slot, 8),
                                        sim_field(slot, 0), &handle, keys, &run->host) ||
                            run->host.end - run->host.begin != (ptrdiff_t)sim_results(run->entry)) {
        op->failures++;
        run->computes = false;
    }
    if (random)
        sim_torch_swap_generator();
    sim_torch_resume(paused);
}

static void settle_results(struct run *run, struct sim_value *results)
{
    size_t together = 0;

    for (size_t i = 0; i < run->n_written; i++)
        settle(run, run->written[i].device, run->written[i].host);
    if (!sim_are_small(run->rules, run->host.begin, run->host.end, &together))
        run->known = false;
    for (size_t i = 0; i < run->op->results; i++)
        if (i < run->host_results)
            settle_value(run, results + i, run->host.begin + i);
        else
            forget_result(run, results + i);
}

/* --- the operator --------------------------------------------------------------------------- */

static void end_run(struct run *run)
{
    for (size_t i = 0; i < run->n_written; i++)
        sim_drop(run->written[i].host);
    if (run->host.begin)
        sim_torch_free(&run->host);
    if (run->expects)
        sim_answer.expected = false;
    if (run->op->rules & SIM_SEEKS)
        sim_answer.finds = false;
    inside--;
    quiet -= run->reads;
}

/* Let the kernel find the number of elements that the host's has found. */
static void expect_count(struct run *run)
{
    const struct sim_value *first = run->host.begin;
    int64_t at = run->along;

    if (!run->computes || first->tag != SIM_TAG_TENSOR || !sim_dimensions(first->object))
        return;
    at += at < 0 ? (int64_t)sim_dimensions(first->object) : 0;
    sim_answer.number = sim_sizes(first->object)[at];
    sim_answer.expected = run->expects = true;
}

void sim_replacement(void *functor, const struct sim_handle *handle, uint64_t keys,
                     struct sim_values *stack)
{
    struct run run __attribute__((cleanup(end_run))) = {
        .op = sim_find_replaced(handle->entry), .known = true, .least = SIM_KNOWN};
    struct sim_replaced *op = run.op;
    struct sim_value *arguments = stack->end - op->arguments;
    struct sim_rule_state rule;

    inside++;
    run.entry = op->entry;
    run.host_results = op->results;
    run.rules = op->rules;
    run.reads = op->rules & (SIM_COUNTS | SIM_DECIDES | SIM_COPIES);
    sim_rule_before(op, arguments, &rule, inside > 1);
    run.returned = op->has_instead ? sim_returned_storage(op, arguments) : NULL;
    if (!(op->rules & SIM_NOT_COMPUTED))
        prepare(&run, arguments);
    run.reads = run.reads || (run.computes && run.known && op->rules & SIM_TALLIES);
    if (!quiet)
        sim_report_reads(op, arguments, run.computes || !(op->rules & (SIM_COUNTS | SIM_DECIDES)),
                         inside > 1);
    quiet += run.reads;
    if (!run.computes)
        for (size_t i = 0; i < op->arguments; i++)
            if (op->writes >> i & 1)
                forget_value(&arguments[i]);
    if (op->rules & SIM_FINDS && (!run.computes || !run.known) &&
        sim_rule_finds(arguments[0].object, &rule)) {
        sim_answer.number = rule.found;
        sim_answer.expected = run.expects = true;
        run.computes = false;
    } else if (run.computes && op->rules & SIM_COUNTS) {
        run.along = sim_rule_along(op, arguments);
        compute(&run, keys);
        expect_count(&run);
    } else if (op->rules & SIM_COUNTS && !(op->rules & SIM_FINDS) &&
               sim_numel(arguments[0].object)) {
        sim_answer.number = 1; /* of any values one at least differs from the others */
        sim_answer.expected = run.expects = true;
    }
    if (op->rules & SIM_SEEKS)
        sim_answer.finds = true;
    op->boxed(functor, handle, keys, stack);
    if (run.expects)
        sim_answer.expected = false;
    arguments = stack->end - op->results; /* the results have replaced them */
    if (run.computes && !(op->rules & SIM_COUNTS)) {
        size_t together = 0;
        bool small = sim_are_small(run.rules, arguments, stack->end, &together) &&
                     !(run.rules & SIM_LARGE && together > run.most);

        if (!small && run.known && sim_are_integers(arguments, stack->end)) {
            run.rules |= SIM_INTEGERS;
            small = true;
        }
        if (small)
            compute(&run, keys);
        else
            run.computes = false;
    }
    run.known = run.known || rule.settled;
    if (run.computes)
        settle_results(&run, arguments);
    else
        for (struct sim_value *result = arguments; result != stack->end; result++)
            forget_result(&run, result);
    sim_rule_after(op, arguments, &rule, run.computes && run.known);
}

/* --- starting ---------------------------------------------------------------------------- */

__attribute__((visibility("default"))) bool sim_values_start(size_t limit);

/* Return whether values are computed. The caller sees to it that one thread is here. */
bool sim_values_start(size_t limit)
{
    static enum { NOT_MEASURED, GOOD, BAD } state;

    if (state == NOT_MEASURED)
        state = sim_measure_layout() ? GOOD : BAD;
    if (state == BAD)
        return false;
    sim_set_size_limit(limit);
    sim_replace_kernels(sim_replacement);
    sim_replace_coalesce();
    return true;
}
