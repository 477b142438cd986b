/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/support/write.h"
#include "records.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define LEVEL 3 /* zstd's */
#define YEAR_2000_NS (INT64_C(946684800) * 1000000000)

int mt_script_open(struct mt_script *script, FILE *out)
{
    *script = (struct mt_script){.out = out};
    script->definitions = mt_encoder_create(LEVEL);
    script->events = mt_encoder_create(LEVEL);
    if (!script->definitions || !script->events)
        return script->rc = -ENOMEM;
    return script->rc = mt_write_begin(out, script->definitions, script->events, &script->chain);
}

static void define(struct mt_script *script, const struct mt_definition *definition)
{
    if (!script->rc)
        script->rc = mt_write_definition(script->out, script->definitions, definition);
}

void mt_script_info(struct mt_script *script, const char *key, const char *value)
{
    char text[4096];
    snprintf(text, sizeof text, "%s=%s", key, value);
    define(script,
           &(struct mt_definition){.kind = MT_DEF_INFO, .text = text, .text_size = strlen(text)});
}

void mt_script_start(struct mt_script *script, int64_t unix_ns)
{
    char number[24];
    snprintf(number, sizeof number, "%" PRId64, unix_ns);
    if (unix_ns > YEAR_2000_NS)
        mt_script_info(script, "start_realtime_ns", number);
}

void mt_script_thread(struct mt_script *script, uint32_t id, const char *name)
{
    define(script, &(struct mt_definition){.kind = MT_DEF_THREAD,
                                           .id = id,
                                           .os_thread = id,
                                           .text = name,
                                           .text_size = strlen(name)});
}

/* Return the number for that key, which is new if it is *count + 1. */
static uint32_t number_of(struct mt_script *script, struct mt_address_map *map, uint64_t key,
                          uint32_t *count, bool *is_new)
{
    uint32_t id = mt_address_map_get(map, key);
    *is_new = !id;
    if (id || script->rc)
        return id;
    if (mt_address_map_put(map, key, *count + 1)) {
        script->rc = -ENOMEM;
        return 0;
    }
    return ++*count;
}

uint32_t mt_script_string(struct mt_script *script, uint32_t number, const char *text)
{
    bool is_new;
    uint32_t id =
        number_of(script, &script->string_of, (uint64_t)number + 1, &script->strings, &is_new);
    size_t size = strlen(text);
    if (is_new)
        define(script,
               &(struct mt_definition){.kind = MT_DEF_STRING,
                                       .id = id,
                                       .text = text,
                                       .text_size = size < MT_TEXT_LIMIT ? size : MT_TEXT_LIMIT});
    return id;
}

/* Return the number of a pair of texts, so that a frame has a 64-bit key. */
static uint32_t pair_of(struct mt_script *script, uint32_t function, uint32_t file)
{
    bool is_new;
    return number_of(script, &script->pair_of, (uint64_t)function << 32 | file, &script->pairs,
                     &is_new);
}

uint32_t mt_script_frame(struct mt_script *script, uint32_t function, uint32_t file, uint32_t line)
{
    bool is_new;
    uint64_t key = (uint64_t)pair_of(script, function, file) << 32 | line;
    uint32_t id = number_of(script, &script->frame_of, key, &script->frames, &is_new);
    if (is_new)
        define(script, &(struct mt_definition){
                           .kind = MT_DEF_FRAME,
                           .id = id,
                           .frame = {.function = function, .file = file, .line = line}});
    return id;
}

uint32_t mt_script_stack(struct mt_script *script, uint32_t parent, uint32_t frame)
{
    bool is_new;
    uint32_t id = number_of(script, &script->stack_of, (uint64_t)parent << 32 | frame,
                            &script->stacks, &is_new);
    if (is_new)
        define(script, &(struct mt_definition){.kind = MT_DEF_STACK,
                                               .id = id,
                                               .stack = {.parent = parent, .frame = frame}});
    return id;
}

void mt_script_event(struct mt_script *script, const struct mt_event *event)
{
    if (!script->has_events && !script->rc)
        script->rc = mt_write_block(script->out, script->definitions);
    script->has_events = true;
    if (!script->rc)
        script->rc = mt_write_event(script->out, script->events, event);
    script->end.events++;
    if (script->end.time_ns < event->time_ns)
        script->end.time_ns = event->time_ns;
}

int mt_script_end(struct mt_script *script)
{
    if (!script->has_events && !script->rc)
        script->rc = mt_write_block(script->out, script->definitions);
    if (!script->rc)
        script->rc = mt_write_block(script->out, script->events);
    if (!script->rc)
        script->rc = mt_write_end(script->out, script->definitions, &script->end);
    return script->rc;
}

void mt_script_close(struct mt_script *script)
{
    mt_encoder_destroy(script->definitions);
    mt_encoder_destroy(script->events);
    mt_address_map_clear(&script->string_of);
    mt_address_map_clear(&script->pair_of);
    mt_address_map_clear(&script->frame_of);
    mt_address_map_clear(&script->stack_of);
    memset(script, 0, sizeof *script);
}
