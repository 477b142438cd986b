/* SPDX-License-Identifier: Apache-2.0 */
/* What is special about some operators. */
#ifndef SIM_RULES_H
#define SIM_RULES_H

#include "core/values/known.h"
#include "core/values/values.h"
#include "replaced.h"

enum sim_rule {
    SIM_LEFT_ALONE = 1,   /* it computes nothing */
    SIM_EVERYWHERE = 2,   /* one kernel for all devices computes by itself */
    SIM_NOT_COMPUTED = 4, /* the host's kernel would do something else */
    SIM_COUNTS = 8,       /* the size of its results depends on values */
    SIM_ALONG = 262144,   /* of its second argument, a dimension */
    SIM_DECIDES = 2048,   /* its result is a boolean for the program */
    SIM_READS = 16,       /* it returns a value to the program */
    SIM_RANDOM = 32,      /* draws from a random number generator */
    SIM_FILLS = 64,       /* costs the host next to nothing */
    SIM_CLEARS = 4096,    /* the simulated device computes it itself, whatever the size */
    SIM_OVERWRITES = 128, /* does not read what it writes */
    SIM_CHOOSES = 256,    /* the maximum of unknown values: any element */
    SIM_COPIES = 512,
    SIM_CARRIES = 16384,  /* copies rows of bytes of any length, which may be pickled objects */
    SIM_DIVIDES = 65536,  /* an argument of 0 makes the result infinite */
    SIM_FINDS = 131072,   /* finds elements that are not zero */
    SIM_SEEKS = 4194304,  /* searches long rows with thrust, for something that exists */
    SIM_KEEPS = 32768,    /* its storage is a different one with the same content */
    SIM_AS_REALS = 8192,  /* the host's kernel does not accept integers */
    SIM_COMPARES = 1024,  /* compares with infinity, or with itself: unknown values are finite */
    SIM_BOUNDS = 1048576, /* compares with a number: numbers drawn around another are close to it */
    SIM_DRAWS = 2097152,  /* numbers around one */
    SIM_HOLDS = 8388608,  /* true where all its arguments are true; unknown ones count as true */
    SIM_JOINS = 524288,   /* false where all its arguments are false */
    SIM_LEASTS = 16777216,     /* the minimum of unknown values is well above 0 */
    SIM_ROUTES = 33554432,     /* counts a router's choices: also of large tensors, if known */
    SIM_LARGE = 67108864,      /* it does so now */
    SIM_INTEGERS = 134217728,  /* it computes more of them than of other values now */
    SIM_TALLIES = 268435456,   /* its results depend on how many chose what, not on which did */
    SIM_MATCHES = 536870912,   /* compares elements */
    SIM_IN_ORDER = 1073741824, /* its count depends on their order */
    SIM_ENDS = 2147483648, /* searches for the end of a text: one number; with SIM_TALLIES a few */
};

enum { SIM_MOST_DIMENSIONS = 8 };

struct sim_rule_state {
    bool settled;           /* the results are known though the arguments are not: */
    bool answer;            /* all of them this */
    bool guards;            /* replaces computed results too: they were computed from zeros */
    bool holds;             /* SIM_HOLDS: many elements are checked, or an operator checks them */
    bool is_made_up;        /* SIM_HOLDS: they are a mask of which some were made true */
    bool zero;              /* SIM_CLEARS */
    bool ends;              /* it searches choices for the end of a text */
    enum sim_known content; /* for a large copy: the state of its source, if known */
    enum sim_known kept;    /* SIM_KEEPS */
    int64_t choices;        /* SIM_CHOOSES: the number of things to choose from; else 0 */
    int64_t zeroed;         /* the choice that is known to be 0; -1 if none */
    int64_t picks;          /* choices for each row */
    int64_t found, among, sizes[SIM_MOST_DIMENSIONS]; /* nonzero of a tensor of these sizes */
};

unsigned sim_rules_of(const char *entry);
/* Return how sure the results are, if the least sure argument is `least`. */
enum sim_known sim_rule_gives(const struct sim_replaced *op, const struct sim_value *arguments,
                              enum sim_known least);
/* Return the dimension along which an operator counts. */
int64_t sim_rule_along(const struct sim_replaced *op, const struct sim_value *arguments);
void sim_rule_before(const struct sim_replaced *op, const struct sim_value *arguments,
                     struct sim_rule_state *rule, bool within);
/* Return how many of the unknown elements are reported as nonzero; 0: all of them. */
int64_t sim_rule_finds(const void *tensor, struct sim_rule_state *rule);
/* Apply a rule after a call. known: the results are computed from known values. */
void sim_rule_after(const struct sim_replaced *op, struct sim_value *results,
                    const struct sim_rule_state *rule, bool known);

#endif
