/* SPDX-License-Identifier: Apache-2.0 */
/* make-bombs [NAME...]: writes small traces that stand for much, all or those named, into the
 * working directory. */
#include "analyzer/support/write.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static FILE *out;
static struct mt_encoder *encoder;
static uint64_t time_ns, step_ns = 1000;
static uint32_t thread = 1;

static void need(int rc)
{
    if (rc)
        abort();
}

static void define(struct mt_definition definition)
{
    need(mt_write_definition(out, encoder, &definition));
}

static void text(enum mt_definition_kind kind, uint32_t id, const char *text)
{
    define((struct mt_definition){kind, id, .text = text, .text_size = strlen(text)});
}

static void frame(uint32_t id, uint32_t function, uint32_t file)
{
    define((struct mt_definition){MT_DEF_FRAME, id, .frame = {function, file, 1, 0, 0}});
}

static void stack(uint32_t id, uint32_t parent, uint32_t frame)
{
    define((struct mt_definition){MT_DEF_STACK, id, .stack = {parent, frame}});
}

static void end_definitions(void)
{
    need(mt_write_block(out, encoder));
}

static void event(enum mt_kind kind, uint32_t stack, uint64_t arg0, uint64_t arg1)
{
    static uint64_t allocated;
    struct mt_event event = {
        .time_ns = time_ns += step_ns, .kind = kind, .thread = thread, .stack = stack};
    event.arg[0] = arg0;
    event.arg[1] = arg1;
    if (kind == MT_ALLOC)
        event.arg[2] = event.arg[3] = allocated += arg1;
    if (kind == MT_FREE)
        event.arg[2] = event.arg[3] = allocated -= arg1;
    need(mt_write_event(out, encoder, &event));
}

static void one_frame(void)
{
    text(MT_DEF_STRING, 1, "main");
    text(MT_DEF_STRING, 2, "a.py");
    frame(1, 1, 2);
}

static void deep(void)
{
    one_frame();
    for (uint32_t i = 1; i <= 200000; i++)
        stack(i, i - 1, 1);
    end_definitions();
    event(MT_ALLOC, 200000, 4096, 512);
    event(MT_ALLOC, 4096, 8192, 512);
}

static void live(void)
{
    one_frame();
    stack(1, 0, 1);
    end_definitions();
    for (uint64_t i = 1; i <= 3000000; i++) /* more than 256 MiB at 96 bytes a block */
        event(MT_ALLOC, 1, i << 9, 512);
}

static void ids(void)
{
    one_frame();
    for (uint32_t i = 1; i <= 20000; i++)
        stack(i * 65535, 0, 1);
    for (uint32_t i = 2; i <= 20000; i++)
        frame(i * 65535, 1, 2);
    for (uint32_t i = 1; i <= 20000; i++)
        text(MT_DEF_STRING, i * 65535, "x");
    end_definitions();
    event(MT_ALLOC, 65535, 4096, 512);
}

static void names(void)
{
    static char name[60000];
    memset(name, 'a', sizeof name - 1);
    for (uint32_t i = 1; i <= 8000; i++)
        text(MT_DEF_STRING, i, name);
    frame(1, 1, 2);
    stack(1, 0, 1);
    end_definitions();
    event(MT_ALLOC, 1, 4096, 512);
}

static void keys(void)
{
    char key[32];
    one_frame();
    for (unsigned i = 0; i < 100000; i++) {
        snprintf(key, sizeof key, "key%u=value", i);
        text(MT_DEF_INFO, 0, key);
    }
    end_definitions();
    event(MT_ALLOC, 0, 4096, 512);
}

/* Stacks of 1,000 frames, each with most of its callers shared. */
static void shared(void)
{
    one_frame();
    for (uint32_t i = 1; i <= 1000; i++)
        stack(i, i - 1, 1);
    for (uint32_t i = 0; i < 2000; i++) {
        frame(2 + i, 1, 2);
        stack(1001 + i, 1000, 2 + i);
    }
    end_definitions();
    for (uint32_t i = 0; i < 2000; i++)
        event(MT_ALLOC, 1001 + i, (1 + (uint64_t)i) << 9, 512);
}

/* 20,000 stacks of 4,000 frames, as texts 1.1 GB. */
static void recursion(void)
{
    one_frame();
    for (uint32_t i = 1; i <= 4000; i++)
        stack(i, i - 1, 1);
    for (uint32_t i = 0; i < 20000; i++) {
        define((struct mt_definition){MT_DEF_FRAME, 2 + i, .frame = {1, 2, 2 + i, 0, 0}});
        stack(4001 + i, 4000, 2 + i);
    }
    end_definitions();
    for (uint32_t i = 0; i < 20000; i++)
        event(MT_ALLOC, 4001 + i, (1 + (uint64_t)i) << 9, 512);
}

/* Each node is made within the one before. */
static void chain(void)
{
    one_frame();
    end_definitions();
    for (uint64_t i = 1; i <= 300000; i++) {
        event(MT_NODE_NEW, 0, i << 4, 0);
        if (i > 1)
            event(MT_NODE_END, 0, (i - 1) << 4, 0);
        event(MT_NODE_BEGIN, 0, i << 4, 0);
    }
    event(MT_ALLOC, 0, 4096, 512);
    event(MT_FREE, 0, 4096, 512);
}

/* Addresses that the first factor of the tables of addresses puts into one place. */
static void meeting(void)
{
    uint64_t inverse = 0x9e3779b97f4a7c15u;
    for (int i = 0; i < 6; i++)
        inverse *= 2 - 0x9e3779b97f4a7c15u * inverse;
    one_frame();
    end_definitions();
    for (uint64_t i = 1; i <= 100000; i++)
        event(MT_ALLOC, 0, i * inverse, 512);
}

static void modules(void)
{
    char path[32];
    one_frame();
    text(MT_DEF_STRING, 3, "Net");
    for (uint32_t i = 0; i < 30000; i++) {
        snprintf(path, sizeof path, "layer%u", i);
        text(MT_DEF_STRING, 4 + i, path);
        define((struct mt_definition){MT_DEF_CALL, 2 + i, .frame = {1, 2, 1, 3, 4 + i}});
        stack(1 + i, 0, 2 + i);
    }
    end_definitions();
    for (uint32_t i = 0; i < 30000; i++)
        event(MT_ALLOC, 1 + i, (1 + (uint64_t)i) << 9, 512);
}

static void ranges(void)
{
    char name[32];
    one_frame();
    for (uint32_t i = 0; i < 100000; i++) {
        snprintf(name, sizeof name, "range %u", i);
        text(MT_DEF_STRING, 3 + i, name);
    }
    end_definitions();
    for (uint32_t i = 0; i < 100000; i++)
        event(MT_RANGE_PUSH, 0, 3 + i, 0);
    for (uint32_t i = 0; i < 5000; i++)
        event(MT_ALLOC, 0, (1 + (uint64_t)i) << 9, 512);
}

/* Events that repeat cost the file nothing: 20 million in 100 KB. */
#define MANY 20000000u

static void pairs(void)
{
    one_frame();
    stack(1, 0, 1);
    end_definitions();
    event(MT_REQUEST_STREAM, 1, 0, 0);
    for (uint32_t i = 0; i < MANY / 2; i++) {
        event(MT_ALLOC, 1, 4096, 512);
        event(MT_FREE, 1, 4096, 512);
    }
}

/* What is replayed again and again, and then models of it. */
static void requested(void)
{
    one_frame();
    stack(1, 0, 1);
    end_definitions();
    event(MT_REQUEST_STREAM, 1, 0, 0);
    for (uint64_t i = 1; i <= 400000; i++)
        event(MT_ALLOC, 1, i << 21, 1 << 20);
    for (uint64_t i = 1; i <= 400000; i += 2)
        event(MT_FREE, 1, i << 21, 1 << 20);
    event(MT_OOM, 1, 1 << 30, 0);
    for (uint64_t i = 0; i < 200000; i++)
        event(MT_ALLOC, 1, (1 + i * 2) << 21, 512);
}

/* Two modules that take turns, in forward and in backward. */
static void turns(void)
{
    one_frame();
    text(MT_DEF_STRING, 3, "Net");
    text(MT_DEF_STRING, 4, "layers.0");
    text(MT_DEF_STRING, 5, "layers.1");
    text(MT_DEF_STRING, 6, "forward");
    text(MT_DEF_STRING, 7, "/v/torch/nn/modules/module.py");
    text(MT_DEF_STRING, 8, "Module._call_impl");
    text(MT_DEF_STRING, 9, "N5torch8autograd9generated14AddmmBackward0E");
    for (uint32_t i = 0; i < 2; i++) {
        define((struct mt_definition){MT_DEF_CALL, 2 + i, .frame = {8, 7, 1, 3, 4 + i}});
        stack(1 + i, 0, 2 + i);
    }
    stack(3, 0, 1);
    end_definitions();
    event(MT_REQUEST_STREAM, 1, 0, 0);
    for (uint64_t i = 1; i <= 300000; i++) {
        event(MT_ALLOC, 1 + i % 2, i << 9, 512);
        event(MT_NODE_NEW, 1 + i % 2, i << 4, i << 9);
        event(MT_SAVED, 1 + i % 2, i << 9, 0);
    }
    for (uint64_t i = 300000; i; i--) {
        event(MT_NODE_BEGIN, 3, i << 4, 9);
        event(MT_FREE, 3, i << 9, 512);
        event(MT_NODE_END, 3, i << 4, 0);
    }
}

/* Each event is another thread's, and centuries after the one before. */
static void threads(void)
{
    one_frame();
    stack(1, 0, 1);
    end_definitions();
    step_ns = UINT64_C(1) << 40;
    for (thread = 1; thread <= 1000000; thread++)
        event(thread & 1 ? MT_ALLOC : MT_FREE, 1, 4096, 512);
    thread = 1;
    step_ns = 1000;
}

static bool is_requested(int n, char **wanted, const char *file)
{
    bool is_named = n < 2;
    for (int i = 1; i < n; i++)
        is_named = is_named || !strncmp(file, wanted[i], strcspn(file, "."));
    return is_named;
}

int main(int n, char **wanted)
{
    static const struct {
        const char *name;
        void (*make)(void);
    } bombs[] = {
        {"deep.mtap", deep},       {"live.mtap", live},           {"ids.mtap", ids},
        {"names.mtap", names},     {"keys.mtap", keys},           {"shared.mtap", shared},
        {"chain.mtap", chain},     {"meeting.mtap", meeting},     {"modules.mtap", modules},
        {"ranges.mtap", ranges},   {"recursion.mtap", recursion}, {"pairs.mtap", pairs},
        {"asked.mtap", requested}, {"turns.mtap", turns},         {"threads.mtap", threads}};
    for (size_t i = 0; i < sizeof bombs / sizeof *bombs; i++) {
        unsigned char header[MT_FILE_HEADER_SIZE];
        struct mt_end end = {0};
        if (!is_requested(n, wanted, bombs[i].name))
            continue;
        out = fopen(bombs[i].name, "wb");
        encoder = mt_encoder_create(1);
        if (!out || !encoder)
            return 1;
        mt_encode_file_header(header, 4711 + i, 0);
        mt_encoder_begin(encoder, 4711 + i);
        need(mt_write_bytes(out, header, sizeof header));
        time_ns = 0;
        bombs[i].make();
        end_definitions();
        end.time_ns = time_ns;
        need(mt_write_end(out, encoder, &end));
        mt_encoder_destroy(encoder);
        if (fclose(out))
            return 1;
    }
    return 0;
}
