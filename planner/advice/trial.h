/* SPDX-License-Identifier: Apache-2.0 */
/* One replay up to the request that failed: is it served now? */
#ifndef MT_PLANNER_TRIAL_H
#define MT_PLANNER_TRIAL_H

#include "planner/allocator/model.h"
#include "planner/changes/edits.h"
#include "planner/requests/gather.h"
#include "planner/rest/rest.h"

/* The requests up to the one in question, which is the last. */
struct mt_trial {
    const struct mt_request *request;
    size_t n;
    struct mt_alloc_conf conf;
    struct mt_torch_release release;
    /* Whether a request failed in the recorded run, by its index; NULL: only the last did. */
    const bool *has_failed;
    /* The requests go on as modelled, with marks (planner/rest/cut.h); the one that failed stands
     * at this place if they are the program's own, and SIZE_MAX if they are edited. */
    bool has_streams; /* as in struct mt_allocator_card */
    bool is_cut;
    size_t failed;
};

struct mt_trial_result {
    bool fits; /* the last request is served, and every one before it that was served; where the
                * trial is cut, all that follow are, too */
    enum mt_reach reach; /* of a trial that is cut */
    bool diverges;    /* one that failed before it is served now: the program goes on otherwise */
    bool is_recorded; /* just those requests fail that failed in the recorded run */
    uint64_t peak_reserved, peak_allocated; /* bytes */
    uint64_t most_used; /* bytes of the card that were in use at once, all of it: PyTorch's and
                           others' */
};

/* Run the requests on a card of `total` bytes. 0 or -ENOMEM; -EINVAL: PyTorch could not have got
 * such requests. */
int mt_trial_run(const struct mt_trial *trial, uint64_t total, struct mt_trial_result *result);

/* Find the smallest card on which the last request is served and the program goes on as it did, to
 * within 2 MiB and from `total` up to double that; 0: none is. 0 or a negative errno. */
int mt_trial_card(const struct mt_trial *trial, uint64_t total, uint64_t *enough);

/* Create the requests of edited lifetimes, up to `event`: where neither a block's size nor its
 * lifetime is edited, the program's own request. *request is to be freed. 0 or -ENOMEM. */
int mt_trial_edited(const struct mt_requests *requests, const struct mt_edits *edits,
                    uint64_t event, struct mt_request **request, size_t *n);

#endif
