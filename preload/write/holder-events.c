/* SPDX-License-Identifier: Apache-2.0 */
/* The answer of a search for holders, as events. */
#include "holder-events.h"
#include "preload/holders/holders.h"
#include "preload/host/message.h"
#include "preload/host/settings.h"
#include "writer-state.h"

/* What paths may use of the room for all strings (intern.h): other names need it, too. */
#define MOST_TEXT (3u << 19)
#define MOST_PATHS (1u << 14)

static struct mt_holders_found found;
static bool has_found;
static uint32_t newest, n_paths;
static uint64_t text_used;

static uint32_t intern(const struct mt_holders_row *holder)
{
    if (n_paths >= MOST_PATHS || text_used >= MOST_TEXT)
        return 0;
    uint32_t id = mt_intern_string(found.answer->text + holder->text_at, holder->text_size);
    if (id > newest) {
        newest = id;
        n_paths++;
        text_used += holder->text_size;
    }
    return id;
}

void mt_holder_events_take(void)
{
    has_found = mt_writer_is_open() && mt_holders_take(&found);
    if (!has_found || !found.answer)
        return;
    struct mt_holders_row *holder = found.answer->holder;
    bool is_locked = mt_intern_lock();
    for (uint32_t i = 0; i < found.answer->n; i++) {
        holder[i].path = is_locked ? intern(&holder[i]) : 0;
        if (!holder[i].path && !found.result)
            found.result = MT_HOLDERS_MEMORY;
    }
    if (is_locked)
        mt_intern_unlock();
}

void mt_holder_events_write(void (*write)(struct mt_event *events, size_t n, uint64_t kinds))
{
    if (!has_found)
        return;
    uint64_t begin_ns = found.begin_ns - mt_writer.start_ns;
    for (uint32_t i = 0; found.answer && i < found.answer->n; i++) {
        const struct mt_holders_row *holder = &found.answer->holder[i];
        write(&(struct mt_event){.time_ns = mt_writer.last_ns,
                                 .kind = MT_HOLDER,
                                 .device = (int16_t)holder->device,
                                 .HOLDER = {holder->address, holder->path, holder->root,
                                            holder->view}},
              1, 1ull << MT_HOLDER);
    }
    uint64_t age = mt_writer.last_ns > begin_ns ? mt_writer.last_ns - begin_ns : 0;
    write(&(struct mt_event){.time_ns = mt_writer.last_ns,
                             .kind = MT_HOLDERS,
                             .device = MT_NO_DEVICE,
                             .HOLDERS = {found.moment, found.result,
                                         found.answer ? found.answer->objects : 0, age}},
          1, 1ull << MT_HOLDERS);
    if (mt_settings.is_verbose && found.answer)
        mt_message("holders: %u blocks, %llu objects; the program waited %llu us for a child "
                   "process, which searched for %llu ms (CPU time: %llu ms)",
                   found.answer->n, (unsigned long long)found.answer->objects,
                   (unsigned long long)found.answer->pause_ns / 1000,
                   (unsigned long long)(found.answer->end_ns - found.begin_ns) / 1000000,
                   (unsigned long long)found.answer->cpu_ns / 1000000);
    mt_holders_give_back();
    has_found = false;
}
