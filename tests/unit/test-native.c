/* SPDX-License-Identifier: Apache-2.0 */
/* Code is found by its address, and its names in its file; where stacks end. */
#include "analyzer/trace/symbols.h"
#include "preload/loader/images.h"
#include "preload/native/rules.h"
#include "preload/native/unwind.h"
#include "tests/support/run-tests.h"

#include <alloca.h>
#include <check.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

enum { LINE_OF_KNOWN = __LINE__ + 1 };
__attribute__((noinline, noclone)) int known_function(int n);
int known_function(int n)
{
    __asm__ volatile("");
    return n + 1;
}

static uintptr_t known(void)
{
    return (uintptr_t)&known_function;
}

/* Python's interpreter, with a part that its compiler put apart; each calls this. */
void interpreted(int *is_python);
void interpreted(int *is_python)
{
    uintptr_t back = (uintptr_t)__builtin_return_address(0);
    *is_python = (mt_frame_rule_make(back).cfa_from & MT_RULE_IS_PYTHON) != 0;
}

void _PyEval_EvalFrameDefault(int *is_python, bool is_rare);
__asm__(".text\n"
        ".globl _PyEval_EvalFrameDefault\n"
        ".type _PyEval_EvalFrameDefault, @function\n"
        "_PyEval_EvalFrameDefault:\n"
        ".cfi_startproc\n"
        "    subq $8, %rsp\n"
        ".cfi_def_cfa_offset 16\n"
        "    testl %esi, %esi\n"
        "    jne rare_part\n"
        "    call interpreted\n"
        "done:\n"
        "    addq $8, %rsp\n"
        ".cfi_def_cfa_offset 8\n"
        "    ret\n"
        ".cfi_endproc\n"
        ".size _PyEval_EvalFrameDefault, . - _PyEval_EvalFrameDefault\n"
        ".section .text.unlikely, \"ax\"\n"
        ".cfi_startproc\n"
        ".cfi_def_cfa_offset 16\n"
        "rare_part:\n"
        "    call interpreted\n"
        "    jmp done\n"
        ".cfi_endproc\n"
        ".text\n");

START_TEST(the_interpreter_is_known_with_its_cold_part)
{
    int is_python = 0;
    ck_assert_int_eq(mt_frame_rules_prepare(), 0);
    mt_frame_rules_find_python();
    for (int is_rare = 0; is_rare < 2; is_rare++, is_python = 0) {
        _PyEval_EvalFrameDefault(&is_python, is_rare);
        ck_assert(is_python);
    }
    is_python = 1;
    interpreted(&is_python);
    ck_assert(!is_python);
}
END_TEST

START_TEST(both_ways_find_the_same)
{
    uintptr_t addresses[] = {known(), (uintptr_t)&qsort, (uintptr_t)&pthread_create,
                             getauxval(AT_SYSINFO_EHDR) + 64};
    mt_images_prepare();
    for (size_t i = 0; i < sizeof addresses / sizeof *addresses; i++) {
        struct mt_image a, b;
        ck_assert_int_eq(mt_image_find(addresses[i], &a), 0);
        ck_assert_int_eq(mt_image_find_in_list(addresses[i], &b), 0);
        ck_assert_uint_eq(a.start, b.start);
        ck_assert_uint_eq(a.bias, b.bias);
        ck_assert_ptr_eq(a.frames, b.frames);
        ck_assert_str_eq(a.name, b.name);
        ck_assert(mt_image_is_loaded(&a));
        a.bias = 0, a.name = "another";
        ck_assert(!mt_image_is_loaded(&a));
    }
}
END_TEST

START_TEST(what_is_no_code_is_in_no_image)
{
    struct mt_image image;
    void *heap = malloc(100000);
    mt_images_prepare();
    ck_assert_int_eq(mt_image_find((uintptr_t)heap, &image), -ENOENT);
    ck_assert_int_eq(mt_image_find_in_list((uintptr_t)heap, &image), -ENOENT);
    ck_assert_int_eq(mt_image_find(UINTPTR_MAX, &image), -ENOENT);
    ck_assert_int_eq(mt_image_find(0, &image), -ENOENT);
    free(heap);
}
END_TEST

/* The compiler's words on a function's begin: the caller's frame is untouched. */
START_TEST(a_function_begins_without_a_frame)
{
    struct mt_image image;
    uintptr_t function[2];
    ck_assert_int_eq(mt_image_find(known(), &image), 0);
    struct mt_frame_rule rule = mt_cfi_rule(&image, known(), function);
    ck_assert_uint_eq(function[0], known());
    ck_assert_uint_gt(function[1], known());
    ck_assert_uint_eq(rule.cfa_from, MT_CFA_SP);
    ck_assert_int_eq(rule.cfa, 8);
    ck_assert_uint_eq(rule.bp_from, MT_BP_SAME);
    /* in the headers, where no function is */
    rule = mt_cfi_rule(&image, image.start + 8, function);
    ck_assert_uint_eq(rule.cfa_from, MT_CFA_UNKNOWN);
    ck_assert_uint_eq(function[1], 0);
}
END_TEST

START_TEST(names_come_from_the_file)
{
    struct mt_image image;
    struct mt_symbol symbol;
    char build_id[MT_BUILD_ID_TEXT], path[4096];
    ck_assert_int_eq(mt_image_find(known(), &image), 0);
    mt_image_build_id(&image, build_id);
    mt_image_path(&image, path);
    ck_assert_int_ge(strlen(build_id), 16);
    ck_assert_int_eq(path[0], '/');
    struct mt_symbols *symbols = mt_symbols_create();
    struct mt_trace_image module = {build_id, path};
    ck_assert_int_eq(mt_symbols_find(symbols, module, known() - image.bias, &symbol), 0);
    ck_assert_str_eq(symbol.function, "known_function");
    ck_assert_ptr_nonnull(strstr(symbol.file, "test-native.c"));
    ck_assert_uint_ge(symbol.line, LINE_OF_KNOWN);
    ck_assert_uint_le(symbol.line, LINE_OF_KNOWN + 5);
    /* another build of it, no file, no function */
    module.build_id = "00112233445566778899aabbccddeeff00112233";
    ck_assert_int_eq(mt_symbols_find(symbols, module, known() - image.bias, &symbol), -ENOENT);
    module.path = "/no/such/file";
    ck_assert_int_eq(mt_symbols_find(symbols, module, known() - image.bias, &symbol), -ENOENT);
    module = (struct mt_trace_image){build_id, path};
    ck_assert_int_eq(mt_symbols_find(symbols, module, 1, &symbol), -ENOENT);
    mt_symbols_destroy(symbols);
}
END_TEST

static uintptr_t here(void)
{
    return (uintptr_t)__builtin_frame_address(0);
}

/* Whether the stack's end is beyond this frame and all up to it can be read; else this crashes. */
__attribute__((no_sanitize("address"))) static int has_top(struct mt_stack_bounds *bounds)
{
    uintptr_t sp = here(), top = mt_stack_top(bounds, sp);
    unsigned sum = 0;
    for (uintptr_t at = sp; at < top; at++)
        sum += *(const volatile unsigned char *)at;
    return top > sp && sum > 0 && mt_stack_top(bounds, sp) == top;
}

static struct mt_stack_bounds of_handler;
static volatile int handler_has_top;

static void on_signal(int number)
{
    (void)number;
    handler_has_top = has_top(&of_handler);
}

static void *in_thread(void *unused)
{
    struct mt_stack_bounds bounds = {0};
    ck_assert(has_top(&bounds));
    ck_assert_uint_eq(bounds.n_looked_up, 1);
    return unused;
}

START_TEST(stacks_end_somewhere)
{
    struct mt_stack_bounds bounds = {0};
    pthread_t thread;
    ck_assert(has_top(&bounds));
    ck_assert_uint_eq(bounds.n_looked_up, 1);
    ck_assert_uint_eq(mt_stack_top(&bounds, 4096), 0);
    pthread_create(&thread, NULL, in_thread, NULL);
    pthread_join(thread, NULL);
    stack_t stack = {.ss_sp = malloc(1 << 17), .ss_size = 1 << 17};
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
    sigaltstack(&stack, NULL);
    sigaction(SIGUSR1, &action, NULL);
    of_handler = bounds;
    raise(SIGUSR1);
    ck_assert(handler_has_top);
    ck_assert_uint_eq(of_handler.n_looked_up, 1); /* another stack has no bounds to look up */
    stack.ss_flags = SS_DISABLE;
    sigaltstack(&stack, NULL);
    free(stack.ss_sp);
}
END_TEST

/* How many frames a walk from `depth` calls deep has; the compiler must not make it a loop. */
__attribute__((noinline, noclone)) static unsigned walk_from(struct mt_stack_bounds *bounds,
                                                             unsigned depth)
{
    static _Thread_local struct mt_walk walk;
    static _Thread_local struct mt_foresight foresight;
    volatile unsigned frames;
    if (depth) {
        frames = walk_from(bounds, depth - 1);
    } else {
        mt_unwind(&walk, bounds, &foresight, MT_OWN_REGISTERS(), 0);
        frames = walk.n;
    }
    return frames;
}

/* Looks up what was kept for a walk, and walks: both must name the same frames, here by a part of
 * their sum. Keeps it. */
__attribute__((noinline, noclone)) static unsigned walk_twice(struct mt_stack_bounds *bounds)
{
    static struct mt_walk walk;
    static struct mt_foresight foresight;
    struct mt_registers here = MT_OWN_REGISTERS();
    uint32_t before = mt_unwind_foresee(bounds, &foresight, here, 0, 7);
    ck_assert_uint_eq(mt_unwind_foresee(bounds, &foresight, here, 0, 8), 0); /* another parent */
    mt_unwind(&walk, bounds, &foresight, here, 0);
    ck_assert_uint_gt(walk.n, 2);
    uint32_t now = (uint32_t)(walk.sum >> 32) | 1;
    ck_assert(!before || before == now);
    mt_unwind_keep(&walk, &foresight, 7, now);
    return before != 0;
}

/* By one of 2^bits ways, of which half have a frame that only its frame pointer finds. */
__attribute__((noinline, noclone)) static unsigned go(struct mt_stack_bounds *bounds, unsigned way,
                                                      unsigned bits)
{
    volatile unsigned was_made_before;
    if (!bits) {
        was_made_before = walk_twice(bounds);
    } else if (way & 1) {
        was_made_before = go(bounds, way >> 1, bits - 1);
    } else {
        volatile char *room = alloca(16 + 16 * (way % 3));
        room[0] = 1;
        was_made_before = go(bounds, way >> 1, bits - 1);
    }
    return was_made_before;
}

START_TEST(a_walk_that_was_made_before_is_known)
{
    struct mt_stack_bounds bounds = {0};
    unsigned n_known = 0;
    mt_images_prepare();
    ck_assert_int_eq(mt_frame_rules_prepare(), 0);
    for (unsigned i = 0; i < 100; i++)
        n_known += go(&bounds, 5, 4);
    ck_assert_uint_eq(n_known, 99);
    for (unsigned i = 0; i < 30000; i++)
        go(&bounds, i * 2654435761u >> (i % 16), 1 + i % 9);
}
END_TEST

/* From one of 2^bits ways, by frames that are alike. */
__attribute__((noinline, noclone)) static unsigned turn(struct mt_stack_bounds *bounds,
                                                        unsigned way, unsigned bits)
{
    static volatile unsigned odd, even; /* or the compiler would make one call of two */
    volatile unsigned was_made_before;
    if (!bits) {
        was_made_before = walk_twice(bounds);
    } else if (way & 1) {
        was_made_before = turn(bounds, way >> 1, bits - 1);
        odd++;
    } else {
        was_made_before = turn(bounds, way >> 1, bits - 1);
        even++;
    }
    return was_made_before;
}

START_TEST(each_way_of_a_layout_is_known)
{
    struct mt_stack_bounds bounds = {0};
    unsigned n_known = 0;
    mt_images_prepare();
    ck_assert_int_eq(mt_frame_rules_prepare(), 0);
    for (unsigned i = 0; i < 3 * 32; i++)
        n_known += turn(&bounds, i, 5);
    ck_assert_uint_ge(n_known, 60); /* of 64: three may have places beside each other */
}
END_TEST

static _Atomic bool is_over;

static void *walk_often(void *unused)
{
    struct mt_stack_bounds bounds = {0};
    unsigned shallow = walk_from(&bounds, 0);
    ck_assert_uint_gt(shallow, 2);
    for (unsigned i = 0; i < 20000; i++)
        ck_assert_uint_eq(walk_from(&bounds, i % 50), shallow + i % 50);
    return unused;
}

static void *check_often(void *unused)
{
    while (!atomic_load(&is_over))
        mt_frame_rules_check_images();
    return unused;
}

START_TEST(threads_share_the_rules)
{
    pthread_t walkers[3], checker;
    mt_images_prepare();
    ck_assert_int_eq(mt_frame_rules_prepare(), 0);
    pthread_create(&checker, NULL, check_often, NULL);
    for (int i = 0; i < 3; i++)
        pthread_create(&walkers[i], NULL, walk_often, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(walkers[i], NULL);
    atomic_store(&is_over, true);
    pthread_join(checker, NULL);
    ck_assert_uint_eq(mt_code_changes, 0); /* nothing has gone */
}
END_TEST

int main(void)
{
    TCase *test = tcase_create("native");
    tcase_add_test(test, the_interpreter_is_known_with_its_cold_part);
    tcase_add_test(test, both_ways_find_the_same);
    tcase_add_test(test, what_is_no_code_is_in_no_image);
    tcase_add_test(test, a_function_begins_without_a_frame);
    tcase_add_test(test, names_come_from_the_file);
    tcase_add_test(test, stacks_end_somewhere);
    tcase_add_test(test, a_walk_that_was_made_before_is_known);
    tcase_add_test(test, each_way_of_a_layout_is_known);
    tcase_add_test(test, threads_share_the_rules);
    return RUN_TESTS(test);
}
