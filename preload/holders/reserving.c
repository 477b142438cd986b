/* SPDX-License-Identifier: Apache-2.0 */
#include "reserving.h"
#include "holders.h"
#include "layouts.h"
#include "preload/host/memory.h"
#include "preload/host/no-cancel.h"
#include "preload/host/read-file.h"
#include "preload/host/safe-read.h"
#include "preload/host/settings.h"
#include "preload/python/python-objects.h"
#include "preload/record/cache.h"
#include "preload/record/clock.h"
#include "preload/stacks/python-frames.h"
#include "preload/stacks/python-stack.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TURNS 3u                         /* after the first, in which a line requests memory ... */
#define LEAST_BYTES (UINT64_C(32) << 20) /* ... of this size */
#define SEARCHES 2u
#define FOLD 4u                            /* the second when so many times as much is requested */
#define PAUSE_NS_PER_GB UINT64_C(34000000) /* to copy page tables */
#define MOST_PAUSE_NS UINT64_C(250000000)
#define SHARE 64u /* of the processor's time so far, at most, is the pause by default */
#define PATHS 64u
#define PLACES 16u
#define MOST_VARIABLES 32u /* of a function */
#define MOST_GLOBALS 256u  /* of a module */

/* The lines that call, as far as the first constructor, module or optimizer. */
struct path {
    uint64_t variables, bytes; /* hash; requested since the first turn */
    uint32_t stack, turns;
};

MT_HOT bool mt_reserving_is_watched;

/* Variables of a frame. */
struct place {
    uint64_t address;
    unsigned n;
};

static bool is_by_name; /* in the settings: whatever it costs */
static _Atomic bool is_used;

static struct growth {
    struct place place[PLACES]; /* of the last request by Python, outermost first */
    unsigned n_places;
    struct path path[PATHS];   /* by stack */
    uint64_t bytes, at_search; /* requested so far, and at the last search */
    unsigned searches;
} *growth; /* NULL: nothing was requested yet */

void mt_reserving_start(bool has_python)
{
    const char *requested = getenv(mt_setting_table[MT_ID_holders].variable);
    is_by_name = requested && *requested;
    mt_reserving_is_watched = has_python && mt_settings.python_stacks &&
                              (mt_settings.holders_at & 1u << MT_HOLDERS_GROWTH) != 0;
}

/* Where the variables of a module's code are: in a dict, which has a version up to 3.13; from 3.14
 * on, the entries added last. */
static struct place place_of_globals(const struct mt_python_layout *layout, uint64_t dict)
{
    struct mt_py_dict entries;
    if (layout->minor < 14)
        return (struct place){dict + MT_DICT_VERSION, 1};
    if (mt_py_dict_open_alive(layout, dict, &entries) || entries.values)
        return (struct place){0};
    unsigned n = entries.n * entries.stride, most = MOST_GLOBALS * entries.stride;
    return (struct place){entries.entries + 8 * (uint64_t)(n > most ? n - most : 0),
                          n < most ? n : most};
}

/* Where a frame has its variables. */
static struct place place_of(const struct mt_python_layout *layout,
                             const struct mt_holder_layout *holding, uint64_t frame)
{
    int n = mt_py_int(mt_py_frame_code(layout, frame), holding->code_locals);
    if (n <= 0)
        return place_of_globals(layout, mt_py_word(frame, holding->frame_globals));
    return (struct place){frame + (uint64_t)layout->frame_locals,
                          n < (int)MOST_VARIABLES ? (unsigned)n : MOST_VARIABLES};
}

/* Return whether the frame is a constructor's: loops in it build a model. */
static bool is_constructor(const struct mt_python_layout *layout, uint64_t frame)
{
    static const char end[] = "__init__";
    char name[256];
    uint64_t str = mt_py_word(mt_py_frame_code(layout, frame), layout->code_name);
    size_t n = mt_py_utf8(layout, str, name, sizeof name), length = sizeof end - 1;
    return n >= length && !memcmp(name + n - length, end, length);
}

/* Note the variables of a thread's frames up to the first that is a constructor's, or runs for a
 * module or an optimizer. Return the stack that ends there; 0: there is none. */
static uint32_t find_variables(struct mt_thread *self)
{
    uint64_t unused;
    uint32_t stack = 0;
    const struct mt_python_layout *layout = mt_python_layout(&unused);
    const struct mt_holder_layout *holding = layout ? mt_holder_layout_of(layout->minor) : NULL;
    if (!holding || !mt_python_stack(self))
        return 0;
    growth->n_places = 0;
    for (unsigned i = 1; i <= self->frames.n && !self->frames.known[i].object; i++) {
        uint64_t frame = self->frames.words[i].frame;
        if (!mt_is_python_frame(layout, frame) || self->frames.known[i].is_hidden ||
            growth->n_places == PLACES)
            continue;
        if (is_constructor(layout, frame))
            break;
        growth->place[growth->n_places++] = place_of(layout, holding, frame);
        stack = self->frames.known[i].stack;
    }
    return stack;
}

/* Hash the variables. Frames may have ended since: then it is another hash, or the same always. */
static uint64_t hash_variables(void)
{
    uint64_t hash = 0, value[MOST_GLOBALS * 3];
    for (unsigned i = 0; i < growth->n_places; i++) {
        const struct place *place = &growth->place[i];
        if (mt_safe_read((const void *)(uintptr_t)place->address, value, place->n * sizeof *value))
            continue;
        for (unsigned k = 0; k < place->n; k++)
            hash = mt_mix(hash, value[k]);
    }
    return hash;
}

/* Note a request of these lines, or if they are unknown, of the backward pass's own thread, while
 * the one that called it waits. */
static bool note(uint32_t stack, uint64_t bytes)
{
    uint64_t variables = hash_variables();
    struct path *path = &growth->path[stack % PATHS];
    growth->bytes += bytes;
    if (path->stack != stack || !path->variables) {
        *path = (struct path){variables, 0, stack, 0};
        return false;
    }
    path->turns += path->variables != variables;
    path->bytes += path->turns ? bytes : 0;
    path->variables = variables;
    return path->turns >= TURNS && path->bytes >= LEAST_BYTES &&
           growth->bytes >= FOLD * growth->at_search;
}

bool mt_reserving_note(struct mt_thread *self, uint64_t bytes)
{
    bool is_growing = false;
    if (atomic_exchange(&is_used, true))
        return false;
    if (growth || (growth = mt_map(sizeof *growth)))
        is_growing = note(find_variables(self), bytes);
    atomic_store(&is_used, false);
    return is_growing;
}

/* Return whether the search stops the thread for a short time, judging by the process's memory. */
static bool is_short(void)
{
    char text[128];
    unsigned long long resident = 0, shared = 0;
    mt_read_file("/proc/self/statm", text, sizeof text);
    if (sscanf(text, "%*u %llu %llu", &resident, &shared) != 2 || shared > resident)
        return false;
    uint64_t mib = (resident - shared) * (uint64_t)sysconf(_SC_PAGESIZE) >> 20;
    uint64_t ns = mib * PAUSE_NS_PER_GB >> 10;
    return ns <= MOST_PAUSE_NS && ns * SHARE <= mt_clock(CLOCK_PROCESS_CPUTIME_ID);
}

void mt_reserving_search(void)
{
    MT_NO_CANCEL();
    int saved = errno;
    if ((is_by_name || is_short()) && !atomic_exchange(&is_used, true)) {
        growth->at_search = growth->bytes;
        memset(growth->path, 0, sizeof growth->path);
        mt_reserving_is_watched = ++growth->searches < SEARCHES;
        atomic_store(&is_used, false);
        mt_holders_search(MT_HOLDERS_GROWTH);
    }
    errno = saved;
}

void mt_reserving_reset(void)
{
    mt_unmap(growth, sizeof *growth);
    growth = NULL;
    is_used = false;
    mt_reserving_is_watched = false;
}
