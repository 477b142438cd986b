/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/print/json.h"
#include "analyzer/support/text.h"
#include "analyzer/trace/ended.h"
#include "commands.h"
#include "tools/memtap/input/trace-arguments.h"
#include "tools/memtap/terminal/command.h"
#include "trace-format/cuda-apis.h"
#include "trace-format/dtypes.h"
#include "trace-format/reader.h"
#include "trace-format/varint.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct dump {
    enum mt_format format;
    struct mt_style style;
};

static const char *definition_name(enum mt_definition_kind kind)
{
    static const char *const names[] = {"?",      "string", "frame",  "stack",
                                        "thread", "info",   "module", "native_frame",
                                        "symbol", "call",   "summary"};
    return names[kind < MT_DEF_LIMIT ? kind : 0];
}

/* Copy a text: definitions' texts are not terminated. */
static char *copy_text(const struct mt_definition *definition)
{
    return strndup(definition->text_size ? definition->text : "", definition->text_size);
}

/* A definition's fields besides its id and its text. */
struct fields {
    unsigned n;
    struct {
        const char *name;
        uint64_t value;
    } field[5];
    bool has_text;
};

static struct fields fields_of(const struct mt_definition *d)
{
    switch (d->kind) {
    case MT_DEF_FRAME:
    case MT_DEF_SYMBOL:
        return (struct fields){
            3,
            {{"function", d->frame.function}, {"file", d->frame.file}, {"line", d->frame.line}},
            0};
    case MT_DEF_CALL:
        return (struct fields){5,
                               {{"function", d->frame.function},
                                {"file", d->frame.file},
                                {"line", d->frame.line},
                                {"root", d->frame.root},
                                {"path", d->frame.path}},
                               0};
    case MT_DEF_STACK:
        return (struct fields){2, {{"parent", d->stack.parent}, {"frame", d->stack.frame}}, 0};
    case MT_DEF_THREAD:
        return (struct fields){1, {{"os_thread", d->os_thread}}, 1};
    case MT_DEF_IMAGE:
        return (struct fields){2, {{"build_id", d->image.build_id}, {"path", d->image.path}}, 0};
    case MT_DEF_NATIVE:
        return (struct fields){2, {{"module", d->native.image}, {"address", d->native.address}}, 0};
    case MT_DEF_STRING:
    case MT_DEF_INFO:
    case MT_DEF_SUMMARY:
    case MT_DEF_LIMIT:
        break;
    }
    return (struct fields){.has_text = 1};
}

static struct mt_cursor numbers_of(const struct mt_definition *summary)
{
    const unsigned char *bytes = (const unsigned char *)summary->text;
    return (struct mt_cursor){bytes, bytes + summary->text_size};
}

static bool is_address(const char *field)
{
    static const char *const addresses[] = {"address", "node", "handle", "stream",
                                            "to",      "from", "leaf",   "parameter"};
    for (size_t i = 0; i < sizeof addresses / sizeof *addresses; i++)
        if (!strcmp(field, addresses[i]))
            return true;
    return false;
}

/* Return a number's name, for fields with names; NULL for others, and for unknown numbers. */
static const char *name_of(const char *field, uint64_t value)
{
    const char *name = !strcmp(field, "api")     ? mt_cuda_api_name(value)
                       : !strcmp(field, "dtype") ? mt_dtype_name(value)
                                                 : NULL;
    return name && value && !strcmp(name, "?") ? NULL : name;
}

static void print_field(const char *name, uint64_t value)
{
    const char *text = name_of(name, value);
    if (text)
        printf(" %s=%s", name, text);
    else
        printf(is_address(name) ? " %s=0x%" PRIx64 : " %s=%" PRIu64, name, value);
}

/* Print "summary worst device=0 2 87 ..." */
static int print_summary_text(const struct mt_definition *summary)
{
    struct mt_cursor cursor = numbers_of(summary);
    uint64_t coded;
    printf("summary %s device=%d", mt_summary_name(summary->id), (int)summary->device);
    while (!mt_cursor_get(&cursor, &coded))
        printf(" %" PRId64, (int64_t)mt_unzigzag(coded));
    putchar('\n');
    return 0;
}

static int print_definition_text(const struct dump *dump, const struct mt_definition *definition)
{
    if (definition->kind == MT_DEF_SUMMARY)
        return print_summary_text(definition);
    struct fields fields = fields_of(definition);
    char *text = copy_text(definition), *safe = malloc(definition->text_size * 3 + 1);
    if (!text || !safe) {
        free(text);
        free(safe);
        return -ENOMEM;
    }
    mt_safe_text(safe, definition->text_size * 3 + 1, text, 0, MT_CUT_END, &dump->style);
    printf("%s", definition_name(definition->kind));
    if (definition->kind != MT_DEF_INFO)
        printf(" %" PRIu32, definition->id);
    for (unsigned i = 0; i < fields.n; i++)
        print_field(fields.field[i].name, fields.field[i].value);
    if (fields.has_text)
        printf(" %s", safe);
    putchar('\n');
    free(text);
    free(safe);
    return 0;
}

/* Set a member. JSON readers have no integers over 2^63 - 1; the names of memory that is bound to
 * multicast objects are larger. */
static void set(json_t *object, const char *key, uint64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "0x%" PRIx64, value);
    json_object_set_new(object, key, value > INT64_MAX ? json_string(text) : mt_json_number(value));
}

static int print_summary_json(const struct mt_definition *summary)
{
    struct mt_cursor cursor = numbers_of(summary);
    uint64_t coded;
    json_t *numbers = json_array();
    while (!mt_cursor_get(&cursor, &coded))
        json_array_append_new(numbers, json_integer((json_int_t)mt_unzigzag(coded)));
    return mt_json_print(stdout,
                         json_pack("{s:s, s:s, s:i, s:o}", "record", "summary", "summary",
                                   mt_summary_name(summary->id), "device", (int)summary->device,
                                   "numbers", numbers),
                         1);
}

static int print_definition_json(const struct mt_definition *definition)
{
    if (definition->kind == MT_DEF_SUMMARY)
        return print_summary_json(definition);
    struct fields fields = fields_of(definition);
    json_t *object = json_pack("{s:s}", "record", definition_name(definition->kind));
    char *text = copy_text(definition);
    if (!text || !object) {
        free(text);
        json_decref(object);
        return -ENOMEM;
    }
    if (definition->kind != MT_DEF_INFO)
        set(object, "id", definition->id);
    for (unsigned i = 0; i < fields.n; i++)
        set(object, fields.field[i].name, fields.field[i].value);
    if (fields.has_text)
        json_object_set_new(object, "text", mt_json_text(text));
    free(text);
    return mt_json_print(stdout, object, 1);
}

static int print_event_text(const struct mt_event *event)
{
    const struct mt_kind_info *kind = &mt_kinds[event->kind];
    printf("%" PRIu64 ".%09" PRIu64 " thread=%" PRIu32 " device=%d stack=%" PRIu32 " %s",
           event->time_ns / 1000000000u, event->time_ns % 1000000000u, event->thread, event->device,
           event->stack, kind->name);
    for (unsigned i = 0; i < mt_kind_fields[event->kind]; i++)
        print_field(kind->field[i].name, event->arg[i]);
    putchar('\n');
    return 0;
}

static void set_field(json_t *object, const char *name, uint64_t value)
{
    const char *text = name_of(name, value);
    if (text)
        json_object_set_new(object, name, json_string(text));
    else
        set(object, name, value);
}

static int print_event_json(const struct mt_event *event)
{
    const struct mt_kind_info *kind = &mt_kinds[event->kind];
    json_t *object = json_pack("{s:s, s:o, s:I, s:i, s:I}", "record", kind->name, "time_ns",
                               mt_json_number(event->time_ns), "thread", (json_int_t)event->thread,
                               "device", (int)event->device, "stack", (json_int_t)event->stack);
    for (unsigned i = 0; i < mt_kind_fields[event->kind]; i++)
        set_field(object, kind->field[i].name, event->arg[i]);
    return mt_json_print(stdout, object, 1);
}

static int print_end(const struct dump *dump, const struct mt_end *end)
{
    if (dump->format == MT_FORMAT_JSON)
        return mt_json_print(stdout,
                             json_pack("{s:s, s:o, s:o, s:o}", "record", "end", "time_ns",
                                       mt_json_number(end->time_ns), "events",
                                       mt_json_number(end->events), "lost",
                                       mt_json_number(end->lost)),
                             1);
    printf("end time_ns=%" PRIu64 " events=%" PRIu64 " lost=%" PRIu64 "\n", end->time_ns,
           end->events, end->lost);
    return 0;
}

static int print_batch(const struct dump *dump, const struct mt_batch *batch)
{
    int rc = 0, json = dump->format == MT_FORMAT_JSON;
    for (size_t i = 0; !rc && i < batch->n_definitions; i++)
        rc = json ? print_definition_json(&batch->definitions[i])
                  : print_definition_text(dump, &batch->definitions[i]);
    for (size_t i = 0; !rc && i < batch->n_events; i++)
        rc = json ? print_event_json(&batch->events[i]) : print_event_text(&batch->events[i]);
    if (!rc && batch->type == MT_BATCH_END)
        rc = print_end(dump, &batch->end);
    return rc ? rc : ferror(stdout) ? -EIO : 0;
}

/* Print first how a run ended, if it is not complete. */
static int print_ended(const struct dump *dump, const char *path, struct mt_trace_error *error)
{
    char text[MT_ENDED_TEXT];
    struct mt_survey survey;
    int rc = mt_survey(path, &survey, NULL, error);
    struct mt_ended ended = mt_ended_of(&survey, error);
    if (rc || !mt_ended_is_reported(&ended))
        return rc;
    if (dump->format != MT_FORMAT_JSON)
        printf("ended how=%s %s\n", mt_ended_name(ended.how), mt_ended_text(text, &ended));
    else
        rc = mt_json_print(
            stdout, json_pack("{s:s, s:o}", "record", "ended", "ended", mt_json_ended(&ended)), 1);
    return rc;
}

static int print_trace(const struct dump *dump, const char *path, struct mt_trace_error *error)
{
    struct mt_reader *reader;
    struct mt_batch batch;
    int rc = print_ended(dump, path, error);
    if (!rc)
        rc = mt_reader_open(&reader, path, error);
    if (rc)
        return rc;
    while (!rc && mt_reader_next(reader, &batch, error) > 0)
        rc = print_batch(dump, &batch);
    mt_reader_close(reader);
    return rc;
}

int mt_run_dump(const struct mt_command *command, int argc, char **argv)
{
    struct mt_trace_arguments arguments;
    struct mt_trace_error error = {0};
    if (mt_read_trace_arguments(command, argc, argv, MT_ONE_TRACE, &arguments))
        return MT_EXIT_BAD;
    struct dump dump = {arguments.format, mt_terminal_style()};
    int rc = print_trace(&dump, arguments.path, &error);
    bool is_of_output = rc == -EIO && !error.fault; /* mt_finish_output reports it */
    int code = (rc && !is_of_output) || error.fault
                   ? mt_fail_trace(mt_trace_name(&arguments), &error)
                   : MT_EXIT_OK;
    mt_trace_arguments_clear(&arguments);
    return code;
}
