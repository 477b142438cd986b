/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that was live at the moment and not needed then, as the launches of kernels, copies and
 * fills show it. Known only if uses were recorded, and all work was seen.
 */
#ifndef MT_UNNEEDED_H
#define MT_UNNEEDED_H

#include "analyzer/holders/holder-words.h"
#include "analyzer/model/sums.h"
#include "analyzer/replay/replay.h"

struct mt_device;

enum mt_unneeded_kind {
    MT_UNNEEDED_NEVER,   /* never used */
    MT_UNNEEDED_WRITTEN, /* written by copies and fills, never read */
    MT_UNNEEDED_AFTER,   /* last used before the moment: freed late */
    MT_UNNEEDED_UNTIL,   /* first used after it, by another line: allocated early */
    MT_UNNEEDED_BETWEEN, /* within the longest time between two uses, by two lines: a
                          * quarter of an iteration or more */
    MT_UNNEEDED_PERHAPS, /* last used before the moment, but the run did not finish, so it is not
                          * known; does not count in bytes */
    MT_UNNEEDED_KINDS,
};

#define MT_UNNEEDED_HELD 3u

struct mt_unneeded {
    bool is_known, is_unseen; /* is_unseen: not all work was seen, so nothing is known */
    /* The run was cut at the moment or later: of what is live then, only what was used last before
     * a time is known not to be needed. */
    bool is_cut;
    uint64_t quiet_ns;
    uint64_t bytes;
    /* Apart, in bytes: last used before the peak, but by its own line and in its iteration, so that
     * no statement can come between; kernels may have used them by addresses in memory; the
     * recording ended before their uses were written. */
    uint64_t of_own_line, passed, unknown;
    uint64_t to_come; /* likewise: of the model, of its activations or not used yet, where the run
                       * did not finish: uses may have followed */
    /* Of what was last used before the moment: what could have held a block of equal size that was
     * first used later. By key: the lines of both allocations. */
    struct mt_sums shared;
    /* By key: the line of the allocation, that of the last use (of UNTIL the first; of BETWEEN the
     * last before the moment), whether that was in backward. Lines are stacks, 0: none. */
    struct mt_sums kind[MT_UNNEEDED_KINDS];
    struct mt_held_most held[MT_UNNEEDED_KINDS][MT_UNNEEDED_HELD]; /* of the first sums of AFTER and
                                                                    * of PERHAPS; else empty */
    uint8_t *of; /* by verdict of the device: its kind */
};

/* Return "never", "after", "until", "between", "perhaps". */
const char *mt_unneeded_name(enum mt_unneeded_kind kind);

/* Find it among a device's live blocks. Return 0 or -ENOMEM. Call mt_unneeded_clear in any case. */
int mt_unneeded_find(struct mt_unneeded *unneeded, const struct mt_replay *replay,
                     const struct mt_device *device);
void mt_unneeded_clear(struct mt_unneeded *unneeded);

/* Return the kind under which a live block of the device counts there; MT_UNNEEDED_KINDS: none. */
enum mt_unneeded_kind mt_unneeded_kind_of(const struct mt_device *device,
                                          const struct mt_block *block);

/*
 * The same at any moment.
 */

/* What of a device's run decides it. is_known: uses were recorded and all work was seen. */
struct mt_unneeded_run {
    bool is_known, is_cut; /* is_cut, quiet_ns: as above */
    uint64_t quiet_ns, least_pause_ns;
    const struct mt_definitions *definitions;
};
struct mt_unneeded_run mt_unneeded_run_of(const struct mt_replay *replay,
                                          const struct mt_spans *spans);

/* A time between two others in which a block is not needed if it is live; the use to name. */
struct mt_unneeded_time {
    enum mt_unneeded_kind kind;
    uint64_t from_ns, to_ns;
    const struct mt_use_point *use; /* NULL: none */
};
#define MT_UNNEEDED_TIMES 3u

/* Find a block's times by its uses and the stack of its allocation. Return their count. They count
 * at a moment unless its uses are not known up to then (known_ns), their address was passed, or
 * mt_unneeded_may_be_used; AFTER does not at an allocation by the line of the last use in the
 * block's own iteration. */
unsigned mt_unneeded_times(const struct mt_unneeded_run *run, const struct mt_block_uses *uses,
                           uint32_t stack, struct mt_unneeded_time out[MT_UNNEEDED_TIMES]);

/* Return whether uses could follow a time of this kind, since the run was cut. */
bool mt_unneeded_may_be_used(const struct mt_unneeded_run *run, enum mt_unneeded_kind kind,
                             const struct mt_block_uses *uses, uint64_t made_ns);

/* Return whether such blocks are judged: work uses workspaces without being recorded. */
bool mt_unneeded_is_judged(enum mt_category category, uint64_t evidence);

/* Return whether a block that an event allocated is of a moment's iteration; where none is counted,
 * of its span. span: that of the moment, of spans; or NULL. moment: an event. */
bool mt_unneeded_is_of_iteration(const struct mt_spans *spans, const struct mt_span *span,
                                 uint64_t event, uint64_t moment);

/* Return what is known of the uses of a live block of the device; NULL: nothing. */
const struct mt_block_uses *mt_device_uses(const struct mt_replay *replay,
                                           const struct mt_device *device,
                                           const struct mt_block *block);

#endif
