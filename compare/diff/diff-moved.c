/* SPDX-License-Identifier: Apache-2.0 */
/* A site gone at one line and a new one at another may be the same code, moved. */
#include "diff.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Return the similarity of a gone and a new site; 0: not the same. */
static double alike(const struct mt_diff_site *gone, const struct mt_diff_site *new)
{
    double a = (double)gone->bytes.old, b = (double)new->bytes.now;
    if (gone->category != new->category || strcmp(gone->operator_name, new->operator_name))
        return 0;
    double ratio = a < b ? a / b : b / a;
    if (ratio < 0.5)
        return 0;
    return ratio + (gone->blocks.old == new->blocks.now) +
           (!strcmp(gone->line->function, new->line->function) ? 1 : 0) +
           (gone->line->line == new->line->line ? 0.5 : 0);
}

static bool is_gone(const struct mt_diff_site *site)
{
    return site->bytes.old && !site->bytes.now && !site->allocations.now;
}

static bool is_new(const struct mt_diff_site *site)
{
    return site->bytes.now && !site->bytes.old && !site->allocations.old;
}

static struct mt_change join(struct mt_change gone, struct mt_change new)
{
    uint64_t spread = gone.spread > new.spread ? gone.spread : new.spread;
    uint64_t apart = new.now > gone.old ? new.now - gone.old : gone.old - new.now;
    return (struct mt_change){gone.old, new.now, spread, apart &&apart <= spread};
}

static void move(struct mt_diff_site *new, struct mt_diff_site *gone)
{
    new->was = gone->line;
    new->bytes = join(gone->bytes, new->bytes);
    new->blocks = join(gone->blocks, new->blocks);
    new->saved = join(gone->saved, new->saved);
    new->allocations = join(gone->allocations, new->allocations);
    new->most = join(gone->most, new->most);
    new->phases = join(gone->phases, new->phases);
    gone->line = NULL; /* to be left out */
}

/* Return the gone site most like a new one, or (of_gone false) the new one most like a gone one. */
static struct mt_diff_site *best_of(const struct mt_diff_device *device,
                                    const struct mt_diff_site *to, bool of_gone)
{
    struct mt_diff_site *best = NULL;
    double most = 0;
    if (!to->line || !(of_gone ? is_new(to) : is_gone(to)))
        return NULL;
    for (size_t i = 0; i < device->n_sites; i++) {
        struct mt_diff_site *site = &device->site[i];
        if (!site->line || !(of_gone ? is_gone(site) : is_new(site)))
            continue;
        double score = of_gone ? alike(site, to) : alike(to, site);
        if (score > most) {
            most = score;
            best = site;
        }
    }
    return best;
}

void mt_diff_pair_moved(struct mt_diff_device *device)
{
    size_t kept = 0;
    for (size_t i = 0; i < device->n_sites; i++) {
        struct mt_diff_site *new = &device->site[i], *best = best_of(device, new, true);
        while (best) { /* it may be more similar to another one */
            struct mt_diff_site *other = best_of(device, best, false);
            if (!other || alike(best, other) <= alike(best, new)) {
                move(new, best);
                break;
            }
            move(other, best);
            best = best_of(device, new, true);
        }
    }
    for (size_t i = 0; i < device->n_sites; i++)
        if (device->site[i].line)
            device->site[kept++] = device->site[i];
    device->n_sites = kept;
}
