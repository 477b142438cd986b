/* SPDX-License-Identifier: Apache-2.0 */
/*
 * make-trace FILE EVENTS: writes a trace of so many events that looks like training: thousands of
 * stacks, labels, blocks that are kept in forward and freed in backward. The same in every run.
 */
#include "trace-format/encoder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LAYERS 1200u
#define DEPTH 18u /* callers of a layer's line */
#define BASE 0x7f0000000000ull
#define SLOT (8ull << 20)

static struct mt_encoder *encoder;
static FILE *file;
static uint64_t now, allocated, written, wanted;
static uint32_t strings, frames, stacks;

static void must(int holds)
{
    if (holds)
        return;
    perror("make-trace");
    exit(1);
}

static void append(const unsigned char *bytes, size_t size)
{
    must(fwrite(bytes, 1, size, file) == size);
}

static void finish_block(void)
{
    const unsigned char *bytes;
    size_t size;
    must(!mt_encoder_finish(encoder, &bytes, &size));
    append(bytes, size);
}

static void define(struct mt_definition definition)
{
    must(!mt_encoder_definition(encoder, &definition));
    if (mt_encoder_full(encoder))
        finish_block();
}

static uint32_t string(const char *text)
{
    define((struct mt_definition){
        .kind = MT_DEF_STRING, .id = ++strings, .text = text, .text_size = strlen(text)});
    return strings;
}

static uint32_t stack(uint32_t parent, uint32_t function, uint32_t in_file, uint32_t line)
{
    define((struct mt_definition){
        .kind = MT_DEF_FRAME, .id = ++frames, .frame = {function, in_file, line}});
    define((struct mt_definition){.kind = MT_DEF_STACK, .id = ++stacks, .stack = {parent, frames}});
    return stacks;
}

static uint32_t layer_stack[LAYERS], outside_stack, step_stack, node_name;

static void make_stacks(void)
{
    uint32_t main = string("main"), train = string("/home/user/train.py");
    uint32_t call = string("Module._call_impl"), forward = string("Net.forward");
    uint32_t module = string("/v/site-packages/torch/nn/modules/module.py");
    uint32_t step = string("Optimizer.profile_hook_step.<locals>.wrapper");
    uint32_t optimizer = string("/v/site-packages/torch/optim/optimizer.py");
    node_name = string("N5torch8autograd9generated14AddmmBackward0E");
    outside_stack = stack(0, main, train, 1);
    step_stack = stack(outside_stack, step, optimizer, 2);
    for (uint32_t i = 0; i < LAYERS; i++) {
        uint32_t at = stack(outside_stack, call, module, 3);
        for (uint32_t depth = 0; depth < DEPTH; depth++)
            at = stack(at, depth % 2 ? call : forward, depth % 2 ? module : train, 10 + i);
        layer_stack[i] = at;
    }
    finish_block();
}

/* Real times are as good as random in their last byte. */
static uint64_t noise(void)
{
    static uint64_t state = 88172645463325252u;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state % 256;
}

static void event(unsigned kind, uint32_t thread, uint32_t at, uint64_t a, uint64_t b)
{
    struct mt_event event = {.time_ns = now += 400 + noise(),
                             .thread = thread,
                             .stack = at,
                             .kind = (uint16_t)kind,
                             .arg = {a, b}};
    if (written == wanted)
        return;
    if (kind == MT_ALLOC || kind == MT_FREE) {
        allocated += kind == MT_ALLOC ? b : -b;
        event.arg[2] = allocated;
        event.arg[3] = 80ull << 30;
    }
    must(!mt_encoder_event(encoder, &event));
    written++;
    if (mt_encoder_full(encoder))
        finish_block();
}

static uint64_t size_of(unsigned layer)
{
    return 512 * (1 + layer * 37 % 4000);
}

static uint64_t kept_at(unsigned layer)
{
    return BASE + layer * SLOT;
}

static void train_a_step(void)
{
    uint64_t temporary = BASE + LAYERS * SLOT, gradient = temporary + SLOT;
    for (unsigned i = 0; i < LAYERS; i++) {
        event(MT_ALLOC, 1, layer_stack[i], kept_at(i), size_of(i));
        event(MT_SAVED, 1, layer_stack[i], kept_at(i), 1);
        event(MT_NODE_NEW, 1, layer_stack[i], 0x1000 + i * 256, kept_at(i));
        event(MT_ALLOC, 1, layer_stack[i], temporary, 4096);
        event(MT_FREE, 1, layer_stack[i], temporary, 4096);
    }
    for (unsigned i = LAYERS; i-- > 0;) {
        event(MT_NODE_BEGIN, 2, 0, 0x1000 + i * 256, node_name);
        event(MT_ALLOC, 2, 0, gradient, size_of(i));
        event(MT_FREE, 2, 0, kept_at(i), size_of(i));
        event(MT_FREE, 2, 0, gradient, size_of(i));
        event(MT_NODE_END, 2, 0, 0x1000 + i * 256, 0);
    }
    for (unsigned i = 0; i < 100; i++) {
        event(MT_ALLOC, 1, step_stack, temporary, 8192);
        event(MT_FREE, 1, step_stack, temporary, 8192);
    }
    event(MT_ALLOC, 1, outside_stack, temporary, 512);
    event(MT_FREE, 1, outside_stack, temporary, 512);
}

int main(int argc, char **argv)
{
    unsigned char header[MT_FILE_HEADER_SIZE];
    const unsigned char *bytes;
    size_t size;
    must(argc == 3);
    wanted = strtoull(argv[2], NULL, 10);
    file = fopen(argv[1], "wb");
    encoder = mt_encoder_create(1);
    must(file && encoder);
    mt_encode_file_header(header, 1, 0);
    mt_encoder_begin(encoder, 1);
    append(header, sizeof header);
    make_stacks();
    while (written < wanted)
        train_a_step();
    finish_block();
    must(!mt_encoder_end(encoder, &(struct mt_end){now, written, 0}, &bytes, &size));
    append(bytes, size);
    must(!fclose(file));
    return 0;
}
