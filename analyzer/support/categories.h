/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What device memory is used for, in the field's words: C(enumerator, JSON name, label, 256-colour
 * number). The order is the one in which reports list categories of equal size.
 */
#ifndef MT_CATEGORIES_H
#define MT_CATEGORIES_H

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
    C(OTHER, "other", "other", 250)
/* clang-format on */

enum mt_category {
#define MT_CATEGORY_ENUM(id, name, label, colour) MT_CATEGORY_##id,
    MT_CATEGORIES(MT_CATEGORY_ENUM)
#undef MT_CATEGORY_ENUM
        MT_CATEGORY_COUNT
};

struct mt_category_info {
    const char *name, *label;
    unsigned colour;
};

extern const struct mt_category_info mt_categories[MT_CATEGORY_COUNT];

#endif
