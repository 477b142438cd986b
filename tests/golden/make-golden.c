/* SPDX-License-Identifier: Apache-2.0 */
/* make-golden FILE: a trace that has every kind of definition and of event, four times each, in
 * this version's format. Kinds that are new come into it by themselves. */
#include "tests/unit/trace-builder.h"

#include <stdio.h>

#define ROUNDS 4

static uint64_t argument(const struct mt_field *field, uint64_t round, unsigned place)
{
    switch (field->code) {
    case MT_CODE_PLAIN:
        return place == 1 ? (uint64_t)512 << (3 * round) : round;
    case MT_CODE_ALLOCATED:
        return (round + 1) << 20;
    case MT_CODE_RESERVED:
        return (round + 1) << 21;
    default:
        return 0x7f0000000000 + (round * 5 % 3) * 0x200000;
    }
}

static void add_event(struct mt_builder *builder, unsigned kind, uint64_t round, uint32_t stack)
{
    static uint64_t now;
    now += 137 + round * 1000 * kind;
    struct mt_event event = {.time_ns = now,
                             .thread = 1 + kind % 2,
                             .stack = round % 2 ? stack : 0,
                             .kind = (uint16_t)kind,
                             .device = (int16_t)((int)(round % 3) - 1)};
    for (unsigned i = 0; i < mt_kind_fields[kind]; i++)
        event.arg[i] = argument(&mt_kinds[kind].field[i], round, i);
    mt_build_raw(builder, &event);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: make-golden FILE\n");
        return 2;
    }
    struct mt_builder *builder = mt_builder_create();
    mt_build_info(builder, "memtap=0.1.0");
    mt_build_info(builder, "command=python train.py");
    mt_build_definition(builder, &(struct mt_definition){.kind = MT_DEF_SUMMARY,
                                                         .id = MT_SUMMARY_OOMS,
                                                         .device = 1,
                                                         .text = "\x02\x03\xd2\x09",
                                                         .text_size = 4}); /* 1 -2 617 */
    uint32_t stack =
        mt_build_stack(builder, "/home/user/train.py:12 main", "/home/user/train.py:77 Net.forward",
                       "/usr/lib/torch/nn/modules/module.py:1787 Module._call_impl|Net|layers.3",
                       "/usr/lib/libexample.so@1234", NULL);
    mt_build_symbol(builder, "example.cc:9 example");
    for (uint64_t round = 0; round < ROUNDS; round++)
        for (unsigned kind = 0; kind < MT_KIND_LIMIT; kind++)
            if (mt_kinds[kind].name)
                add_event(builder, kind, round, stack);
    mt_build_end(builder);
    mt_builder_write(builder, argv[1]);
    mt_builder_destroy(builder);
    return 0;
}
