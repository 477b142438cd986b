/* SPDX-License-Identifier: Apache-2.0 */
#include "follow.h"
#include "analyzer/support/room.h"
#include "analyzer/trace/scan.h"
#include "trace-format/follow/follower.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define LOOK_EACH 16384u /* events between two checks of the machine's memory */

struct mt_follow {
    char *path;
    struct mt_question question;
    struct mt_follower *follower;
    struct mt_replay replay;
    struct mt_trace_error fault; /* where the trace becomes invalid */
    unsigned restarts;
};

int mt_follow_open(struct mt_follow **out, const char *path, const struct mt_question *question,
                   struct mt_trace_error *error)
{
    struct mt_follow *follow = calloc(1, sizeof *follow);
    *out = NULL;
    memset(error, 0, sizeof *error);
    if (!follow || !(follow->path = strdup(path))) {
        free(follow);
        return -ENOMEM;
    }
    follow->question = *question;
    int rc = mt_follower_open(&follow->follower, path, error);
    if (!rc)
        rc = mt_replay_begin(&follow->replay, path, question);
    if (rc)
        mt_follow_close(follow);
    else
        *out = follow;
    return rc;
}

/* Start over with the current contents of a recording that dropped the next events. */
static int begin_anew(struct mt_follow *follow, struct mt_trace_error *error)
{
    mt_follower_close(follow->follower);
    follow->follower = NULL;
    mt_replay_clear(&follow->replay);
    follow->restarts++;
    int rc = mt_replay_begin(&follow->replay, follow->path, &follow->question);
    return rc ? rc : mt_follower_open(&follow->follower, follow->path, error);
}

int mt_follow_poll(struct mt_follow *follow, size_t most, struct mt_trace_error *error)
{
    struct mt_batch batch;
    size_t n = 0;
    *error = follow->fault;
    if (follow->fault.fault)
        return -EINVAL;
    if (!follow->follower)
        return -ENOMEM;
    mt_room_input(follow->path);
    while (n < most) {
        int rc = mt_follower_next(follow->follower, &batch, error);
        if (rc == -ESTALE)
            rc = begin_anew(follow, error);
        else if (rc > 0)
            rc = mt_replay_batch(&follow->replay, &batch) ? -ENOMEM : 1;
        else if (!rc)
            break;
        if (rc < 0) {
            follow->fault = *error;
            return rc;
        }
        size_t before = n;
        n += rc ? batch.n_definitions ? LOOK_EACH : batch.n_events + 1 : 1;
        if (n / LOOK_EACH != before / LOOK_EACH && mt_room_is_full()) {
            mt_scan_describe_full(error, &batch);
            follow->fault = *error;
            return -ENOMEM;
        }
    }
    if (!follow->replay.survey.is_copy_of_such)
        follow->replay.survey.state = mt_follower_state(follow->follower);
    return n > 0;
}

struct mt_replay *mt_follow_replay(struct mt_follow *follow)
{
    return &follow->replay;
}

unsigned mt_follow_restarts(const struct mt_follow *follow)
{
    return follow->restarts;
}

bool mt_follow_is_over(const struct mt_follow *follow)
{
    return follow->fault.fault || !follow->follower || mt_follower_is_over(follow->follower);
}

bool mt_follow_is_live(const struct mt_follow *follow)
{
    return !mt_follow_is_over(follow) && mt_follower_state(follow->follower) == MT_TRACE_RUNNING;
}

struct mt_ended mt_follow_ended(const struct mt_follow *follow)
{
    return mt_ended_of(&follow->replay.survey, &follow->fault);
}

void mt_follow_close(struct mt_follow *follow)
{
    if (!follow)
        return;
    mt_replay_clear(&follow->replay);
    mt_follower_close(follow->follower);
    free(follow->path);
    free(follow);
}
