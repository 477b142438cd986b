/* SPDX-License-Identifier: Apache-2.0 */
#include "trace-builder.h"
#include "trace-format/encoder.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEVICES 4
#define LIVE 4096
#define SEGMENT (2u << 20)

struct mt_builder {
    struct mt_encoder *encoder;
    enum { NOTHING, DEFINITIONS, SUMMARIES, EVENTS } open;
    unsigned char *bytes;
    size_t size, room;
    uint32_t strings, images, frames, stacks;
    struct mt_event next; /* its device, thread, stack; time of the last event */
    uint64_t events, lost;
    uint64_t allocated[DEVICES], reserved[DEVICES];
    struct {
        uint64_t address, size;
    } live[LIVE];
};

static void must(int holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "trace-builder: %s\n", what);
    abort();
}

static void resize(struct mt_builder *b, size_t room)
{
    b->bytes = realloc(b->bytes, room);
    must(b->bytes != NULL, "out of memory");
    b->room = room;
}

static void append(struct mt_builder *b, const unsigned char *bytes, size_t size)
{
    if (b->size + size >= b->room)
        resize(b, 2 * (b->size + size) + 1);
    if (size)
        memcpy(b->bytes + b->size, bytes, size);
    b->size += size;
}

static void close_block(struct mt_builder *b)
{
    const unsigned char *bytes;
    size_t size;
    must(!mt_encoder_finish(b->encoder, &bytes, &size), "block");
    append(b, bytes, size);
    b->open = NOTHING;
}

struct mt_builder *mt_builder_create(void)
{
    unsigned char header[MT_FILE_HEADER_SIZE];
    struct mt_builder *b = calloc(1, sizeof *b);
    must(b != NULL, "out of memory");
    b->encoder = mt_encoder_create(1);
    must(b->encoder != NULL, "out of memory");
    b->next.thread = 1;
    mt_encode_file_header(header, MT_BUILDER_TRACE_ID, 0);
    mt_encoder_begin(b->encoder, MT_BUILDER_TRACE_ID);
    append(b, header, sizeof header);
    return b;
}

void mt_builder_destroy(struct mt_builder *b)
{
    mt_encoder_destroy(b->encoder);
    free(b->bytes);
    free(b);
}

const unsigned char *mt_builder_bytes(struct mt_builder *b, size_t *size)
{
    close_block(b);
    resize(b, b->size + 1); /* so that a sanitizer sees what is read beyond the end */
    *size = b->size;
    return b->bytes;
}

void mt_builder_write(struct mt_builder *b, const char *path)
{
    size_t size;
    const unsigned char *bytes = mt_builder_bytes(b, &size);
    FILE *file = fopen(path, "wb");
    must(file && fwrite(bytes, 1, size, file) == size && !fclose(file), path);
}

void mt_build_definition(struct mt_builder *b, const struct mt_definition *definition)
{
    int sort = definition->kind == MT_DEF_SUMMARY ? SUMMARIES : DEFINITIONS;
    if (b->open != NOTHING && (int)b->open != sort)
        close_block(b);
    must(!mt_encoder_definition(b->encoder, definition), "definition");
    b->open = sort;
}

void mt_build_raw(struct mt_builder *b, const struct mt_event *event)
{
    if (b->open == DEFINITIONS || b->open == SUMMARIES || mt_encoder_full(b->encoder))
        close_block(b);
    must(!mt_encoder_event(b->encoder, event), "event");
    b->open = EVENTS;
    b->events++;
    b->next.time_ns = event->time_ns;
}

void mt_build_info(struct mt_builder *b, const char *text)
{
    mt_build_definition(
        b, &(struct mt_definition){.kind = MT_DEF_INFO, .text = text, .text_size = strlen(text)});
}

uint32_t mt_build_string(struct mt_builder *b, const char *text)
{
    mt_build_definition(
        b, &(struct mt_definition){
               .kind = MT_DEF_STRING, .id = ++b->strings, .text = text, .text_size = strlen(text)});
    return b->strings;
}

/* "FILE:LINE FUNCTION"; the file may have no line. */
static void build_names(struct mt_builder *b, struct mt_definition frame, const char *text)
{
    char file[256];
    const char *space = strchr(text, ' ');
    must(space && (size_t)(space - text) < sizeof file, text);
    snprintf(file, sizeof file, "%.*s", (int)(space - text), text);
    char *colon = strrchr(file, ':');
    uint32_t line = colon ? (uint32_t)strtoul(colon + 1, NULL, 10) : 0;
    if (colon)
        *colon = '\0';
    frame.frame.file = mt_build_string(b, file);
    frame.frame.function = mt_build_string(b, space + 1);
    frame.frame.line = line;
    mt_build_definition(b, &frame);
}

/* "LIBRARY@ADDRESS" */
static void build_native(struct mt_builder *b, const char *text, const char *sign)
{
    char path[256];
    struct mt_definition image = {.kind = MT_DEF_IMAGE, .id = ++b->images};
    struct mt_definition frame = {.kind = MT_DEF_NATIVE, .id = ++b->frames};
    snprintf(path, sizeof path, "%.*s", (int)(sign - text), text);
    image.image.build_id = mt_build_string(b, "00112233");
    image.image.path = mt_build_string(b, path);
    mt_build_definition(b, &image);
    frame.native.image = image.id;
    frame.native.address = strtoull(sign + 1, NULL, 16);
    mt_build_definition(b, &frame);
}

/* "FILE:LINE FUNCTION|ROOT|PATH" */
static void build_call(struct mt_builder *b, const char *text, const char *bar)
{
    char plain[256], root[64];
    const char *path = strchr(bar + 1, '|');
    must(path && bar - text < 256 && path - bar < 64, text);
    snprintf(plain, sizeof plain, "%.*s", (int)(bar - text), text);
    snprintf(root, sizeof root, "%.*s", (int)(path - bar - 1), bar + 1);
    struct mt_definition call = {.kind = MT_DEF_CALL, .id = ++b->frames};
    call.frame.root = mt_build_string(b, root);
    call.frame.path = path[1] ? mt_build_string(b, path + 1) : 0;
    build_names(b, call, plain);
}

static uint32_t build_frame(struct mt_builder *b, const char *text)
{
    const char *sign = strchr(text, '@'), *bar = strchr(text, '|');
    if (sign)
        build_native(b, text, sign);
    else if (bar)
        build_call(b, text, bar);
    else
        build_names(b, (struct mt_definition){.kind = MT_DEF_FRAME, .id = ++b->frames}, text);
    return b->frames;
}

void mt_build_symbol(struct mt_builder *b, const char *text)
{
    build_names(b, (struct mt_definition){.kind = MT_DEF_SYMBOL, .id = b->frames}, text);
}

uint32_t mt_build_child(struct mt_builder *b, uint32_t parent, const char *text)
{
    struct mt_definition stack = {.kind = MT_DEF_STACK, .id = ++b->stacks};
    stack.stack.parent = parent;
    stack.stack.frame = build_frame(b, text);
    mt_build_definition(b, &stack);
    return stack.id;
}

uint32_t mt_build_stack(struct mt_builder *b, ...)
{
    va_list frames;
    uint32_t parent = 0;
    va_start(frames, b);
    for (const char *text; (text = va_arg(frames, const char *));)
        parent = mt_build_child(b, parent, text);
    va_end(frames);
    return parent;
}

void mt_build_on(struct mt_builder *b, int device, uint32_t thread, uint32_t stack)
{
    must(device < DEVICES, "device");
    b->next.device = (int16_t)device;
    b->next.thread = thread;
    b->next.stack = stack;
}

static void build(struct mt_builder *b, enum mt_kind kind, const uint64_t arg[MT_EVENT_ARGS])
{
    struct mt_event event = b->next;
    event.time_ns += 1000000;
    event.kind = (uint16_t)kind;
    memcpy(event.arg, arg, sizeof event.arg);
    mt_build_raw(b, &event);
}

static uint64_t *find_live(struct mt_builder *b, uint64_t address)
{
    for (unsigned i = 0; i < LIVE; i++)
        if (b->live[i].address == address)
            return &b->live[i].address;
    must(0, "no such block, or too many");
    return NULL;
}

void mt_build_alloc(struct mt_builder *b, uint64_t address, uint64_t size)
{
    int device = b->next.device < 0 ? 0 : b->next.device;
    uint64_t *slot = find_live(b, 0);
    slot[0] = address;
    slot[1] = size;
    b->allocated[device] += size;
    if (b->reserved[device] < b->allocated[device])
        b->reserved[device] = (b->allocated[device] + SEGMENT - 1) / SEGMENT * SEGMENT;
    build(b, MT_ALLOC, (uint64_t[]){address, size, b->allocated[device], b->reserved[device]});
}

void mt_build_free(struct mt_builder *b, uint64_t address)
{
    int device = b->next.device < 0 ? 0 : b->next.device;
    uint64_t *slot = find_live(b, address);
    uint64_t size = slot[1];
    slot[0] = 0;
    b->allocated[device] -= size;
    build(b, MT_FREE, (uint64_t[]){address, size, b->allocated[device], b->reserved[device]});
}

void mt_build_event(struct mt_builder *b, enum mt_kind kind, uint64_t arg0, uint64_t arg1,
                    uint64_t arg2)
{
    if (kind == MT_LOST)
        b->lost += arg0;
    build(b, kind, (uint64_t[]){arg0, arg1, arg2, 0});
}

void mt_build_event4(struct mt_builder *b, enum mt_kind kind, uint64_t arg0, uint64_t arg1,
                     uint64_t arg2, uint64_t arg3)
{
    build(b, kind, (uint64_t[]){arg0, arg1, arg2, arg3});
}

void mt_build_end(struct mt_builder *b)
{
    const unsigned char *bytes;
    size_t size;
    close_block(b);
    must(!mt_encoder_end(b->encoder,
                         &(struct mt_end){b->next.time_ns + 1000000, b->events, b->lost}, &bytes,
                         &size),
         "end");
    append(b, bytes, size);
}
