/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Settings of PyTorch's allocator, and changes of the program, tried by replay on a card: are the
 * requests of a recorded run served then? Of all of them, or of those up to one that failed.
 */
#ifndef MT_PLANNER_JUDGE_H
#define MT_PLANNER_JUDGE_H

#include "analyzer/findings/oom.h"
#include "planner/changes/changes.h"
#include "planner/rest/cut.h"
#include "trial.h"

struct mt_judge {
    const struct mt_requests *requests;
    const struct mt_recording *recording;      /* NULL: changes are not to be judged */
    const struct mt_modelled_changes *changes; /* of it, modelled already; NULL: none */
    uint64_t peak;         /* of the recording, once it was needed; 0: not yet */
    struct mt_trial trial; /* as recorded, with the run's settings */
    uint64_t event;        /* the last one that the trial has */
    uint64_t card;         /* bytes */
    uint64_t live;         /* bytes at the peak: what a change's error is a part of */
    uint64_t unused; /* bytes that PyTorch's cache had to spare when memory ran out, else 0: other
                      * blocks may leave as many of them in pieces of no use */
    const struct mt_rest
        *rest;      /* what follows is modelled (planner/rest/cut.h); NULL: nothing is */
    bool is_exact;  /* with the run's settings the model does what the program did */
    size_t replays; /* made so far */
};

struct mt_judgement {
    enum mt_served served;
    enum mt_reach reach; /* with a rest: how far the run comes on any card that was tried */
    bool is_replayed;    /* the program's own requests; else modelled */
    bool has_bound;      /* of a change */
    unsigned error;      /* per thousand of the card that it holds within, as far as is known */
    struct mt_trial_result at; /* on the card itself, where `served` is not MT_SERVED_NO */
    const char *why_not;       /* why the change cannot be modelled; NULL: it is */
    uint64_t operators;        /* that are run again */
};

/* As a part of what was live as memory ran out: what a change does to the modelled rest of a run.
 * Of the peaks in evaluation/results/bounds.csv nine of ten were off by less. */
#define MT_CUT_ERROR 0.25

/* Set up what the trace's requests are judged with. 0; -ENOENT where the release is not known,
 * -EINVAL where it refuses the recorded settings. */
int mt_judge_settings(struct mt_judge *judge, const struct mt_definitions *definitions);

/* Let the judge's requests be the run's from here on: changes edit what follows, too. has_failed:
 * by request, room for all of the run's; its first ones are filled in. */
void mt_judge_cut(struct mt_judge *judge, const struct mt_cut_run *cut, bool *has_failed);

/* Judge a setting instead of the recorded ones. 0 or -ENOMEM. */
int mt_judge_setting(struct mt_judge *judge, const struct mt_alloc_conf *conf,
                     struct mt_judgement *judgement);

/* Judge a change by its name, with settings (NULL: the recorded ones). Every case that the trace
 * leaves open is tried: only what holds in all of them is known. 0, -ENOMEM; -EINVAL: no such
 * change. */
int mt_judge_change(struct mt_judge *judge, const char *name, const struct mt_alloc_conf *conf,
                    struct mt_judgement *judgement);

/* Return whether a change leaves the program's own requests, which the model replays. */
bool mt_judge_replays(const struct mt_judge *judge, const struct mt_modelled *change);

/* Replay the requests on a card without a limit, with a change ("": none): the most bytes that are
 * allocated. 0 or a negative errno. */
int mt_judge_peak(struct mt_judge *judge, const char *name, uint64_t *allocated);

/* Replay the requests on the card with a change: *fits, about all of them are served. Half of what
 * a modelled rest may be off by is counted; what is guessed holds. 0, -ENOMEM; -EINVAL: no such
 * change. */
int mt_judge_about(struct mt_judge *judge, const char *name, bool *fits);

/* Find the smallest card on which the requests are served with a change ("": none), from the
 * judge's card to 16 times that, to within 2 MiB; 0: none is. 0 or a negative errno. */
int mt_judge_card(struct mt_judge *judge, const char *name, const struct mt_alloc_conf *conf,
                  uint64_t *enough);

#endif
