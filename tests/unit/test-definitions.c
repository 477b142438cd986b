/* SPDX-License-Identifier: Apache-2.0 */
/* Definitions, the marks of frames, and short names. */
#include "analyzer/support/demangle.h"
#include "analyzer/support/text.h"
#include "analyzer/trace/definitions.h"
#include "tests/support/run-tests.h"
#include "trace-format/meaning/marks.h"

#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int add(struct mt_definitions *d, enum mt_definition_kind kind, uint32_t id,
               const char *text)
{
    return mt_definitions_add(
        d,
        &(struct mt_definition){.kind = kind, .id = id, .text = text, .text_size = strlen(text)});
}

static int add_frame(struct mt_definitions *d, uint32_t id, uint32_t function, uint32_t file)
{
    struct mt_definition frame = {.kind = MT_DEF_FRAME, .id = id};
    frame.frame.function = function;
    frame.frame.file = file;
    frame.frame.line = 7;
    return mt_definitions_add(d, &frame);
}

static int add_stack(struct mt_definitions *d, uint32_t id, uint32_t parent, uint32_t frame)
{
    struct mt_definition stack = {.kind = MT_DEF_STACK, .id = id};
    stack.stack.parent = parent;
    stack.stack.frame = frame;
    return mt_definitions_add(d, &stack);
}

START_TEST(unknown_is_a_question_mark)
{
    struct mt_definitions *d = mt_definitions_create();
    uint32_t os_thread;
    ck_assert_str_eq(mt_string(d, 0), "");
    ck_assert_str_eq(mt_string(d, 1), "?");
    ck_assert_str_eq(mt_string(d, UINT32_MAX), "?");
    ck_assert_str_eq(mt_frame(d, 3)->file, "?");
    ck_assert_uint_eq(mt_stack(d, 9)->depth, 0);
    ck_assert_str_eq(mt_stack_frame(d, 9)->function, "?");
    ck_assert_str_eq(mt_thread(d, 4, &os_thread), "");
    ck_assert_ptr_null(mt_info(d, "pid"));
    ck_assert_int_eq(add_frame(d, 1, 55, 66), 0); /* of strings that are not there */
    ck_assert_str_eq(mt_frame(d, 1)->function, "?");
    mt_definitions_destroy(d);
}
END_TEST

START_TEST(ids_are_checked)
{
    struct mt_definitions *d = mt_definitions_create();
    ck_assert_int_eq(add(d, MT_DEF_STRING, 0, "zero"), -EINVAL);
    ck_assert_int_eq(add(d, MT_DEF_STRING, 4000000000u, "far"), -EINVAL);
    ck_assert_int_eq(add(d, MT_DEF_STRING, 3, "three"), 0);
    ck_assert_int_eq(add(d, MT_DEF_STRING, 3, "again"), -EINVAL);
    ck_assert_str_eq(mt_string(d, 3), "three");
    ck_assert_str_eq(mt_string(d, 2), "?");
    ck_assert_int_eq(add(d, MT_DEF_STRING, 2, "two"), 0);
    ck_assert_str_eq(mt_string(d, 2), "two");
    mt_definitions_destroy(d);
}
END_TEST

START_TEST(callers_cannot_go_in_circles)
{
    struct mt_definitions *d = mt_definitions_create();
    ck_assert_int_eq(add_stack(d, 1, 1, 1), 0); /* calls itself */
    ck_assert_int_eq(add_stack(d, 2, 3, 1), 0); /* two that call each other */
    ck_assert_int_eq(add_stack(d, 3, 2, 1), 0);
    ck_assert_uint_eq(mt_stack(d, 1)->parent, 0);
    ck_assert_uint_eq(mt_stack(d, 2)->parent, 0);
    ck_assert_uint_eq(mt_stack(d, 3)->parent, 2);
    ck_assert_uint_eq(mt_stack(d, 3)->depth, 2);
    ck_assert_int_eq(add_stack(d, 2, 3, 1), -EINVAL);
    mt_definitions_destroy(d);
}
END_TEST

START_TEST(infos_have_key_and_value)
{
    struct mt_definitions *d = mt_definitions_create();
    ck_assert_int_eq(add(d, MT_DEF_INFO, 0, "pid=17"), 0);
    ck_assert_int_eq(add(d, MT_DEF_INFO, 0, "command=a=b"), 0);
    ck_assert_int_eq(add(d, MT_DEF_INFO, 0, "bare"), 0);
    ck_assert_str_eq(mt_info(d, "pid"), "17");
    ck_assert_str_eq(mt_info(d, "command"), "a=b");
    ck_assert_str_eq(mt_info(d, "bare"), "");
    ck_assert_str_eq(mt_info_at(d, 1)->key, "command");
    ck_assert_ptr_null(mt_info_at(d, 3));
    mt_definitions_destroy(d);
}
END_TEST

START_TEST(stacks_inherit_marks)
{
    struct mt_definitions *d = mt_definitions_create();
    static const char *const frames[][2] = {
        {"main", "/home/u/train.py"},
        {"Optimizer.profile_hook_step.<locals>.wrapper",
         "/v/site-packages/torch/optim/optimizer.py"},
        {"Adam._init_group", "/v/site-packages/torch/optim/adam.py"},
        {"closure", "/home/u/train.py"},
        {"Module._call_impl", "/v/site-packages/torch/nn/modules/module.py"}};
    for (uint32_t i = 0; i < 5; i++) {
        add(d, MT_DEF_STRING, 2 * i + 1, frames[i][0]);
        add(d, MT_DEF_STRING, 2 * i + 2, frames[i][1]);
        add_frame(d, i + 1, 2 * i + 1, 2 * i + 2);
        add_stack(d, i + 1, i, i + 1);
    }
    ck_assert_uint_eq(mt_stack(d, 1)->user, 1);
    ck_assert_uint_eq(mt_stack(d, 3)->user, 1);
    ck_assert_uint_eq(mt_stack(d, 3)->phase, MT_MARK_OPTIMIZER);
    ck_assert(mt_stack(d, 3)->marks & MT_MARK_OPTIMIZER_INIT);
    ck_assert_uint_eq(mt_stack(d, 4)->user, 4);
    ck_assert_uint_eq(mt_stack(d, 5)->phase, MT_MARK_MODULE_CALL);
    ck_assert(mt_stack(d, 5)->marks & MT_MARK_OPTIMIZER);
    mt_definitions_destroy(d);
}
END_TEST

/* A dict that is copied is an object's attributes only where an object is copied. */
START_TEST(only_copied_objects_have_attributes)
{
    struct mt_definitions *d = mt_definitions_create();
    static const char *const frames[][2] = {{"Function.apply", "/v/torch/autograd/function.py"},
                                            {"_deepcopy_dict", "/usr/lib/python3.11/copy.py"},
                                            {"_reconstruct", "/usr/lib/python3.11/copy.py"},
                                            {"_deepcopy_dict", "/usr/lib/python3.11/copy.py"}};
    for (uint32_t i = 0; i < 4; i++) {
        add(d, MT_DEF_STRING, 2 * i + 1, frames[i][0]);
        add(d, MT_DEF_STRING, 2 * i + 2, frames[i][1]);
        add_frame(d, i + 1, 2 * i + 1, 2 * i + 2);
        add_stack(d, i + 1, i, i + 1);
    }
    ck_assert(!(mt_stack(d, 2)->marks & MT_MARK_COPY_DICT));
    ck_assert(mt_stack(d, 4)->marks & MT_MARK_COPY_DICT);
    mt_definitions_destroy(d);
}
END_TEST

/* With hooks, nn.Module calls forward in a function of its own. */
START_TEST(constructors_of_modules_are_known_by_their_forward)
{
    static const char *const frames[][2] = {
        {"Module._call_impl", "/v/site-packages/torch/nn/modules/module.py"},
        {"Module._call_impl.<locals>.inner", "/v/site-packages/torch/nn/modules/module.py"},
        {"Net.forward", "/home/u/train.py"},
        {"Net.__init__", "/home/u/train.py"},
        {"Other.__init__", "/home/u/train.py"}};
    struct mt_definitions *d = mt_definitions_create();
    for (uint32_t i = 0; i < 5; i++) {
        add(d, MT_DEF_STRING, 2 * i + 1, frames[i][0]);
        add(d, MT_DEF_STRING, 2 * i + 2, frames[i][1]);
        add_frame(d, i + 1, 2 * i + 1, 2 * i + 2);
        add_stack(d, i + 1, i < 3 ? i : 0, i + 1);
    }
    ck_assert_int_eq(mt_definitions_finish(d), 0);
    ck_assert_uint_eq(mt_stack(d, 4)->phase, MT_MARK_MODULE_INIT);
    ck_assert_uint_eq(mt_stack(d, 5)->phase, 0);
    mt_definitions_destroy(d);
}
END_TEST

static void add_native(struct mt_definitions *d, uint32_t id, uint32_t image, uint64_t address)
{
    struct mt_definition frame = {.kind = MT_DEF_NATIVE, .id = id};
    frame.native.image = image;
    frame.native.address = address;
    ck_assert_int_eq(mt_definitions_add(d, &frame), 0);
}

static void add_image(struct mt_definitions *d, uint32_t id, uint32_t path)
{
    struct mt_definition image = {.kind = MT_DEF_IMAGE, .id = id};
    image.image.path = path;
    ck_assert_int_eq(mt_definitions_add(d, &image), 0);
}

START_TEST(python_comes_before_native)
{
    struct mt_definitions *d = mt_definitions_create();
    add(d, MT_DEF_STRING, 1, "/home/u/libmine.so");
    add(d, MT_DEF_STRING, 2, "/v/site-packages/torch/lib/libc10_cuda.so");
    add(d, MT_DEF_STRING, 3, "main");
    add(d, MT_DEF_STRING, 4, "/home/u/train.py");
    add_image(d, 1, 1);
    add_image(d, 2, 2);
    add_native(d, 1, 1, 0x10);
    add_native(d, 2, 2, 0x20);
    add_frame(d, 3, 3, 4);
    add_stack(d, 1, 0, 1); /* mine */
    add_stack(d, 2, 1, 2); /* mine, PyTorch's */
    add_stack(d, 3, 0, 3); /* Python */
    add_stack(d, 4, 3, 1); /* Python, mine */
    add_stack(d, 5, 4, 2); /* Python, mine, PyTorch's */
    ck_assert_uint_eq(mt_stack(d, 2)->user, 1);
    ck_assert_uint_eq(mt_stack(d, 2)->python, 0);
    ck_assert_uint_eq(mt_stack(d, 5)->user, 3);
    ck_assert_uint_eq(mt_stack(d, 5)->python, 3);
    ck_assert_uint_eq(mt_stack(d, 5)->depth, 3);
    mt_definitions_destroy(d);
}
END_TEST

START_TEST(native_frames_have_names)
{
    struct mt_definitions *d = mt_definitions_create();
    add(d, MT_DEF_STRING, 1, "/opt/none/libgone.so");
    add(d, MT_DEF_STRING, 2, "ns::solve");
    add(d, MT_DEF_STRING, 3, "solve.c");
    add_image(d, 1, 1);
    add_native(d, 1, 1, 0xabc);
    add_native(d, 2, 1, 0xdef);
    add_native(d, 3, 0, 0x7f0012345678); /* in no file */
    ck_assert_str_eq(mt_named_frame(d, 1)->function, "libgone.so+0xabc");
    ck_assert_str_eq(mt_named_frame(d, 1)->file, "/opt/none/libgone.so");
    ck_assert(!mt_named_frame(d, 1)->is_named);
    ck_assert_str_eq(mt_named_frame(d, 3)->function, "?+0x7f0012345678");
    struct mt_definition symbol = {.kind = MT_DEF_SYMBOL, .id = 2, .frame = {2, 3, 7}};
    ck_assert_int_eq(mt_definitions_add(d, &symbol), 0);
    ck_assert_str_eq(mt_named_frame(d, 2)->function, "ns::solve");
    ck_assert_str_eq(mt_named_frame(d, 2)->file, "solve.c");
    ck_assert_uint_eq(mt_named_frame(d, 2)->line, 7);
    symbol.id = 4; /* no such frame */
    ck_assert_int_eq(mt_definitions_add(d, &symbol), -EINVAL);
    ck_assert_str_eq(mt_trace_image(d, 9).path, "?");
    mt_definitions_destroy(d);
}
END_TEST

static void add_call(struct mt_definitions *d, uint32_t id, uint32_t root, uint32_t path)
{
    struct mt_definition call = {.kind = MT_DEF_CALL, .id = id, .frame = {1, 1, 7, root, path}};
    ck_assert_int_eq(mt_definitions_add(d, &call), 0);
    ck_assert_int_eq(add_stack(d, id, id - 1, id), 0);
}

/* main > Net > Net.layers.3 > relu, and a loss beside it */
static struct mt_definitions *calls(void)
{
    struct mt_definitions *d = mt_definitions_create();
    static const char *const strings[] = {"f", "Net", "layers.3", "CrossEntropyLoss", "Critic"};
    for (uint32_t i = 0; i < 5; i++)
        add(d, MT_DEF_STRING, i + 1, strings[i]);
    add_frame(d, 1, 1, 1);
    add_stack(d, 1, 0, 1);
    add_call(d, 2, 2, 0);
    add_call(d, 3, 2, 3);
    add_stack(d, 4, 3, 1);
    add_call(d, 5, 4, 0);
    return d;
}

START_TEST(stacks_have_modules)
{
    struct mt_definitions *d = calls();
    ck_assert_int_eq(mt_definitions_finish(d), 0);
    ck_assert_str_eq(mt_stack_module(d, 0), "");
    ck_assert_str_eq(mt_stack_module(d, 1), "");
    ck_assert_str_eq(mt_stack_module(d, 2), "Net");
    ck_assert_str_eq(mt_stack_module(d, 4), "layers.3");
    ck_assert_str_eq(mt_stack_module(d, 5), "CrossEntropyLoss");
    ck_assert_str_eq(mt_stack_module(d, 99), "");
    mt_definitions_destroy(d);
}
END_TEST

START_TEST(modules_of_several_models_have_their_classes)
{
    struct mt_definitions *d = calls();
    add_call(d, 6, 5, 3);
    ck_assert_int_eq(mt_definitions_finish(d), 0);
    ck_assert_str_eq(mt_stack_module(d, 2), "Net");
    ck_assert_str_eq(mt_stack_module(d, 4), "Net.layers.3");
    ck_assert_str_eq(mt_stack_module(d, 6), "Critic.layers.3");
    mt_definitions_destroy(d);
}
END_TEST

START_TEST(modules_have_marks)
{
    static const struct {
        const char *path;
        uint32_t marks;
    } cases[] = {
        {"/v/lib/python3.11/site-packages/torch/lib/libtorch_cuda.so", MT_MARK_FRAMEWORK},
        {"/usr/local/cuda/lib64/libcudart.so.13", MT_MARK_FRAMEWORK},
        {"/lib/x86_64-linux-gnu/libc.so.6", MT_MARK_FRAMEWORK},
        {"/usr/bin/python3.11", MT_MARK_FRAMEWORK},
        {"linux-vdso.so.1", MT_MARK_FRAMEWORK},
        {"?", MT_MARK_FRAMEWORK},
        {"/usr/lib/x86_64-linux-gnu/libopenblas.so.0", MT_MARK_LIBRARY},
        {"/v/lib/python3.11/site-packages/flash/kernels.so", MT_MARK_LIBRARY},
        {"/home/u/libcurl-like.so", 0},
        {"/home/u/solve", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_msg(mt_module_marks(cases[i].path) == cases[i].marks, "%s: %#x", cases[i].path,
                      mt_module_marks(cases[i].path));
}
END_TEST

START_TEST(function_names_are_plain)
{
    static const char *const cases[][2] = {
        {"main", "main"},
        {"_ZN2at5emptyEl", "at::empty"},
        {"_ZN2at6native12_GLOBAL__N_14copyERKNS_6TensorE",
         "at::native::(anonymous namespace)::copy"},
        {"_Z3addIiET_S0_S0_", "add<int>"}, /* int add<int>(int, int) */
        {"_ZN1AclEi", "A::operator()"},
        {"_ZN1AltERKS_", "A::operator<"},
        {"_ZNK1A3getEv", "A::get"},
        {"_ZNSt6vectorISt4pairIiiESaIS1_EE9push_backERKS1_",
         "std::vector<std::pair<int, int>, std::allocator<std::pair<int, int> > >::push_back"},
        {"_ZN1A3runEv.cold", "A::run"},
        {"_Znwm", "operator new"},
        {"_Z", "_Z"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *name = mt_function_name(cases[i][0]);
        ck_assert_str_eq(name, cases[i][1]);
        free(name);
    }
}
END_TEST

START_TEST(compiled_functions_have_the_users_name)
{
    static const char *const cases[][2] = {
        {"Net.torch_dynamo_resume_in_forward_at_13", "Net.forward"},
        {"torch_dynamo_resume_in_penalty_at_7", "penalty"},
        {"torch_dynamo_resume_in_meet_at_noon_at_7", "meet_at_noon"},
        {"my_torch_dynamo_resume_in_x_at_7", "my_torch_dynamo_resume_in_x_at_7"},
        {"torch_dynamo_resume_in__at_7", "torch_dynamo_resume_in__at_7"},
        {"torch_dynamo_resume_in_x_at_", "torch_dynamo_resume_in_x_at_"},
        {"torch_dynamo_resume_in_", "torch_dynamo_resume_in_"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct mt_definitions *d = mt_definitions_create();
        ck_assert_int_eq(add(d, MT_DEF_STRING, 1, cases[i][0]), 0);
        ck_assert_int_eq(add(d, MT_DEF_STRING, 2, "net.py"), 0);
        ck_assert_int_eq(add_frame(d, 1, 1, 2), 0);
        ck_assert_str_eq(mt_frame(d, 1)->function, cases[i][1]);
        mt_definitions_destroy(d);
    }
}
END_TEST

#define TORCH "/v/lib/python3.11/site-packages/torch/"

START_TEST(frames_have_marks)
{
    static const struct {
        const char *function, *file;
        uint32_t marks;
    } cases[] = {
        {"f", "/home/u/torch/optim.py", 0},
        {"step", "/home/u/trainer.py", 0},
        {"AdamW.step", TORCH "optim/adamw.py", MT_MARK_FRAMEWORK | MT_MARK_OPTIMIZER},
        {"_multi_tensor_adamw", TORCH "optim/adamw.py", MT_MARK_FRAMEWORK | MT_MARK_OPTIMIZER},
        {"LRScheduler.step", TORCH "optim/lr_scheduler.py", MT_MARK_FRAMEWORK},
        {"Optimizer.zero_grad", TORCH "optim/optimizer.py", MT_MARK_FRAMEWORK},
        {"__new__", TORCH "nn/parameter.py", MT_MARK_FRAMEWORK | MT_MARK_PARAMETER_NEW},
        {"Parameter.__new__", TORCH "nn/parameter.py", MT_MARK_FRAMEWORK | MT_MARK_PARAMETER_NEW},
        {"Buffer.__new__", TORCH "nn/parameter.py", MT_MARK_FRAMEWORK | MT_MARK_BUFFER_NEW},
        {"Module._apply", TORCH "nn/modules/module.py", MT_MARK_FRAMEWORK | MT_MARK_MODULE_APPLY},
        {"Linear.__init__", TORCH "nn/modules/linear.py", MT_MARK_FRAMEWORK | MT_MARK_MODULE_INIT},
        {"backward", TORCH "autograd/__init__.py", MT_MARK_FRAMEWORK | MT_MARK_BACKWARD},
        {"forward", "/v/lib/python3.11/site-packages/transformers/m.py", MT_MARK_LIBRARY},
        {"TopPLogitsWarper.__call__",
         "/v/lib/python3.11/site-packages/transformers/generation/logits_process.py",
         MT_MARK_LIBRARY | MT_MARK_SAMPLING},
        {"GenerationMixin._prepare_inputs",
         "/v/lib/python3.11/site-packages/transformers/generation/utils.py", MT_MARK_LIBRARY},
        {"run", "/usr/lib/python3.11/threading.py", MT_MARK_FRAMEWORK},
        {"_find", "<frozen importlib._bootstrap>", MT_MARK_FRAMEWORK},
        {"<module>", "<string>", 0},
        {"__create_fn__.<locals>.__init__", "<string>", MT_MARK_FRAMEWORK},
        {"forward", "<eval_with_key>.7 from /u/net.py:3", MT_MARK_FRAMEWORK},
        {"call", "/tmp/torchinductor_u/ab/cabc.py", MT_MARK_FRAMEWORK},
        {"Runner.call", "/cache/tl/ctlynfwe2tqz7mlrkgbwsyhd4pjvuoac3fxei5n6abcdefghijkl.py",
         MT_MARK_FRAMEWORK},
        {"Runner.call", "/cache/tm/ctlynfwe2tqz7mlrkgbwsyhd4pjvuoac3fxei5n6abcdefghijkl.py", 0},
        {"Runner.call", "/cache/tl/ctlynfwe2tqz7mlrkgbwsyhd4pjvuoac3fxei5n6abcdefghijk.py", 0},
        {"Runner.call", "/cache/tl/ctlynfwe2tqz7mlrkgbwsyhd4pjvuoac3fxei5n6abcdefghijkl.txt", 0},
        {"BackwardCFunction.apply", TORCH "autograd/function.py",
         MT_MARK_FRAMEWORK | MT_MARK_CUSTOM_BACKWARD},
        {"?", "?", 0},
        {"", "", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_msg(mt_frame_marks(cases[i].function, cases[i].file) == cases[i].marks,
                      "%s of %s: %#x", cases[i].function, cases[i].file,
                      mt_frame_marks(cases[i].function, cases[i].file));
}
END_TEST

START_TEST(type_names_are_short)
{
    static const char *const cases[][2] = {
        {"N5torch8autograd9generated14AddmmBackward0E", "AddmmBackward0"},
        {"*N5torch8autograd6PyNodeE", "PyNode"},
        {"N5torch8autograd7CppNodeI6MyFuncEE", "CppNode"},
        {"12MyBackwardXY", "MyBackwardXY"},
        {"12MyBackwardXYE", "MyBackwardXY"},
        {"N3c1011OutOfMemoryE", "OutOfMemory"},
        {"N99shortE", "N99shortE"},
        {"main.<locals>.run.<locals>.Sum.backward", "Sum.backward"},
        {"Sum.backward", "Sum.backward"},
        {"N", "N"},
        {"?", "?"},
        {"", ""},
        {"N5torchZ", "N5torchZ"},
        {"N99999999999999999999aE", "N99999999999999999999aE"},
    };
    char out[32];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        mt_short_type_name(cases[i][0], out, sizeof out);
        ck_assert_str_eq(out, cases[i][1]);
    }
    mt_short_type_name("N5torch8autograd9generated14AddmmBackward0E", out, 6);
    ck_assert_str_eq(out, "Addmm");
}
END_TEST

START_TEST(sizes_read_well)
{
    char out[MT_SIZE_TEXT];
    ck_assert_str_eq(mt_size_text(out, 0), "0 B");
    ck_assert_str_eq(mt_size_text(out, 1023), "1023 B");
    ck_assert_str_eq(mt_size_text(out, 1024), "1.00 KiB");
    ck_assert_str_eq(mt_size_text(out, 1048575), "1.00 MiB");
    ck_assert_str_eq(mt_size_text(out, UINT64_MAX), "16.00 EiB");
    ck_assert_str_eq(mt_count_text(out, 999), "999");
    ck_assert_str_eq(mt_count_text(out, 1000), "1,000");
    ck_assert_str_eq(mt_count_text(out, UINT64_MAX), "18,446,744,073,709,551,615");
    ck_assert_str_eq(mt_time_text(out, 1234567890), "1.235 s");
    ck_assert_str_eq(mt_time_text(out, 61000000000), "1 min 01 s");
    ck_assert_str_eq(mt_time_text(out, 3723000000000), "1 h 02 min");
}
END_TEST

START_TEST(text_is_safe)
{
    const struct mt_style utf8 = {1, 0}, ascii = {0, 0};
    char out[16];
    mt_safe_text(out, sizeof out, "a\033[1m\n\xff", 0, MT_CUT_END, &utf8);
    ck_assert_str_eq(out, "a?[1m??");
    mt_safe_text(out, sizeof out, "h\u00e9!", 0, MT_CUT_END, &utf8);
    ck_assert_str_eq(out, "h\u00e9!");
    mt_safe_text(out, sizeof out, "h\u00e9!", 0, MT_CUT_END, &ascii);
    ck_assert_str_eq(out, "h?!");
    mt_safe_text(out, sizeof out, "\xc2\x9b", 0, MT_CUT_END, &utf8); /* a control character */
    ck_assert_str_eq(out, "?");
    mt_safe_text(out, sizeof out, "abcdef", 4, MT_CUT_END, &ascii);
    ck_assert_str_eq(out, "abc~");
    mt_safe_text(out, sizeof out, "abcdef", 4, MT_CUT_BEGIN, &ascii);
    ck_assert_str_eq(out, "~def");
    mt_safe_text(out, 4, "\u00e9\u00e9\u00e9", 0, MT_CUT_END, &utf8); /* no half characters */
    ck_assert_str_eq(out, "\u00e9");
    ck_assert_uint_eq(mt_utf8_length("\xed\xa0\x80"), 0); /* a surrogate */
    ck_assert_uint_eq(mt_utf8_length("\xc0\x80"), 0);     /* overlong */
    ck_assert_uint_eq(mt_utf8_length("\xf0\x9f\x98\x80"), 4);
}
END_TEST

int main(void)
{
    TCase *test = tcase_create("definitions");
    tcase_add_test(test, unknown_is_a_question_mark);
    tcase_add_test(test, ids_are_checked);
    tcase_add_test(test, callers_cannot_go_in_circles);
    tcase_add_test(test, infos_have_key_and_value);
    tcase_add_test(test, stacks_inherit_marks);
    tcase_add_test(test, only_copied_objects_have_attributes);
    tcase_add_test(test, constructors_of_modules_are_known_by_their_forward);
    tcase_add_test(test, frames_have_marks);
    tcase_add_test(test, python_comes_before_native);
    tcase_add_test(test, native_frames_have_names);
    tcase_add_test(test, stacks_have_modules);
    tcase_add_test(test, modules_of_several_models_have_their_classes);
    tcase_add_test(test, modules_have_marks);
    tcase_add_test(test, function_names_are_plain);
    tcase_add_test(test, compiled_functions_have_the_users_name);
    tcase_add_test(test, type_names_are_short);
    tcase_add_test(test, sizes_read_well);
    tcase_add_test(test, text_is_safe);
    return RUN_TESTS(test);
}
