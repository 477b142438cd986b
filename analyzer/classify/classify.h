/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From evidence to a category: one table of named rules, the strongest first. A block that no rule
 * knows is `other`.
 */
#ifndef MT_CLASSIFY_H
#define MT_CLASSIFY_H

#include <stdbool.h>
#include <stdio.h>

#include "analyzer/model/equal-sets.h"
#include "analyzer/model/heap.h"
#include "analyzer/support/categories.h"
#include "analyzer/trace/definitions.h"
#include "user-rules.h"

/* Facts for the rules besides the block. */
struct mt_rule_context {
    const struct mt_definitions *definitions;
    const struct mt_tracker *tracker; /* NULL: none */
    bool saw_parameters;              /* the trace labels parameters, */
    bool saw_gradients;               /* gradients, */
    bool saw_stepped;                 /* and tensors that optimizers update */
    bool saw_steps;                   /* an optimizer of PyTorch's kind ran */
    bool lacks_parameters;            /* no other rule finds parameters at the moment */
    bool lacks_gradients;             /* backward keeps none: their memory is older */
    uint64_t parameter_bytes;         /* of all parameters, of the trained ones if any is known */
    uint64_t first_flat;              /* number of the first block as large as these; 0: none */
    bool trains_copies;               /* no optimizer updates a trained parameter of a module */
    bool is_distributed;              /* DDP or FSDP made a live block */
    uint32_t first_apply_line;        /* of Module._apply: moves parameters; 0: not seen */
    const struct mt_equal_sets *gradients; /* sizes of gradients, by lifetimes */
    struct mt_equal_sets copies;
    const struct mt_user_rules *user; /* NULL: none */
    struct mt_rule_memo *memo;        /* theirs; NULL: none */
};

enum mt_certainty {
    MT_CERTAIN, /* PyTorch labelled it */
    MT_LIKELY,  /* its place in the program shows it, or its use */
    MT_GUESS,   /* its lifetime or its size */
    MT_CERTAINTIES
};

struct mt_rule {
    const char *name; /* the reason in a few words: "kept as a leaf's gradient" */
    enum mt_category category;
    enum mt_certainty certainty;
    int (*holds)(const struct mt_rule_context *context, const struct mt_block *block);
};

extern const struct mt_rule mt_rules[];
extern const size_t mt_n_rules; /* the last one holds for every block */

/* Count the user's rules and then mt_rules, as one list. */
size_t mt_rules_count(const struct mt_user_rules *user);
const struct mt_rule *mt_rule_at(const struct mt_user_rules *user, size_t index);
size_t mt_rule_index(const struct mt_user_rules *user, const struct mt_rule *rule);
int mt_rule_holds(const struct mt_rule_context *context, size_t index,
                  const struct mt_block *block);

/* Return whether the rule finds copies of parameters, in higher precision, that an optimizer
 * updates instead. */
bool mt_rule_is_master(const struct mt_rule *rule);

/* Return whether what the rule finds may be a copy of a parameter instead. */
bool mt_rule_lets_copy(const struct mt_rule *rule);

/* Return whether the block, which has ended, was made in backward and kept like gradients. */
bool mt_is_kept_by_backward(const struct mt_block *block);

/* Return the certainty of blocks together, from their bytes by certainty: the least, without what
 * is less than a hundredth of them. */
enum mt_certainty mt_least_certain(const uint64_t bytes[MT_CERTAINTIES]);

/* Return "certain", "likely", "guess". */
const char *mt_certainty_name(enum mt_certainty certainty);

/* Return the certainty of that name; MT_CERTAIN: there is none. */
enum mt_certainty mt_certainty_find(const char *name);

/* Return what stands before a category in tables: a space where it is certain. */
char mt_certainty_mark(enum mt_certainty certainty);

/* Return the same for a row of a table; *least becomes the least certain row. Begin with
 * MT_CERTAIN. */
char mt_certainty_row(enum mt_certainty *least, enum mt_certainty certainty);

/* Print below a table what its marks mean, unless all rows are certain. */
void mt_certainty_legend(FILE *out, const char *indent, enum mt_certainty least);

/* Return the first rule that holds; never NULL. */
const struct mt_rule *mt_classify(const struct mt_rule_context *context,
                                  const struct mt_block *block);

/* A block and the verdict on it. */
struct mt_verdict {
    const struct mt_block *block;
    const struct mt_rule *rule;
    uint32_t unused; /* bytes of the block that were not requested; 0: none, or not known */
};

/* Return how sure a block's category is; "other" claims nothing. */
static inline enum mt_certainty mt_certainty_of(const struct mt_rule *rule)
{
    return rule->category == MT_CATEGORY_OTHER ? MT_CERTAIN : rule->certainty;
}

static inline bool mt_rule_guesses(const struct mt_rule *rule)
{
    return mt_certainty_of(rule) == MT_GUESS;
}

/* Return the rule's name if it is a guess, else NULL. It lives as long as the program. */
static inline const char *mt_guess_of(const struct mt_verdict *verdict)
{
    return mt_rule_guesses(verdict->rule) ? verdict->rule->name : NULL;
}

/* Return the rule's name if it says which copy of what the block is, else NULL. */
static inline const char *mt_copy_of(const struct mt_verdict *verdict)
{
    return verdict->rule->category == MT_CATEGORY_COPIES ? verdict->rule->name : NULL;
}

/* Fill in the rules of all blocks of a device together: blocks are evidence for each other. 0 or
 * -ENOMEM. */
int mt_classify_all(struct mt_rule_context *context, struct mt_verdict *verdicts, size_t n);

/*
 * Allocations that are a library's own pool: XLA's and TensorFlow's take most of the card at their
 * start, ONNX Runtime's grows by pieces, and what lies in them makes no event. CUDA does not tell
 * them from large arrays.
 */

struct mt_foreign_pool {
    uint64_t bytes;      /* 0: none */
    size_t pieces;       /* allocations */
    const char *package; /* "jax" */
    const char *setting; /* variables, or an option, with values that show what lies in it */
    const char *place;   /* of the setting: "the environment" */
    const char *effect;  /* "each block": what the library then asks CUDA for */
};

/* Find it among the verdicts on CUDA's allocations: one of a library that has a pool, with at least
 * half of the bytes, unless the recording says that the setting was made; or all that a library has
 * made whose pool doubles. */
struct mt_foreign_pool mt_foreign_pool_find(const struct mt_definitions *definitions,
                                            const struct mt_verdict *verdicts, size_t n);

#endif
