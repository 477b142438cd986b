/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory left from iteration to iteration: the lines with blocks from several earlier iterations
 * that are live at the moment.
 */
#ifndef MT_GROWTH_H
#define MT_GROWTH_H

#include "analyzer/holders/holder-words.h"
#include "analyzer/loops/turns.h"
#include "analyzer/replay/replay.h"

struct mt_device;

struct mt_growth_site {
    uint32_t line;               /* the stack of one of them: mt_line_stack */
    enum mt_category category;   /* of all of them */
    enum mt_certainty certainty; /* of the category, for the block where it is least */
    uint32_t iterations;         /* that left blocks */
    uint32_t every; /* iterations from one that left blocks to the next; 0: not always the same */
    uint64_t bytes; /* of these blocks */
    struct mt_held_most held; /* what keeps most of them */
};

struct mt_growth {
    uint64_t per_iteration;      /* bytes; 0: nothing grows */
    struct mt_growth_site *site; /* the largest first */
    size_t n;
    uint32_t before;         /* iterations that may have left the sites' blocks; 0: unknown */
    bool is_likely;          /* there are few iterations: it may grow */
    uint64_t undecided;      /* bytes that the first of only two iterations left for the second, too
                              * few to tell; 0: none, or there are more iterations */
    uint32_t undecided_line; /* stack of the line that made the largest; 0: not known */
    /* Of an evaluation's loop, which lets go of it at its end: its turns; else NULL. */
    struct mt_turns *turns;
};

/* Find growth among a device's blocks at its moment of an iteration; of zeros. In an evaluation, it
 * is what its own turns leave behind for a backward that does not come. 0 or -ENOMEM. Call
 * mt_growth_clear in any case. */
int mt_growth_find(struct mt_growth *growth, const struct mt_device *device,
                   const struct mt_replay *replay);

/* Find in the same way what forwards left behind for later ones, with no backward in between, among
 * the blocks at a moment of a forward. Iterations are forwards then. Finds nothing unless they are
 * many more than ever ran before a backward: pipelines and recurrent networks train like that. */
int mt_growth_find_forwards(struct mt_growth *growth, const struct mt_device *device);

/* Find growth of page-locked host memory, by the iterations of the device (NULL: there is none). 0
 * or -ENOMEM. */
int mt_growth_find_host(struct mt_growth *growth, const struct mt_device *device,
                        const struct mt_replay *replay);
void mt_growth_clear(struct mt_growth *growth);

/* Return after how many iterations memory grows, and by how many bytes each time: in a loop around
 * that of the iterations (epochs), several. Else 1, and per_iteration. */
uint32_t mt_growth_rhythm(const struct mt_growth *growth, uint64_t *bytes);

/* Return whether a program may leave or replace such a block in each turn: it is not of the model.
 */
bool mt_may_pass(const struct mt_verdict *verdict);

/* Return the first site with a known line, or the largest; NULL: there is none. */
const struct mt_growth_site *mt_growth_main(const struct mt_growth *growth);

#endif
