/* SPDX-License-Identifier: Apache-2.0 */
/* Write definitions: the meanings of events' ids, threads, and facts about the run. */
#include "preload/host/message.h"
#include "preload/host/settings.h"
#include "writer-parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void define(const struct mt_definition *definition)
{
    int rc = mt_encoder_definition(mt_writer.encoder, definition);
    if (!rc && mt_writer.light)
        rc = mt_light_define(mt_writer.light, definition);
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
    if (mt_writer.n_threads == mt_writer.threads_capacity) {
        size_t capacity = 2 * mt_writer.n_threads + 16;
        struct mt_known_thread *threads = realloc(mt_writer.threads, capacity * sizeof *threads);
        if (!threads)
            return; /* it will lack a name */
        mt_writer.threads = threads;
        mt_writer.threads_capacity = capacity;
    }
    mt_writer.threads[mt_writer.n_threads++] = *thread;
}

void mt_writer_define_threads(void)
{
    for (size_t i = 0; i < mt_writer.n_threads; i++)
        define_thread(&mt_writer.threads[i]);
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
    if (!mt_intern_full(text + n, sizeof text - (size_t)n) || !strcmp(text, mt_writer.left_out))
        return;
    strcpy(mt_writer.left_out, text);
    mt_writer_define_info(NULL, text, strlen(text));
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
    while (mt_intern_read(&mt_writer.known, &definition))
        define(&definition);
    define_left_out();
    mt_writer.mark.journal = journal;
    mt_writer_end_block();
}
