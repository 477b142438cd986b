/* SPDX-License-Identifier: Apache-2.0 */
/* What a trace tells over time: phases, iterations, growth, the chart; and sets of equal sizes. */
#include "analyzer/findings/analysis.h"
#include "device-fixture.h"
#include "scenarios.h"
#include "tests/support/run-tests.h"

#include <check.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define BASE 0x7f0000000000ull
#define TORCH "/v/lib/python3.11/site-packages/torch/"

static uint32_t line; /* the stack of what is made outside of phases */

/* Allocates and frees in a phase, so that it is seen. */
static void visit(const char *frame, const char *function, uint64_t bytes)
{
    char text[128];
    snprintf(text, sizeof text, TORCH "%s:1 %s", frame, function);
    mt_build_on(builder, 0, 1, mt_build_stack(builder, "/u/t.py:1 main", text, NULL));
    mt_build_alloc(builder, BASE + (1ull << 40), bytes);
    mt_build_free(builder, BASE + (1ull << 40));
}

static void forward(uint64_t bytes)
{
    visit("nn/modules/module.py", "Module._call_impl", bytes);
}

static void backward(uint64_t bytes)
{
    visit("autograd/__init__.py", "backward", bytes);
}

static void step(uint64_t bytes)
{
    visit("optim/optimizer.py", "Optimizer.profile_hook_step.<locals>.wrapper", bytes);
}

static void outside(uint64_t address, uint64_t bytes)
{
    if (!line)
        line = mt_build_stack(builder, "/u/t.py:7 main", NULL);
    mt_build_on(builder, 0, 1, line);
    mt_build_alloc(builder, address, bytes);
}

/* Note an iteration of a training: each total is higher than in the one before, but for every
 * twentieth. Each hundredth ends with an evaluation. */
static void note_iteration(struct mt_spans *spans, struct mt_when *when, uint64_t i)
{
    static const enum mt_phase phases[] = {MT_PHASE_FORWARD, MT_PHASE_BACKWARD, MT_PHASE_STEP,
                                           MT_PHASE_FORWARD, MT_PHASE_FORWARD};
    uint64_t base = 1000000 + 512 * (i % 20 ? i : 0);
    unsigned n = i % 100 == 99 ? 5 : 3;
    for (unsigned p = 0; p < n; p++) {
        uint64_t event = 10 * i + 2 * p;
        when->run++;
        when->after = (uint8_t)phases[p];
        when->has_called = true;
        when->is_evaluation = p >= 3;
        ck_assert_int_eq(mt_spans_note(spans, when, 0, event, event, base + 1000 * p, base), 0);
        ck_assert_int_eq(mt_spans_note(spans, when, 0, event + 1, event, base, base), 0);
    }
}

/* A follower of a run of weeks keeps few spans, and knows the same of all. */
START_TEST(folded_spans_show_the_same)
{
    struct mt_spans spans[2] = {0};
    mt_spans_fold(&spans[1], 1, true);
    for (unsigned list = 0; list < 2; list++) {
        struct mt_when when = {0};
        for (uint64_t i = 0; i < 20000; i++)
            note_iteration(&spans[list], &when, i);
        mt_spans_number(&spans[list], true);
    }
    ck_assert_uint_gt(spans[0].n, 60000);
    ck_assert_uint_le(spans[1].capacity, 8192);
    ck_assert_uint_eq(spans[0].iterations, 20000);
    ck_assert_uint_eq(spans[1].iterations, 20000);
    ck_assert_uint_gt(mt_spans_growth(&spans[0]), 0);
    ck_assert_uint_eq(mt_spans_growth(&spans[1]), mt_spans_growth(&spans[0]));
    for (int phase = 0; phase < MT_PHASE_COUNT; phase++)
        ck_assert_uint_eq(mt_spans_most(&spans[1], (enum mt_phase)phase),
                          mt_spans_most(&spans[0], (enum mt_phase)phase));
    ck_assert_uint_eq(mt_spans_of_iteration(&spans[1], 19990)->most_event,
                      mt_spans_of_iteration(&spans[0], 19990)->most_event);
    mt_spans_clear(&spans[0]);
    mt_spans_clear(&spans[1]);
}
END_TEST

START_TEST(a_step_ends_an_iteration)
{
    outside(BASE, 100);
    for (unsigned i = 0; i < 3; i++) {
        forward(1000);
        backward(i == 1 ? 3000 : 1500);
        forward(1100); /* accumulation: still the same iteration */
        backward(1600);
        step(2000);
    }
    const struct mt_device *device = analyze();
    ck_assert_uint_eq(device->spans->iterations, 3);
    ck_assert_uint_eq(device->at.allocated, 3100);
    ck_assert_int_eq(device->span->phase, MT_PHASE_BACKWARD);
    ck_assert_uint_eq(device->span->iteration, 2);
    ck_assert_int_eq(device->next->phase, MT_PHASE_STEP);
    ck_assert_uint_eq(device->next->iteration, 1);
    ck_assert_uint_eq(device->next->most, 2100);
    ck_assert_uint_eq(device->growth.per_iteration, 0);
}
END_TEST

/* Lightning: forward and backward within the step, whose own code comes between; validation before,
 * between and after. */
START_TEST(validation_is_no_iteration)
{
    forward(900);
    outside(BASE, 10);
    forward(900);
    for (unsigned epoch = 0; epoch < 2; epoch++) {
        for (unsigned i = 0; i < 4; i++) {
            forward(1000);
            step(10);
            backward(1500);
            step(2000);
        }
        forward(900);
        outside(BASE + 4096 * (epoch + 1), 10);
        forward(900);
    }
    mt_build_end(builder);
    const struct mt_device *device = analyze();
    ck_assert_uint_eq(device->spans->iterations, 8);
    ck_assert_uint_eq(device->spans->span[device->spans->n - 1].iteration, 8);
}
END_TEST

/* As Lightning and the Trainer of transformers do between epochs, and before the first. */
static void evaluate(uint64_t bytes)
{
    mt_build_on(builder, 0, 1,
                mt_build_stack(builder, "/u/t.py:1 main",
                               "/v/site-packages/lightning/pytorch/loops/evaluation_loop.py:1 "
                               "_EvaluationLoop.run",
                               TORCH "nn/modules/module.py:1 Module._call_impl", NULL));
    mt_build_alloc(builder, BASE + (1ull << 40), bytes);
    mt_build_free(builder, BASE + (1ull << 40));
}

START_TEST(an_evaluation_is_beside_the_training)
{
    evaluate(500);
    for (unsigned i = 0; i < 6; i++) {
        forward(1000);
        backward(1500);
        step(1200);
        if (i % 2)
            evaluate(i == 3 ? 4000 : 900);
    }
    const struct mt_device *device = analyze();
    ck_assert_uint_eq(device->spans->iterations, 6);
    ck_assert_uint_eq(device->at.allocated, 4000);
    ck_assert_uint_eq(device->span->iteration, 4);
    ck_assert_int_eq(mt_device_part(device), MT_PART_EVALUATION);
    ck_assert_uint_eq(device->spans->span[0].iteration, 0);
    ck_assert_uint_eq(mt_spans_of_iteration(device->spans, 4)->most, 1500);
}
END_TEST

/* The stack of a module's forward that this line calls. */
static uint32_t calling(const char *caller)
{
    return mt_build_stack(builder, caller, TORCH "nn/modules/module.py:1 Module._call_impl", NULL);
}

/* A forward, which is over when its block goes. */
static void call(uint32_t stack, uint64_t bytes)
{
    mt_build_on(builder, 0, 1, stack);
    mt_build_alloc(builder, BASE + (1ull << 40), bytes);
    mt_build_on(builder, 0, 1,
                line ? line : (line = mt_build_stack(builder, "/u/t.py:7 main", NULL)));
    mt_build_free(builder, BASE + (1ull << 40));
}

/* The line of the evaluation is called before some backwards only. A teacher's is called before
 * each; so is that of microbatches, as often. */
START_TEST(forwards_without_a_backward_are_an_evaluation)
{
    uint32_t teach = calling("/u/t.py:5 teach"), train = calling("/u/t.py:6 train"),
             evaluate_by = calling("/u/t.py:9 evaluate");
    for (unsigned i = 0; i < 6; i++) {
        call(teach, 3000);
        call(train, 1000);
        call(train, 1000);
        backward(1500);
        step(1200);
        for (unsigned j = 0; i % 3 == 1 && j < 5; j++)
            call(evaluate_by, 4000 + j);
    }
    const struct mt_device *device = analyze();
    ck_assert_uint_eq(device->spans->iterations, 6);
    ck_assert_uint_eq(device->at.allocated, 4004);
    ck_assert_uint_eq(device->span->iteration, 2);
    ck_assert_int_eq(mt_device_part(device), MT_PART_EVALUATION);
    ck_assert_uint_eq(mt_spans_of_iteration(device->spans, 3)->most, 3000);
    ck_assert_uint_eq(mt_spans_calls_before_backward(device->spans), 3);
}
END_TEST

/* One line trains and evaluates: what it is called more often than before most backwards. */
START_TEST(forwards_beyond_the_usual_are_an_evaluation)
{
    uint32_t run = calling("/u/t.py:6 run");
    for (unsigned i = 0; i < 6; i++) {
        for (unsigned j = 0; i % 3 == 2 && j < 5; j++)
            call(run, 4000 + j);
        call(run, 1000);
        backward(1500);
        step(1200);
    }
    const struct mt_device *device = analyze();
    ck_assert_uint_eq(device->at.allocated, 4004);
    ck_assert_uint_eq(device->span->iteration, 2);
    ck_assert_int_eq(mt_device_part(device), MT_PART_EVALUATION);
    ck_assert_uint_eq(mt_spans_of_iteration(device->spans, 3)->most, 1500);
}
END_TEST

/* A run that ends in its first forward with a graph: five batches of an evaluation, a frozen
 * encoder's call, and the training's. */
START_TEST(forwards_before_the_training_begins_are_no_iterations)
{
    uint32_t evaluate_by = calling("/u/t.py:9 evaluate"), encode = calling("/u/t.py:5 encode"),
             train = calling("/u/t.py:6 train");
    for (unsigned i = 0; i < 5; i++)
        call(evaluate_by, 4000 + i);
    call(encode, 500);
    mt_build_on(builder, 0, 1, train);
    mt_build_alloc(builder, BASE, 1000);
    mt_build_event(builder, MT_SAVED, BASE, 0, 0);
    mt_build_event(builder, MT_OOM, 1 << 20, 1000, 0);
    const struct mt_device *device = analyze();
    const struct mt_span *last = &device->spans->span[device->spans->n - 1];
    ck_assert_uint_eq(device->spans->iterations, 1);
    ck_assert_uint_eq(last->iteration, 1);
    ck_assert(!mt_span_evaluates(last));
    ck_assert(!mt_span_evaluates(last - 1));
    ck_assert_uint_eq(device->at.allocated, 4004);
    ck_assert_int_eq(mt_device_part(device), MT_PART_EVALUATION);
    ck_assert_uint_eq(device->span->iteration, 0);
}
END_TEST

/* Sequences differ in length; a generator trains once in five times. */
START_TEST(forwards_that_differ_are_training)
{
    static const unsigned lengths[] = {5, 9, 3, 12, 7, 4, 8, 11};
    uint32_t fakes = calling("/u/t.py:3 fakes"), cell = calling("/u/t.py:6 cell"),
             generator = calling("/u/t.py:8 generator");
    for (unsigned i = 0; i < 8; i++) {
        call(fakes, 5000);
        for (unsigned j = 0; j < lengths[i]; j++)
            call(cell, 1000);
        backward(1500);
        step(1200);
        if (i % 5 == 4) {
            call(generator, 1000);
            backward(1500);
            step(1200);
        }
    }
    const struct mt_device *device = analyze();
    ck_assert_uint_eq(device->spans->iterations, 9);
    for (size_t i = 0; i < device->spans->n; i++)
        ck_assert(!mt_span_evaluates(&device->spans->span[i]));
}
END_TEST

START_TEST(an_evaluation_alone_has_iterations)
{
    for (unsigned i = 0; i < 6; i++) {
        evaluate(1000);
        outside(BASE + 4096 * (i + 1), 10);
    }
    const struct mt_device *device = analyze();
    ck_assert_uint_eq(device->spans->iterations, 6);
    ck_assert_int_eq(mt_device_part(device), MT_PART_IN);
}
END_TEST

/* One line, two equal blocks a turn; samples come when the clock says so. */
static uint32_t turns_with_samples(unsigned every)
{
    mt_build_on(builder, 0, 1, mt_build_stack(builder, "/u/turn.py:3 main", NULL));
    for (unsigned i = 0; i < 60; i++) {
        mt_build_alloc(builder, BASE, 1000);
        mt_build_alloc(builder, BASE + 4096, 1000);
        mt_build_free(builder, BASE);
        mt_build_free(builder, BASE + 4096);
        if (every && i * 7919 % every == 0)
            mt_build_event4(builder, MT_DEVICE_MEMORY, MT_MIB, MT_MIB, 0, 0);
    }
    uint32_t iterations = analyze()->spans->iterations;
    mt_analysis_destroy(&analysis);
    mt_builder_destroy(builder);
    begin();
    return iterations;
}

START_TEST(samples_are_not_what_the_program_does)
{
    ck_assert_uint_eq(turns_with_samples(0), 60);
    for (unsigned every = 1; every < 12; every++)
        ck_assert_uint_eq(turns_with_samples(every), 60);
}
END_TEST

START_TEST(after_a_step_the_programs_own_code_runs)
{
    for (unsigned i = 0; i < 3; i++) {
        forward(1000);
        backward(1500);
        step(1200);
    }
    outside(BASE, 2000);
    const struct mt_device *device = analyze();
    ck_assert_int_eq(device->span->phase, MT_PHASE_STEP);
    ck_assert_int_eq(mt_device_part(device), MT_PART_AFTER);
}
END_TEST

/* Of a network with two optimizers whose second backward needs no forward, or with steps in hooks.
 */
START_TEST(a_second_backward_begins_no_iteration)
{
    for (unsigned i = 0; i < 6; i++) {
        forward(1000);
        backward(1500);
        step(2000);
        backward(1500);
        step(2000);
    }
    ck_assert_uint_eq(analyze()->spans->iterations, 6);
}
END_TEST

/* To C++ all Functions of Python's are a PyNode; where Python allocates, its stack has the class.
 */
START_TEST(a_custom_functions_backward_has_its_class)
{
    uint32_t node = mt_build_string(builder, "N5torch8autograd6PyNodeE");
    forward(100);
    mt_build_on(builder, 0, 2, 0);
    mt_build_event(builder, MT_NODE_BEGIN, 7, node, 0);
    mt_build_alloc(builder, BASE, 100);
    mt_build_on(builder, 0, 2,
                mt_build_stack(builder, TORCH "autograd/function.py:300 BackwardCFunction.apply",
                               "/u/fn.py:9 Double.backward", "/u/fn.py:20 helper", NULL));
    mt_build_alloc(builder, BASE + 4096, 200);
    mt_build_on(builder, 0, 2,
                mt_build_stack(builder, TORCH "autograd/function.py:300 BackwardCFunction.apply",
                               "/u/fn.py:9 backward", NULL));
    mt_build_alloc(builder, BASE + 8192, 300);
    question.by = MT_BY_OPERATOR;
    const struct mt_device *device = analyze();
    question.by = MT_BY_SITE;
    ck_assert_uint_eq(device->groups.n, 2);
    ck_assert_str_eq(device->groups.group[0].name, "PyNode");
    ck_assert_uint_eq(device->groups.group[0].bytes, 400);
    ck_assert_str_eq(device->groups.group[1].name, "Double.backward");
    ck_assert_uint_eq(device->groups.group[1].bytes, 200);
}
END_TEST

/* Where memory ran out in the last forward, that is one. */
START_TEST(a_forward_that_is_broken_off_is_an_iteration)
{
    for (unsigned i = 0; i < 3; i++) {
        forward(1000);
        if (i == 2)
            break;
        backward(1500);
        step(2000);
    }
    mt_build_event(builder, MT_OOM, 1 << 20, 100, 100);
    mt_build_end(builder);
    ck_assert_uint_eq(analyze()->spans->iterations, 3);
}
END_TEST

START_TEST(without_steps_forward_after_backward_begins_one)
{
    for (unsigned i = 0; i < 4; i++) {
        forward(1000);
        backward(2000);
    }
    ck_assert_uint_eq(analyze()->spans->iterations, 4);
}
END_TEST

START_TEST(without_backward_each_forward_is_one)
{
    for (unsigned i = 0; i < 5; i++) {
        forward(1000 + i);
        outside(BASE + i * 4096, 10);
    }
    const struct mt_device *device = analyze();
    ck_assert_uint_eq(device->spans->iterations, 5);
    ck_assert_uint_eq(device->span->iteration, 5);
    ck_assert_int_eq(device->span->phase, MT_PHASE_FORWARD);
}
END_TEST

START_TEST(before_the_first_forward_is_startup)
{
    outside(BASE, 5000);
    mt_build_free(builder, BASE);
    forward(100);
    step(100);
    const struct mt_device *device = analyze();
    ck_assert_int_eq(device->span->phase, MT_PHASE_OUTSIDE);
    ck_assert_uint_eq(device->span->iteration, 0);
}
END_TEST

#define LEFT (2u << 20)
#define APART (4ull << 20)

START_TEST(what_is_left_over_is_growth)
{
    for (unsigned i = 0; i < 10; i++) {
        forward(100000);
        backward(1000);
        outside(BASE + i * APART, LEFT); /* kept for ever */
        step(1000);
    }
    const struct mt_device *device = analyze();
    ck_assert_uint_eq(device->growth.per_iteration, LEFT);
    ck_assert_uint_eq(device->growth.n, 1);
    ck_assert_uint_eq(device->growth.site[0].iterations, 9); /* before the peak's own */
    ck_assert_uint_eq(device->growth.site[0].bytes, 9 * LEFT);
    ck_assert_uint_eq(
        mt_stack_frame(analysis.replay.definitions, device->growth.site[0].line)->line, 7);
}
END_TEST

/* So many forwards before each backward, then 8 of which each leaves something over, and memory
 * runs out: return how many of them did. */
static uint32_t forwards_that_left(unsigned usual)
{
    for (unsigned i = 0; i < 3; i++) {
        for (unsigned k = 0; k < usual; k++) {
            forward(1000);
            outside(BASE + (2ull << 40), 512); /* between two calls */
            mt_build_free(builder, BASE + (2ull << 40));
        }
        backward(1000);
        step(1000);
    }
    for (unsigned i = 0; i < 8; i++) {
        forward(1000);
        outside(BASE + i * 4096, 512);
    }
    mt_build_event(builder, MT_OOM, 1 << 20, 4096, 0);
    question.moment.kind = MT_AT_OOM;
    const struct mt_growth *left = &analyze()->of_forwards;
    ck_assert_uint_le(left->n, 1);
    ck_assert_uint_eq(left->n ? left->site[0].bytes : 0, left->n ? 7 * 512 : 0);
    return left->n ? left->site[0].iterations : 0;
}

START_TEST(an_evaluation_leaves_over_what_its_forwards_do)
{
    ck_assert_uint_eq(forwards_that_left(1), 7); /* before the newest */
}
END_TEST

/* A pipeline and a recurrent network train so. */
START_TEST(as_many_forwards_as_before_a_backward_leave_nothing_over)
{
    ck_assert_uint_eq(forwards_that_left(8), 0);
}
END_TEST

/* So many iterations, of which each leaves something over; one of them twice as much. */
static uint64_t growth_of(unsigned iterations, unsigned odd)
{
    for (unsigned i = 0; i < iterations; i++) {
        forward(100000);
        outside(BASE + i * APART, i == odd ? 2 * LEFT : LEFT);
        step(1000);
    }
    return analyze()->growth.per_iteration;
}

START_TEST(five_iterations_show_growth)
{
    ck_assert_uint_eq(growth_of(5, UINT_MAX), LEFT);
}
END_TEST

START_TEST(three_iterations_may_show_growth)
{
    ck_assert_uint_eq(growth_of(3, UINT_MAX), LEFT);
    ck_assert(analysis.devices[0].growth.is_likely);
}
END_TEST

START_TEST(two_iterations_are_too_few)
{
    ck_assert_uint_eq(growth_of(2, UINT_MAX), 0);
}
END_TEST

/* 512 bytes of 100,000. */
START_TEST(hardly_anything_is_no_growth)
{
    for (unsigned i = 0; i < 10; i++) {
        forward(100000);
        outside(BASE + i * APART, 512);
        step(1000);
    }
    ck_assert_uint_eq(analyze()->growth.per_iteration, 0);
}
END_TEST

START_TEST(of_a_few_iterations_growth_is_steady)
{
    ck_assert_uint_eq(growth_of(7, 3), 0);
}
END_TEST

START_TEST(of_many_it_need_not_be)
{
    ck_assert_uint_gt(growth_of(8, 3), LEFT);
}
END_TEST

START_TEST(what_grew_once_is_no_growth)
{
    for (unsigned i = 0; i < 10; i++) {
        forward(100000);
        if (i == 5)
            outside(BASE, 512);
        step(1000);
    }
    ck_assert_uint_eq(analyze()->growth.per_iteration, 0);
}
END_TEST

/* An event of PyTorch's allocator with the totals that a test says. */
static void event_of(enum mt_kind kind, uint64_t address, uint64_t mib, uint64_t allocated,
                     uint64_t reserved)
{
    mt_build_event4(builder, kind, address, mib * MT_MIB, allocated * MT_MIB, reserved * MT_MIB);
}

START_TEST(the_worst_fragmentation_is_found)
{
    event_of(MT_ALLOC, BASE, 20, 20, 20);                /* nothing lies free yet */
    event_of(MT_ALLOC, BASE + 100 * MT_MIB, 20, 40, 40); /* nor now */
    event_of(MT_FREE, BASE, 20, 20, 40);
    event_of(MT_ALLOC, BASE + 200 * MT_MIB, 30, 50, 70); /* 20 MiB would not have been enough */
    event_of(MT_FREE, BASE + 200 * MT_MIB, 30, 20, 70);
    event_of(MT_ALLOC, BASE + 300 * MT_MIB, 40, 60, 110);  /* 50 would, but for being in pieces */
    event_of(MT_ALLOC, BASE + 400 * MT_MIB, 42, 102, 152); /* the same with as many */
    const struct mt_worst *worst = analyze()->worst[MT_FREE_PIECES];
    ck_assert_uint_eq(worst->times, 2);
    ck_assert_uint_eq(worst->event, 6);
    ck_assert_uint_eq(worst->wanted, 40 * MT_MIB);
    ck_assert_uint_eq(worst->lay_free, 50 * MT_MIB);
    ck_assert_uint_eq(worst->reserved, 70 * MT_MIB);
}
END_TEST

/* CUDA gives PyTorch a segment. */
static void segment(uint64_t address, uint64_t mib)
{
    mt_build_event(builder, MT_CUDA_MALLOC, address, mib * MT_MIB, 0);
}

/* 64 MiB are free on a side stream, and 40 in two pieces on the default one, as more are requested
 * there. */
static void request_beside(uint64_t wanted)
{
    mt_build_event(builder, MT_REQUEST_STREAM, 0x5500, 0, 0);
    segment(BASE, 64);
    event_of(MT_ALLOC, BASE, 64, 64, 64);
    event_of(MT_FREE, BASE, 64, 0, 64);
    mt_build_event(builder, MT_REQUEST_STREAM, 0, 0, 0);
    segment(BASE + 100 * MT_MIB, 60);
    event_of(MT_ALLOC, BASE + 100 * MT_MIB, 20, 20, 124);
    event_of(MT_ALLOC, BASE + 120 * MT_MIB, 20, 40, 124);
    event_of(MT_ALLOC, BASE + 140 * MT_MIB, 20, 60, 124);
    event_of(MT_FREE, BASE + 100 * MT_MIB, 20, 40, 124);
    event_of(MT_FREE, BASE + 140 * MT_MIB, 20, 20, 124);
    segment(BASE + 200 * MT_MIB, wanted);
    mt_build_event(builder, MT_REQUEST, 100, 0, 0);
    event_of(MT_ALLOC, BASE + 200 * MT_MIB, wanted, 20 + wanted, 124 + wanted);
}

/* Return how often what was free lay there. */
static uint64_t times(const struct mt_device *device, enum mt_free_kind kind)
{
    return device->worst[kind]->times;
}

START_TEST(only_pieces_of_the_same_stream_are_fragments)
{
    question.moment.kind = MT_AT_END;
    request_beside(30); /* 40 are free in two pieces */
    const struct mt_device *device = analyze();
    ck_assert_uint_eq(times(device, MT_FREE_PIECES), 1);
    ck_assert_uint_eq(times(device, MT_FREE_WHOLE), 0);
    ck_assert_uint_eq(times(device, MT_FREE_OTHERS), 1); /* as the first was requested */
    ck_assert_uint_eq(device->unused, 100);
}
END_TEST

START_TEST(memory_of_another_stream_is_no_fragment)
{
    question.moment.kind = MT_AT_END;
    request_beside(50); /* 40 are not enough, but with the side stream's */
    const struct mt_device *device = analyze();
    ck_assert_uint_eq(times(device, MT_FREE_OTHERS), 2); /* and as the first was requested */
    ck_assert_uint_eq(times(device, MT_FREE_PIECES) + times(device, MT_FREE_WHOLE), 0);
    ck_assert_uint_eq(device->cached_by.n, 2);
    ck_assert_uint_eq(device->cached_by.others, 64 * MT_MIB);
    ck_assert_uint_eq(device->cached_by.in_pieces, 40 * MT_MIB);
    ck_assert_uint_eq(device->cached_by.whole, 0);
    ck_assert_str_eq(device->cached_by.pool[1].name, "side stream 1");
    ck_assert_int_eq(mt_cached_kind(&device->cached_by), MT_FREE_OTHERS);
}
END_TEST

START_TEST(whole_segments_are_not_fragments)
{
    mt_build_event(builder, MT_REQUEST_STREAM, 0, 0, 0);
    for (uint64_t i = 0; i < 2; i++) {
        segment(BASE + i * 100 * MT_MIB, 30);
        event_of(MT_ALLOC, BASE + i * 100 * MT_MIB, 30, 30 + 30 * i, 30 + 30 * i);
    }
    for (uint64_t i = 0; i < 2; i++)
        event_of(MT_FREE, BASE + i * 100 * MT_MIB, 30, 30 - 30 * i, 60);
    segment(BASE + 300 * MT_MIB, 50);
    event_of(MT_ALLOC, BASE + 300 * MT_MIB, 50, 50, 110);
    question.moment.kind = MT_AT_END;
    const struct mt_device *device = analyze();
    ck_assert_uint_eq(times(device, MT_FREE_WHOLE), 1);
    ck_assert_uint_eq(times(device, MT_FREE_PIECES) + times(device, MT_FREE_OTHERS), 0);
    ck_assert_int_eq(mt_cached_kind(&device->cached_by), MT_FREE_WHOLE);
    ck_assert_uint_eq(device->cached_by.whole, 60 * MT_MIB);
    ck_assert_uint_eq(device->cached_by.pool[0].n_whole, 2);
}
END_TEST

/* PyTorch's allocator says its total with its next block only. */
START_TEST(reserved_memory_goes_with_its_segments)
{
    static struct mt_timeline_at columns[4];
    uint64_t most = 0;
    mt_build_event(builder, MT_REQUEST_STREAM, 0, 0, 0);
    segment(BASE, 20);
    event_of(MT_ALLOC, BASE, 2, 2, 20);
    segment(BASE + 100 * MT_MIB, 50);
    event_of(MT_ALLOC, BASE + 100 * MT_MIB, 50, 52, 70);
    event_of(MT_FREE, BASE + 100 * MT_MIB, 50, 2, 70);
    mt_build_event(builder, MT_CUDA_FREE, BASE + 100 * MT_MIB, MT_API_CUDA_FREE, 0);
    question.moment.kind = MT_AT_END;
    const struct mt_device *device = analyze();
    ck_assert_uint_eq(device->at.reserved, 20 * MT_MIB);
    ck_assert_uint_eq(device->cached, 18 * MT_MIB);
    ck_assert_uint_eq(device->most_reserved->reserved, 70 * MT_MIB);
    ck_assert_uint_eq(device->most_reserved->allocated, 52 * MT_MIB);
    ck_assert_uint_eq(device->most_cached_by.n, 1);
    ck_assert_uint_eq(device->most_cached_by.pool[0].reserved, 70 * MT_MIB);
    ck_assert_uint_eq(device->most_cached_by.pool[0].allocated, 52 * MT_MIB);
    size_t n = mt_timeline_columns(device->timeline, 0, device->timeline->points, 4, columns);
    for (size_t i = 0; i < n; i++)
        most = columns[i].reserved > most ? columns[i].reserved : most;
    ck_assert_uint_eq(most, 70 * MT_MIB);
}
END_TEST

START_TEST(the_chart_adds_up)
{
    static struct mt_timeline_at columns[64];
    mt_build_alloc(builder, BASE, 1000); /* for ever */
    mt_build_event(builder, MT_SET_DATA, BASE, 0, 0);
    for (unsigned i = 0; i < 5000; i++) { /* more than there are points */
        if (i == 2500)
            mt_build_alloc(builder, BASE + 4096, 500);
        mt_build_alloc(builder, BASE + 8192, 1);
        mt_build_free(builder, BASE + 8192);
    }
    const struct mt_device *device = analyze();
    size_t n = mt_timeline_columns(device->timeline, 0, device->timeline->points, 64, columns);
    ck_assert_uint_eq(n, 64);
    for (size_t i = 0; i < n; i++) {
        ck_assert_uint_eq(columns[i].category[MT_CATEGORY_PARAMETERS], 1000);
        ck_assert_uint_eq(columns[i].reserved, 2 * MT_MIB);
        if (i < 31 || i > 33)
            ck_assert_uint_eq(columns[i].category[MT_CATEGORY_OTHER], i > 32 ? 501 : 1);
    }
}
END_TEST

/* What is allocated and freed, of some sizes and lives; of points that have become one ever again,
 * each is as high as the events that it stands for have been. */
START_TEST(a_point_is_as_high_as_its_highest_event)
{
    enum { EVENTS = 30000, LIVE = 50 };
    static struct mt_timeline_at column[1];
    static uint64_t after[EVENTS];
    uint64_t bytes = 0, random = 1, size[LIVE] = {0};
    for (unsigned i = 0; i < EVENTS; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        unsigned slot = (random >> 33) % LIVE;
        if (size[slot]) {
            mt_build_free(builder, BASE + slot * 65536);
            bytes -= size[slot];
            size[slot] = 0;
        } else {
            size[slot] = 1 + (random >> 40) % (i % 7000 + 1);
            mt_build_alloc(builder, BASE + slot * 65536, size[slot]);
            bytes += size[slot];
        }
        after[i] = bytes;
    }
    const struct mt_timeline *timeline = analyze()->timeline;
    ck_assert_uint_ge(timeline->shift, 4);
    for (size_t point = 0; point < timeline->points; point++) {
        uint64_t first = point << timeline->shift, most = 0;
        for (size_t i = first; i < first + (1u << timeline->shift) && i < EVENTS; i++)
            most = after[i] > most ? after[i] : most;
        ck_assert_uint_eq(mt_timeline_columns(timeline, point, point + 1, 1, column), 1);
        ck_assert_uint_eq(mt_timeline_sum(column), most);
    }
}
END_TEST

/* Three iterations of so many visits each after start-up. */
static const struct mt_timeline *train(unsigned visits)
{
    for (unsigned i = 0; i < 12; i++)
        outside(BASE + i * 4096, 512);
    for (unsigned i = 0; i < 3 * visits; i++) {
        forward(2048);
        if (i % visits == visits - 1) {
            backward(4096);
            step(1024);
        }
    }
    return analyze()->timeline;
}

START_TEST(iterations_are_marked_where_they_begin)
{
    struct mt_timeline_at columns[68];
    const struct mt_timeline *timeline = train(4);
    ck_assert_uint_eq(timeline->points, 12 + 3 * 6 * 2);
    ck_assert_uint_eq(mt_timeline_training(timeline), 12);
    ck_assert_uint_eq(mt_timeline_columns(timeline, 0, timeline->points, 48, columns), 48);
    for (size_t i = 0; i < 48; i++)
        ck_assert_uint_eq(columns[i].iterations, i < 12 ? 0 : 1 + (i - 12) / 12);
}
END_TEST

static int keep_summary(void *summaries, const struct mt_definition *definition)
{
    return mt_summaries_add(summaries, definition);
}

/* What comes back of a chart that is written as numbers. */
static struct mt_timeline written_and_read(const struct mt_timeline *timeline)
{
    struct mt_numbers numbers = {0}, again = {0};
    struct mt_summaries summaries = {0};
    struct mt_timeline read = {0};
    ck_assert_int_eq(mt_timeline_list(timeline, &numbers), 0);
    ck_assert_int_eq(mt_numbers_list(&numbers, MT_SUMMARY_CHART, 0, keep_summary, &summaries), 0);
    ck_assert_int_eq(mt_summaries_find(&summaries, MT_SUMMARY_CHART, 1, &again), 0);
    ck_assert_int_eq(mt_summaries_find(&summaries, MT_SUMMARY_CHART, 0, &again), 1);
    ck_assert_int_eq(mt_timeline_take(&read, &again), 0);
    mt_numbers_clear(&numbers);
    mt_numbers_clear(&again);
    mt_summaries_clear(&summaries);
    return read;
}

START_TEST(many_numbers_take_several_records)
{
    enum { N = 40000 };
    struct mt_numbers numbers = {0}, again = {0};
    struct mt_summaries summaries = {0};
    for (uint64_t i = 0; i < N; i++)
        ck_assert_int_eq(mt_numbers_add(&numbers, &(uint64_t){i % 3 ? i << 40 : 0 - i}, 1), 0);
    mt_numbers_list(&numbers, MT_SUMMARY_PLACES, -1, keep_summary, &summaries);
    ck_assert_uint_gt(summaries.n, 1);
    ck_assert_int_eq(mt_summaries_find(&summaries, MT_SUMMARY_PLACES, -1, &again), 1);
    ck_assert_uint_eq(again.n, N);
    ck_assert(!memcmp(again.at, numbers.at, N * sizeof *again.at));
    mt_numbers_clear(&numbers);
    mt_numbers_clear(&again);
    mt_summaries_clear(&summaries);
}
END_TEST

START_TEST(texts_of_older_copies_are_numbers)
{
    static const struct {
        const char *text;
        int ends_with_number;
        size_t n;
        uint64_t number[6];
    } cases[] = {
        {"1 2,3 4,", 0, 4, {1, 2, 3, 4}},
        {"1 2,3 4", 1, 4, {1, 2, 3, 4}},
        {"18446744073709551615 -1,", 0, 2, {UINT64_MAX, UINT64_MAX}},
        {"7 5 1,,-3,", 1, 6, {7, 5, 1, 0, (uint64_t)-3, 0}},
        {"", 0, 0, {0}},
        {"1 x 2,", 0, 1, {1}},
        {"1 2x 3,", 0, 1, {1}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct mt_numbers numbers = {0};
        ck_assert_int_eq(mt_numbers_add_text(&numbers, cases[i].text, cases[i].ends_with_number),
                         strchr(cases[i].text, 'x') ? -EINVAL : 0);
        ck_assert_msg(numbers.n == cases[i].n &&
                          (!numbers.n ||
                           !memcmp(numbers.at, cases[i].number, numbers.n * sizeof *numbers.at)),
                      "%s: %zu numbers", cases[i].text, numbers.n);
        mt_numbers_clear(&numbers);
    }
}
END_TEST

START_TEST(a_chart_is_read_as_it_was_written)
{
    static struct mt_timeline_at columns[68], again[68];
    const struct mt_timeline *timeline = train(4);
    struct mt_timeline read = written_and_read(timeline);
    ck_assert_uint_eq(read.points, timeline->points);
    ck_assert_uint_eq(mt_timeline_columns(timeline, 0, timeline->points, 68, columns), 68);
    ck_assert_uint_eq(mt_timeline_columns(&read, 0, read.points, 68, again), 68);
    ck_assert(!memcmp(columns, again, sizeof columns));
    mt_timeline_clear(&read);
}
END_TEST

/* 2,000 visits an iteration: points stand for several events, and are written in groups. */
START_TEST(a_long_chart_keeps_its_highest_and_its_iterations)
{
    static struct mt_timeline_at last[2], again[2];
    const struct mt_timeline *timeline = train(2000);
    struct mt_timeline read = written_and_read(timeline);
    ck_assert_uint_eq(mt_timeline_training(&read), mt_timeline_training(timeline));
    mt_timeline_columns(timeline, 0, timeline->points, 1, last);
    mt_timeline_columns(&read, 0, read.points, 1, again);
    ck_assert_uint_eq(again->iterations, 3);
    ck_assert(!memcmp(last, again, sizeof *last));
    mt_timeline_clear(&read);
}
END_TEST

START_TEST(a_text_that_is_no_chart_changes_nothing)
{
    static const char *const texts[] = {"",          "1 2",
                                        "1 60 5",    "1 0 0",
                                        "1 0 5 x",   "1 0 5 5,,,,,,,,,,,,,",
                                        "1 0 5 1,,", "1 0 5 1,,,,,,,,,,,,,,",
                                        "1 0 2049"};
    struct mt_timeline timeline = {0};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct mt_numbers numbers = {0};
        ck_assert(mt_numbers_add_text(&numbers, texts[i], 1) == -EINVAL ||
                  mt_timeline_take(&timeline, &numbers) == -EINVAL);
        ck_assert_ptr_null(timeline.change);
        mt_numbers_clear(&numbers);
    }
}
END_TEST

/* Parameters of three sizes, and a block each by one line of the program's own. */
static void make_copies(uint64_t factor, int after_backward)
{
    static const uint64_t sizes[] = {1024, 4096, 3 << 20};
    for (unsigned i = 0; i < 3; i++) {
        mt_build_alloc(builder, BASE + i * (8ull << 20), sizes[i]);
        mt_build_event(builder, MT_SET_DATA, BASE + i * (8ull << 20), 0, 0);
        mt_build_event(builder, MT_LEAF, BASE + i * (8ull << 20), 0, 0);
    }
    if (after_backward) {
        forward(512);
        backward(512);
    }
    for (unsigned i = 0; i < 3; i++)
        outside(BASE + (i + 8) * (8ull << 20), factor * sizes[i]);
    if (!after_backward)
        forward(512);
    step(512);
    if (after_backward)
        for (unsigned i = 0; i < 3; i++)
            mt_build_free(builder, BASE + (i + 8) * (8ull << 20));
    forward(512);
}

static uint64_t bytes_of(enum mt_category category)
{
    return mt_analysis_main_device(&analysis)->category[category].bytes;
}

START_TEST(copies_in_higher_precision_are_masters)
{
    make_copies(2, 0);
    analyze();
    ck_assert_uint_eq(bytes_of(MT_CATEGORY_OPTIMIZER_STATE), 2 * (1024 + 4096 + (3 << 20)));
}
END_TEST

START_TEST(copies_beside_an_optimizer_are_parameters)
{
    make_copies(1, 0);
    analyze();
    ck_assert_uint_eq(bytes_of(MT_CATEGORY_PARAMETERS), 1024 + 4096 + (3 << 20));
    ck_assert_uint_eq(bytes_of(MT_CATEGORY_COPIES), 1024 + 4096 + (3 << 20));
}
END_TEST

START_TEST(copies_made_after_backward_are_gradients)
{
    make_copies(2, 1);
    analyze();
    ck_assert_uint_eq(bytes_of(MT_CATEGORY_GRADIENTS), 2 * (1024 + 4096 + (3 << 20)));
}
END_TEST

START_TEST(one_block_of_a_parameters_size_is_no_copy)
{
    mt_build_alloc(builder, BASE, 4096);
    mt_build_event(builder, MT_SET_DATA, BASE, 0, 0);
    outside(BASE + 8192, 4096);
    forward(100);
    analyze();
    ck_assert_uint_eq(bytes_of(MT_CATEGORY_INPUTS), 4096);
}
END_TEST

int main(void)
{
    TCase *story = tcase_create("story"), *copies = tcase_create("copies");
    tcase_add_checked_fixture(story, begin, end);
    tcase_add_test(story, folded_spans_show_the_same);
    tcase_add_test(story, a_step_ends_an_iteration);
    tcase_add_test(story, a_forward_that_is_broken_off_is_an_iteration);
    tcase_add_test(story, a_second_backward_begins_no_iteration);
    tcase_add_test(story, validation_is_no_iteration);
    tcase_add_test(story, an_evaluation_is_beside_the_training);
    tcase_add_test(story, forwards_without_a_backward_are_an_evaluation);
    tcase_add_test(story, forwards_beyond_the_usual_are_an_evaluation);
    tcase_add_test(story, forwards_before_the_training_begins_are_no_iterations);
    tcase_add_test(story, forwards_that_differ_are_training);
    tcase_add_test(story, an_evaluation_alone_has_iterations);
    tcase_add_test(story, samples_are_not_what_the_program_does);
    tcase_add_test(story, after_a_step_the_programs_own_code_runs);
    tcase_add_test(story, a_custom_functions_backward_has_its_class);
    tcase_add_test(story, without_steps_forward_after_backward_begins_one);
    tcase_add_test(story, without_backward_each_forward_is_one);
    tcase_add_test(story, before_the_first_forward_is_startup);
    tcase_add_test(story, what_is_left_over_is_growth);
    tcase_add_test(story, an_evaluation_leaves_over_what_its_forwards_do);
    tcase_add_test(story, as_many_forwards_as_before_a_backward_leave_nothing_over);
    tcase_add_test(story, five_iterations_show_growth);
    tcase_add_test(story, three_iterations_may_show_growth);
    tcase_add_test(story, two_iterations_are_too_few);
    tcase_add_test(story, hardly_anything_is_no_growth);
    tcase_add_test(story, of_a_few_iterations_growth_is_steady);
    tcase_add_test(story, of_many_it_need_not_be);
    tcase_add_test(story, what_grew_once_is_no_growth);
    tcase_add_test(story, only_pieces_of_the_same_stream_are_fragments);
    tcase_add_test(story, memory_of_another_stream_is_no_fragment);
    tcase_add_test(story, whole_segments_are_not_fragments);
    tcase_add_test(story, reserved_memory_goes_with_its_segments);
    tcase_add_test(story, the_chart_adds_up);
    tcase_add_test(story, a_point_is_as_high_as_its_highest_event);
    tcase_add_test(story, iterations_are_marked_where_they_begin);
    tcase_add_test(story, a_chart_is_read_as_it_was_written);
    tcase_add_test(story, many_numbers_take_several_records);
    tcase_add_test(story, texts_of_older_copies_are_numbers);
    tcase_add_test(story, a_long_chart_keeps_its_highest_and_its_iterations);
    tcase_add_test(story, a_text_that_is_no_chart_changes_nothing);
    tcase_add_test(story, the_worst_fragmentation_is_found);
    tcase_add_checked_fixture(copies, begin, end);
    tcase_add_test(copies, copies_in_higher_precision_are_masters);
    tcase_add_test(copies, copies_beside_an_optimizer_are_parameters);
    tcase_add_test(copies, copies_made_after_backward_are_gradients);
    tcase_add_test(copies, one_block_of_a_parameters_size_is_no_copy);
    return RUN_TESTS(story, copies);
}
