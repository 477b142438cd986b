/* SPDX-License-Identifier: Apache-2.0 */
#include "alloc-conf.h"
#include "preload/host/no-signals.h"
#include "preload/record/intern.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

/* The last ones. */
static struct {
    atomic_flag is_busy;
    _Atomic bool is_pending;
    char text[MT_ALLOC_CONF_SIZE];
} latest = {.is_busy = ATOMIC_FLAG_INIT};

/* Record them, unless the text cannot be interned now: then they are recorded later. */
static void record(struct mt_thread *self)
{
    latest.is_pending = true;
    if (!mt_intern_lock())
        return;
    uint32_t name = mt_intern_string(latest.text, strlen(latest.text));
    mt_intern_unlock();
    latest.is_pending = false;
    mt_record(self, MT_ALLOC_CONF, MT_NO_DEVICE, 0, MT_ARGS(name));
}

void mt_alloc_conf_set(struct mt_thread *self, const char *text)
{
    MT_UNINTERRUPTED();
    if (strnlen(text, MT_ALLOC_CONF_SIZE) == MT_ALLOC_CONF_SIZE ||
        atomic_flag_test_and_set_explicit(&latest.is_busy, memory_order_acquire))
        return;
    snprintf(latest.text, sizeof latest.text, "%s", text);
    latest.is_pending = !self;
    if (self)
        record(self);
    atomic_flag_clear_explicit(&latest.is_busy, memory_order_release);
}

void mt_alloc_conf_record(struct mt_thread *self)
{
    if (!latest.is_pending)
        return;
    MT_UNINTERRUPTED();
    if (atomic_flag_test_and_set_explicit(&latest.is_busy, memory_order_acquire))
        return;
    if (latest.is_pending)
        record(self);
    atomic_flag_clear_explicit(&latest.is_busy, memory_order_release);
}

void mt_alloc_conf_reset(void)
{
    atomic_flag_clear(&latest.is_busy);
    latest.is_pending = latest.text[0];
}
