/* SPDX-License-Identifier: Apache-2.0 */
#include "calls.h"
#include "library.h"

#include <errno.h>
#include <stdio.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT mt_cupti_start_function memtap_cupti_start;
EXPORT mt_cupti_stop_function memtap_cupti_stop;

static struct mt_cupti_library library;
static struct mt_cupti_hearer hearer;
static void *subscriber;

static const struct {
    unsigned domain, number;
} wanted[] = {
#define WANTED(domain, name, number, api, form) {MT_CUPTI_##domain, number},
    MT_CUPTI_CALLS(WANTED)
    /* For a context that the runtime makes in a private way. */
    {MT_CUPTI_RESOURCE, MT_CUPTI_CONTEXT_CREATED},
    {MT_CUPTI_RESOURCE, MT_CUPTI_CONTEXT_DESTROYED},
    {MT_CUPTI_RESOURCE, MT_CUPTI_STREAM_CREATED},
    {MT_CUPTI_RESOURCE, MT_CUPTI_STREAM_DESTROYED},
    {MT_CUPTI_RESOURCE, MT_CUPTI_MODULE_LOADED},
};

/* Enable what this version knows: older ones do not know all numbers. */
static void enable(void)
{
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        library.enable(1, subscriber, wanted[i].domain, wanted[i].number);
}

int memtap_cupti_start(const struct mt_cupti_recorder *recorder, unsigned subscription,
                       char why[MT_CUPTI_STATUS])
{
    const char *text = NULL;
    if (mt_cupti_find(&library)) {
        snprintf(why, MT_CUPTI_STATUS,
                 "no libcupti.so.13 or .12 for this CUDA in its usual folders");
        return -ENOENT;
    }
    hearer = (struct mt_cupti_hearer){recorder, &library, subscription};
    unsigned result = library.subscribe(&subscriber, (void *)mt_cupti_hear, &hearer);
    if (!result) {
        enable();
        return 0;
    }
    library.text_of(result, &text);
    if (result == MT_CUPTI_IS_TAKEN)
        text = "another client is subscribed";
    snprintf(why, MT_CUPTI_STATUS, "%s (%u)", text ? text : "CUPTI refused", result);
    return -EBUSY;
}

void memtap_cupti_stop(void)
{
    library.unsubscribe(subscriber);
}
