/* SPDX-License-Identifier: Apache-2.0 */
#include "scenarios.h"

#include <stdio.h>

#define BASE 0x7f0000000000ull
#define TORCH "/venv/lib/python3.11/site-packages/torch/"
#define EVENT_NS 1000000u /* between two events */

/* A path's steps stand with a line feed between them. */
static void hold(struct mt_builder *b, uint64_t address, enum mt_holder_root root, uint64_t view,
                 const char *path)
{
    mt_build_event4(b, MT_HOLDER, address, mt_build_string(b, path), root, view);
}

static uint64_t loss_at(unsigned i)
{
    return BASE + (uint64_t)(i + 1) * 64 * MT_MIB;
}

/* The list of holders of a moment, so many events ago: of the model, of the losses so far, and of a
 * cycle. */
static void list_holders(struct mt_builder *b, enum mt_holders_moment moment, unsigned losses,
                         unsigned ago)
{
    unsigned events = losses + 4;
    char path[160];
    mt_build_on(b, MT_NO_DEVICE, 0, 0);
    hold(b, BASE, MT_HOLDER_LOCAL, 0, "local variable `model` of main() at train.py:9\n.weight");
    for (unsigned i = 0; i < losses; i++) {
        snprintf(path, sizeof path,
                 "global `losses` of module __main__\n[%u]\n.grad_fn\nsaved by MulBackward0", i);
        hold(b, loss_at(i), MT_HOLDER_GLOBAL, 0, path);
    }
    hold(b, loss_at(losses - 1) + 512, MT_HOLDER_LOCAL, 64 * MT_KIB,
         "local variable `last` of main() at train.py:11");
    hold(b, BASE + 32 * MT_MIB, MT_HOLDER_GARBAGE, 0, "reference cycle of Scale\n.y\n.grad_fn");
    mt_build_event4(b, MT_HOLDERS, moment, MT_HOLDERS_COMPLETE, 1234,
                    (uint64_t)(events + ago) * EVENT_NS - EVENT_NS / 2);
}

static void iterate(struct mt_builder *b, unsigned i)
{
    uint32_t keep = mt_build_stack(b, "/home/user/train.py:10 main",
                                   TORCH "nn/modules/module.py:1750 Module._call_impl|Net|loss",
                                   "/home/user/net.py:20 Net.forward", NULL);
    uint32_t step = mt_build_stack(b, "/home/user/train.py:12 main",
                                   TORCH "optim/optimizer.py:500 "
                                         "Optimizer.profile_hook_step.<locals>.wrapper",
                                   NULL);
    mt_build_on(b, 0, 1, keep);
    mt_build_alloc(b, loss_at(i), 32 * MT_MIB);
    mt_build_on(b, 0, 1, step);
    mt_build_alloc(b, BASE + (1ull << 40), MT_MIB);
    mt_build_free(b, BASE + (1ull << 40));
}

static void begin_holding(struct mt_builder *b)
{
    mt_build_info(b, "command=python train.py");
    mt_build_on(b, 0, 1, mt_build_stack(b, "/home/user/train.py:8 main", NULL));
    mt_build_alloc(b, BASE, 16 * MT_MIB);
    mt_build_on(b, 0, 1, mt_build_stack(b, "/home/user/train.py:7 main", NULL));
    mt_build_alloc(b, BASE + 32 * MT_MIB, 24 * MT_MIB);
}

void mt_scenario_held(struct mt_builder *b)
{
    begin_holding(b);
    for (unsigned i = 0; i < 8; i++) {
        iterate(b, i);
        if (i == 4)
            list_holders(b, MT_HOLDERS_GROWTH, 5, 0);
    }
    list_holders(b, MT_HOLDERS_END, 8, 0);
    mt_build_end(b);
}

void mt_scenario_held_oom(struct mt_builder *b)
{
    begin_holding(b);
    for (unsigned i = 0; i < 6; i++)
        iterate(b, i);
    mt_build_on(b, 0, 1, mt_build_stack(b, "/home/user/train.py:10 main", NULL));
    mt_build_event(b, MT_OOM, 16 * MT_MIB, 232 * MT_MIB, 234 * MT_MIB);
    mt_build_on(b, 0, 1, 0);
    for (unsigned i = 0; i < 6; i++) /* before the list is read */
        mt_build_free(b, loss_at(i));
    list_holders(b, MT_HOLDERS_OOM, 6, 6);
    mt_build_end(b);
}
