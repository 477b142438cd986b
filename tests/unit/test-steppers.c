/* SPDX-License-Identifier: Apache-2.0 */
/* Optimizers written by hand: which classes and functions work after backward only. */
#include "analyzer/classify/steppers.h"
#include "tests/support/run-tests.h"

#include <check.h>
#include <string.h>

#define OWN "/u/t.py"
#define TORCH "/v/lib/python3.11/site-packages/torch/_tensor.py"

static struct mt_definitions *definitions;
static struct mt_steppers steppers;
static uint32_t last; /* id of a definition: each string, frame and stack has one of its own */

static void begin(void)
{
    definitions = mt_definitions_create();
    steppers = (struct mt_steppers){0};
    last = 0;
}

static void end(void)
{
    mt_steppers_clear(&steppers);
    mt_definitions_destroy(definitions);
}

static void add(const struct mt_definition *definition)
{
    ck_assert_int_eq(mt_definitions_add(definitions, definition), 0);
}

/* Return a stack: a function that this one has called. */
static uint32_t in(uint32_t caller, const char *function, const char *file)
{
    struct mt_definition text = {.kind = MT_DEF_STRING}, frame = {.kind = MT_DEF_FRAME},
                         stack = {.kind = MT_DEF_STACK};
    const char *texts[] = {function, file};
    uint32_t first = last + 1;
    for (unsigned i = 0; i < 2; i++) {
        text.id = ++last;
        text.text = texts[i];
        text.text_size = strlen(texts[i]);
        add(&text);
    }
    frame.id = stack.id = stack.stack.frame = last;
    frame.frame.function = first;
    frame.frame.file = last;
    add(&frame);
    stack.stack.parent = caller;
    add(&stack);
    return last;
}

/* Note that code works after so many backwards and calls of modules. */
static void work(uint32_t stack, uint32_t backwards, uint32_t calls, enum mt_phase phase)
{
    const struct mt_when now = {.backwards = backwards, .calls = calls};
    ck_assert_int_eq(mt_steppers_note(&steppers, definitions, stack, &now, phase), 0);
}

static bool made(uint32_t stack)
{
    return mt_steppers_made(&steppers, definitions, stack);
}

/* A class is one once it has worked after two backwards; its constructor made its state. */
START_TEST(a_class_that_works_after_backward)
{
    uint32_t start = in(0, "main", OWN), step = in(start, "Own.step", OWN),
             deeper = in(step, "Tensor.add_", TORCH), constructor = in(start, "Own.__init__", OWN),
             of_others = in(start, "Other.__init__", OWN);
    work(constructor, 0, 0, MT_PHASE_OUTSIDE);
    work(of_others, 0, 0, MT_PHASE_OUTSIDE);
    work(deeper, 1, 1, MT_PHASE_OUTSIDE);
    work(step, 1, 1, MT_PHASE_OUTSIDE); /* after the same backward */
    ck_assert(!made(constructor));
    work(deeper, 2, 2, MT_PHASE_OUTSIDE);
    ck_assert(made(constructor));
    ck_assert(made(in(constructor, "zeros", TORCH)));
    ck_assert(made(step));
    ck_assert(!made(of_others));
    ck_assert(!made(start));
}
END_TEST

/* What works before a backward, in forward, or between two forwards after one is none, for good. */
START_TEST(what_works_elsewhere_is_none)
{
    uint32_t early = in(0, "Data.next", OWN), forward = in(0, "Net.forward", OWN),
             between = in(0, "Loader.batch", OWN);
    work(early, 0, 0, MT_PHASE_OUTSIDE);
    work(forward, 1, 1, MT_PHASE_FORWARD);
    work(between, 1, 1, MT_PHASE_OUTSIDE);
    work(between, 1, 2, MT_PHASE_OUTSIDE);
    for (uint32_t i = 2; i < 6; i++) {
        work(early, i, i, MT_PHASE_OUTSIDE);
        work(forward, i, i, MT_PHASE_OUTSIDE);
        work(between, i, i, MT_PHASE_OUTSIDE);
    }
    ck_assert(!made(early));
    ck_assert(!made(forward));
    ck_assert(!made(between));
}
END_TEST

/* A hook that backward runs says nothing. */
START_TEST(hooks_in_backward_say_nothing)
{
    uint32_t step = in(0, "Own.step", OWN);
    work(step, 0, 0, MT_PHASE_BACKWARD);
    for (uint32_t i = 1; i < 3; i++) {
        work(step, i, i, MT_PHASE_BACKWARD);
        ck_assert(!made(step));
    }
    work(step, 3, 3, MT_PHASE_OUTSIDE);
    work(step, 4, 4, MT_PHASE_OUTSIDE);
    ck_assert(made(step));
}
END_TEST

/* A function that gives back another is one by it, once it has returned; a plain function, and one
 * that only runs its own, are none. */
START_TEST(a_function_that_gives_back_another)
{
    uint32_t start = in(0, "main", OWN), maker = in(start, "make", OWN),
             step = in(start, "make.<locals>.step", OWN), plain = in(start, "update", OWN),
             around = in(start, "train", OWN), inner = in(around, "train.<locals>.step", OWN);
    work(maker, 0, 0, MT_PHASE_OUTSIDE);
    for (uint32_t i = 1; i < 4; i++) {
        work(step, i, i, MT_PHASE_OUTSIDE);
        work(plain, i, i, MT_PHASE_OUTSIDE);
        work(inner, i, i, MT_PHASE_OUTSIDE);
    }
    ck_assert(made(maker));
    ck_assert(made(step));
    ck_assert(!made(plain));
    ck_assert(!made(around));
    ck_assert(!made(inner));
}
END_TEST

/* Two classes of one name in two files are two; PyTorch's own code is none. */
START_TEST(files_distinguish_names)
{
    uint32_t step = in(0, "Own.step", OWN), constructor = in(0, "Own.__init__", "/u/other.py"),
             of_torch = in(0, "Some.step", TORCH);
    work(constructor, 0, 0, MT_PHASE_OUTSIDE);
    for (uint32_t i = 1; i < 4; i++) {
        work(step, i, i, MT_PHASE_OUTSIDE);
        work(of_torch, i, i, MT_PHASE_OUTSIDE);
    }
    ck_assert(made(step));
    ck_assert(!made(constructor));
    ck_assert(!made(of_torch));
}
END_TEST

/* What has worked often enough is one: nothing more is learned of its stack, also elsewhere. */
START_TEST(a_known_stepper_is_not_learned_again)
{
    uint32_t step = in(0, "Own.step", OWN);
    for (uint32_t i = 1; i < 20; i++)
        work(step, i, i, MT_PHASE_OUTSIDE);
    uint64_t changes = steppers.changes;
    work(step, 30, 30, MT_PHASE_FORWARD);
    ck_assert_uint_eq(steppers.changes, changes);
    ck_assert(made(step));
}
END_TEST

int main(void)
{
    TCase *cases = tcase_create("steppers");
    tcase_add_checked_fixture(cases, begin, end);
    tcase_add_test(cases, a_class_that_works_after_backward);
    tcase_add_test(cases, what_works_elsewhere_is_none);
    tcase_add_test(cases, hooks_in_backward_say_nothing);
    tcase_add_test(cases, a_function_that_gives_back_another);
    tcase_add_test(cases, files_distinguish_names);
    tcase_add_test(cases, a_known_stepper_is_not_learned_again);
    return RUN_TESTS(cases);
}
