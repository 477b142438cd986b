/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The uses of device memory, in the field's words: C(enumerator, JSON name, label, 256-colour
 * number). Reports list categories of equal size in this order. Charts in
 * compact traces have it, too: so a new category comes last. The categories of a rules file or a
 * history follow memtap's own: a process has one list of them.
 */
#ifndef MT_CATEGORIES_H
#define MT_CATEGORIES_H

#include <stddef.h>

/* clang-format off */
#define MT_CATEGORIES(C)                                                                           \
    C(PARAMETERS, "parameters", "parameters", 33)                                                  \
    C(BUFFERS, "buffers", "buffers", 45)                                                           \
    C(GRADIENTS, "gradients", "gradients", 220)                                                    \
    C(OPTIMIZER_STATE, "optimizer_state", "optimizer state", 34)                                   \
    C(ACTIVATIONS, "activations", "activations", 208)                                              \
    C(INPUTS, "inputs", "inputs", 141)                                                             \
    C(TEMPORARIES, "temporaries", "temporaries", 160)                                              \
    C(WORKSPACE, "workspace", "workspace", 130)                                                    \
    C(COMMUNICATION, "communication", "communication", 37)                                         \
    C(RUNTIME, "runtime", "runtime", 244)                                                          \
    C(OTHER, "other", "other", 250)                                                                \
    C(KV_CACHE, "kv_cache", "kv cache", 71)                                                        \
    C(COPIES, "weight_copies", "weight copies", 110)                                               \
    C(PERSISTENT, "persistent", "persistent", 107)
/* clang-format on */

#define MT_MOST_USER_CATEGORIES 16
#define MT_CATEGORY_NAME 15 /* bytes of the longest name: columns of tables are as wide */

enum mt_category {
#define MT_CATEGORY_ENUM(id, name, label, colour) MT_CATEGORY_##id,
    MT_CATEGORIES(MT_CATEGORY_ENUM)
#undef MT_CATEGORY_ENUM
        MT_CATEGORY_COUNT, /* memtap's own; the user's first one */
    MT_CATEGORY_ROOM = MT_CATEGORY_COUNT + MT_MOST_USER_CATEGORIES /* for arrays by category */
};

struct mt_category_info {
    const char *name, *label;
    unsigned colour;
};

/* The number and the names of the categories. They change while one thread reads a command line or
 * a history, before any analysis. */
extern unsigned mt_n_categories;
extern struct mt_category_info mt_categories[MT_CATEGORY_ROOM];

/* Return how a sentence names a category: as its label, where that is a noun. */
const char *mt_category_noun(unsigned category);

/* Return all names with blanks between them. */
#define MT_CATEGORY_CHOICES (MT_CATEGORY_ROOM * (MT_CATEGORY_NAME + 1) + 1)
const char *mt_category_choices(char out[MT_CATEGORY_CHOICES]);

/* Return the category of this name or label; mt_n_categories: none. */
unsigned mt_category_find(const char *name, size_t size);

/* Add a user's category. 0 and *category (may be NULL); -EEXIST: memtap or the list has the name;
 * -EINVAL: an invalid name (valid: a small letter, then small letters, digits and _, at most
 * MT_CATEGORY_NAME); -ENOSPC: there are MT_MOST_USER_CATEGORIES. */
int mt_category_add(const char *name, size_t size, enum mt_category *category);

/* Forget the user's. */
void mt_categories_reset(void);

#endif
