/* SPDX-License-Identifier: Apache-2.0 */
/* Write definitions: the meanings of events' ids, threads, and facts about the run. */
#include "define.h"
#include "blocks.h"
#include "iterations.h"
#include "preload/host/message.h"
#include "preload/host/settings.h"
#include "source-loop.h"
#include "trace-format/meaning/marks.h"
#include "writer-state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void define(const struct mt_definition *definition)
{
    int rc = mt_encoder_definition(mt_writer.encoder, definition);
    if (!rc && mt_writer.selection)
        rc = mt_selection_define(mt_writer.selection, definition);
    mt_iterations_define(definition);
    if (rc)
        mt_writer_fail(rc);
    if (mt_encoder_full(mt_writer.encoder))
        mt_writer_end_block();
}

void mt_writer_define_info(void *unused, const char *text, size_t size)
{
    (void)unused;
    define(&(struct mt_definition){.kind = MT_DEF_INFO, .text = text, .text_size = size});
}

void mt_writer_define_late_info(void *unused, const char *text, size_t size)
{
    mt_writer_define_info(unused, text, size);
    if (mt_settings.is_verbose)
        mt_message("%.*s", (int)size, text);
}

static void define_thread(const struct mt_known_thread *thread)
{
    define(&(struct mt_definition){.kind = MT_DEF_THREAD,
                                   .id = thread->id,
                                   .os_thread = thread->os_thread,
                                   .text = thread->name,
                                   .text_size = strnlen(thread->name, MT_THREAD_NAME_SIZE)});
}

/* Remember a thread, to define it in later segments too. */
static void remember_thread(const struct mt_known_thread *thread)
{
    if (mt_writer.defined.n_threads == mt_writer.defined.threads_capacity) {
        size_t capacity = 2 * mt_writer.defined.n_threads + 16;
        struct mt_known_thread *threads =
            realloc(mt_writer.defined.threads, capacity * sizeof *threads);
        if (!threads)
            return; /* it will lack a name */
        mt_writer.defined.threads = threads;
        mt_writer.defined.threads_capacity = capacity;
    }
    mt_writer.defined.threads[mt_writer.defined.n_threads++] = *thread;
}

static void meet_thread(const struct mt_thread *thread)
{
    struct mt_known_thread known = {thread->id, thread->os_thread, ""};
    memcpy(known.name, thread->name, sizeof known.name);
    define_thread(&known);
    if (mt_writer.live)
        remember_thread(&known);
}

/* Write, once for each kind of definition, that its table is full. */
static void define_left_out(void)
{
    char text[128];
    int n = snprintf(text, sizeof text, "left_out=");
    if (!mt_intern_full(text + n, sizeof text - (size_t)n) ||
        !strcmp(text, mt_writer.defined.left_out))
        return;
    strcpy(mt_writer.defined.left_out, text);
    mt_writer_define_info(NULL, text, strlen(text));
}

#define LOOPS_MOST 4000u /* frames whose source is read, which takes a fraction of 1 ms each */

/* Write which loops a line of the program's own code is in, that no module runs, and what it does
 * more than once. */
static void define_loops(const struct mt_definition *frame)
{
    static char file[1024], function[256], text[32 * (MT_SOURCE_DEPTH + 1) + MT_SOURCE_TWICE];
    struct mt_source_facts line;
    size_t size, function_size;
    const char *path = mt_intern_text(frame->frame.file, &size),
               *name = mt_intern_text(frame->frame.function, &function_size);
    if (!size || *path != '/' || size >= sizeof file || !frame->frame.line ||
        mt_writer.defined.n_loops == LOOPS_MOST)
        return;
    snprintf(file, sizeof file, "%.*s", (int)size, path);
    snprintf(function, sizeof function, "%.*s", (int)function_size, name);
    if (mt_frame_marks(function, file) & MT_MARK_FRAMEWORK)
        return;
    mt_writer.defined.n_loops++;
    mt_loop_describe_line(file, frame->frame.line, &line);
    if (!line.is_known)
        return;
    int used = snprintf(text, sizeof text, MT_LOOP_INFO "%u=", frame->id);
    for (unsigned i = 0; i < line.n_loops; i++)
        used +=
            snprintf(text + used, sizeof text - (size_t)used, "%s%u", i ? "," : "", line.loops[i]);
    if (*line.twice)
        used += snprintf(text + used, sizeof text - (size_t)used, ";%s", line.twice);
    mt_writer_define_info(NULL, text, (size_t)used);
}

/* Define what is new: definitions are published before the events that use them. */
void mt_writer_define(void)
{
    struct mt_definition definition;
    uint64_t journal = mt_tail_journal(); /* mt_intern_read below finds all of it */
    mt_writer.info->collect_changes(mt_writer_define_info, NULL);
    for (size_t i = 0; i < mt_writer.order.n; i++) {
        const struct mt_thread *thread = mt_writer.order.source[i].thread;
        if (thread->id > mt_writer.mark.threads) {
            meet_thread(thread);
            mt_writer.mark.threads = thread->id;
        }
    }
    while (mt_intern_read(&mt_writer.defined.known, &definition)) {
        define(&definition);
        if (definition.kind == MT_DEF_FRAME)
            define_loops(&definition);
    }
    define_left_out();
    mt_writer.mark.journal = journal;
    mt_writer_end_block();
}

void mt_writer_define_again(void)
{
    for (size_t i = 0; i < mt_writer.defined.n_threads; i++)
        define_thread(&mt_writer.defined.threads[i]);
    memset(&mt_writer.defined.known, 0, sizeof mt_writer.defined.known);
    mt_writer.defined.n_loops = 0;
    *mt_writer.defined.left_out = '\0';
    mt_writer_define();
}
