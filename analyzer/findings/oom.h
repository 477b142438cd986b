/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cause of the last out-of-memory in an analysis whose moment is MT_AT_OOM.
 */
#ifndef MT_OOM_H
#define MT_OOM_H

#include "analysis.h"
#include "handles.h"

#define MT_ADVICE_KEPT 10u
#define MT_ADVICE_MODULES 112u
#define MT_ADVICE_TEXT 480u
#define MT_ADVICE_CHANGE 128u
#define MT_ADVICE_SET 160u

/* A run grew until nothing was left where what it kept is more than this part of what is allocated,
 * and more than what is free. */
#define MT_GROWN_PART 8u

/* Return the stack that begins with the user's line: of the failed request, or else of the running
 * backward node's forward call; 0: neither is known. */
uint32_t mt_oom_line(const struct mt_definitions *definitions, const struct mt_oom *oom);

/* Return the forward line of the running node, if it differs; 0: none, or unknown. */
uint32_t mt_oom_forward_line(const struct mt_definitions *definitions, const struct mt_oom *oom);

/* Whether a replay served the request (planner/advice). */
enum mt_served { MT_SERVED_UNKNOWN, MT_SERVED_YES, MT_SERVED_NO };

/* How far the run comes: the request that failed is served; and what would have come after it too,
 * up to the end of this forward, of its backward, of the optimizer's step, which ends the
 * iteration. */
enum mt_reach {
    MT_REACH_NOTHING,
    MT_REACH_REQUEST,
    MT_REACH_FORWARD,
    MT_REACH_BACKWARD,
    MT_REACH_STEP,
    MT_REACH_NEXT, /* another forward and backward, with the state that the first step creates */
    MT_N_REACHES
};

/* "request", "forward" ...: for programs; "this request", "this forward" ...: for people. */
extern const char *const mt_reach_names[MT_N_REACHES];
extern const char *const mt_reach_words[MT_N_REACHES];

/* What the run would have gone on to ask for, as far as it could be modelled
 * (planner/changes/rest.h). */
struct mt_oom_rest {
    enum mt_reach known; /* NOTHING: no replay; REQUEST: what follows could not be modelled */
    size_t layers,
        seen; /* equal layers, and those whose forward was whole; 0: it is not of layers */
    uint64_t state,
        passing;     /* bytes that the optimizer's first step still asks for: kept; while it runs */
    bool is_in_step; /* memory ran out in that step */
    bool evaluates;  /* it ran out in a forward whose line has had no backward, and others have */
    bool supposes_adam; /* no step was seen */
    bool is_first;      /* a first forward or backward, before any step, whose rest is not known */
    struct mt_handles_to_come handles; /* of the backward that is modelled */
    uint64_t
        more, /* bytes more of the card that serve all of it; 0: unknown, or the card has them */
        of_backward; /* the same up to the end of backward, where the optimizer is supposed */
};

struct mt_advice {
    char what[MT_ADVICE_TEXT];
    char change[MT_ADVICE_CHANGE]; /* its name for programs: "batch:1/2", or of a setting "set" */
    char set[MT_ADVICE_SET]; /* a setting of PyTorch's allocator; "": the program is to change */
    char modules[MT_ADVICE_MODULES]; /* to checkpoint, as memtap-plan(1) names them; "": none */
    uint64_t bytes;                  /* less at that moment, at most; 0: unknown */
    enum mt_served served;
    enum mt_reach reach;             /* on the card; what comes after the request is modelled */
    bool is_replayed;                /* the program's own requests; else modelled */
    double least_batch, about_batch; /* of a smaller batch: parts of this one that are the largest
                                      * that fits, in all cases and in the likeliest; 0: unknown */
};

/* The run with an advised setting, on a simulated card (memtap oom --try). */
struct mt_oom_tried {
    char set[MT_ADVICE_SET]; /* "": not tried */
    bool has_ended, is_full; /* it fitted; memory ran out again */
    bool repeats;            /* ended by memtap, as its iterations repeat */
    char place[400];         /* where it did: a sentence without its end */
};

struct mt_oom_story {
    const struct mt_oom *oom;
    const struct mt_device *device; /* never NULL */
    enum mt_pool pool;
    uint64_t segment;   /* bytes that PyTorch had to request from CUDA */
    uint64_t cached;    /* reserved - allocated */
    uint64_t usable;    /* the part that is not in private pools of graphs and MemPools, nor known
                         * to be in the pool for blocks of other sizes */
    uint64_t on_card;   /* bytes that PyTorch might have taken of it, besides its reserved ones; 0:
                         * none, unknown */
    uint64_t of_others; /* free for such blocks, but cached for another stream or pool */
    uint64_t empty;     /* of a library's request: what empty_cache() would have given back */
    uint64_t limit; /* the most that PyTorch might reserve, if it was that; 0: it was the card */
    enum mt_served without_limit; /* by replay */
    uint64_t missed_by;           /* missing bytes even if all usable ones counted; 0: none */
    bool would_fit_expandable;    /* a replay with expandable segments served the request */
    bool is_in_pieces;            /* all usable bytes would do, if they were one piece */
    bool is_of_others;            /* they do not, but would with those of others */
    struct mt_oom_rest rest;
    const struct mt_growth *kept; /* by earlier iterations, or of_forwards: by earlier forwards */
    bool of_forwards;
    uint64_t left;     /* bytes of that */
    uint64_t more;     /* bytes more of the card that serve it, by replay; 0: unknown */
    bool knows_pieces; /* the segments are in the trace */
    uint64_t fitting;  /* bytes in large enough pieces: of other streams or pools */
    struct mt_pins pins;
    struct mt_advice advice[MT_ADVICE_KEPT];
    size_t n_advice;
    struct mt_oom_tried tried;
    const char *variable;          /* of the environment: where a setting of the advice belongs */
    const struct mt_span *span;    /* the program's span */
    uint64_t this_most, last_most; /* the highest of this iteration and of the one before */
};

/* Return the words for a pattern of modules. */
const char *mt_modules_words(const char *pattern);

/* Explain the last out-of-memory. 0, -ENOENT: there was none, -ENOMEM. The story points into the
 * analysis. */
int mt_oom_explain(struct mt_oom_story *story, const struct mt_analysis *analysis);

#endif
