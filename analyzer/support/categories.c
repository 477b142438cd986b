/* SPDX-License-Identifier: Apache-2.0 */
#include "categories.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

/* Names with another meaning in reports, budgets and histories. */
static const char *const reserved_names[] = {"cached", "category", "every",
                                             "peak",   "reserved", "unseen"};

static const unsigned colours[] = {75, 205, 112, 180, 99, 51, 167, 149,
                                   69, 213, 73,  173, 61, 87, 131, 107};
_Static_assert(sizeof colours / sizeof *colours == MT_MOST_USER_CATEGORIES, "a colour for each");

static char names[MT_MOST_USER_CATEGORIES][MT_CATEGORY_NAME + 1];
static char labels[MT_MOST_USER_CATEGORIES][MT_CATEGORY_NAME + 1];

unsigned mt_n_categories = MT_CATEGORY_COUNT;
struct mt_category_info mt_categories[MT_CATEGORY_ROOM] = {
#define ROW(id, name, label, colour) {name, label, colour},
    MT_CATEGORIES(ROW)
#undef ROW
};

const char *mt_category_choices(char out[MT_CATEGORY_CHOICES])
{
    char *at = out;
    for (unsigned i = 0; i < mt_n_categories; i++)
        at = stpcpy(i ? stpcpy(at, " ") : at, mt_categories[i].name);
    return out;
}

const char *mt_category_noun(unsigned category)
{
    return category == MT_CATEGORY_PERSISTENT ? "persistent tensors"
                                              : mt_categories[category].label;
}

static bool is_word(const char *word, const char *name, size_t size)
{
    return strlen(word) == size && !memcmp(word, name, size);
}

unsigned mt_category_find(const char *name, size_t size)
{
    unsigned i = 0;
    while (i < mt_n_categories && !is_word(mt_categories[i].name, name, size) &&
           !is_word(mt_categories[i].label, name, size))
        i++;
    return i;
}

static bool is_name(const char *name, size_t size)
{
    if (!size || size > MT_CATEGORY_NAME || *name < 'a' || *name > 'z')
        return false;
    for (size_t i = 0; i < size; i++)
        if ((name[i] < 'a' || name[i] > 'z') && (name[i] < '0' || name[i] > '9') && name[i] != '_')
            return false;
    return true;
}

static bool is_reserved(const char *name, size_t size)
{
    for (size_t i = 0; i < sizeof reserved_names / sizeof *reserved_names; i++)
        if (strlen(reserved_names[i]) == size && !memcmp(reserved_names[i], name, size))
            return true;
    return mt_category_find(name, size) < mt_n_categories;
}

int mt_category_add(const char *name, size_t size, enum mt_category *category)
{
    unsigned own = mt_n_categories - MT_CATEGORY_COUNT;
    if (!is_name(name, size))
        return -EINVAL;
    if (is_reserved(name, size))
        return -EEXIST;
    if (own == MT_MOST_USER_CATEGORIES)
        return -ENOSPC;
    for (size_t i = 0; i < size; i++) {
        names[own][i] = name[i];
        labels[own][i] = name[i] == '_' ? ' ' : name[i];
    }
    names[own][size] = labels[own][size] = '\0';
    mt_categories[mt_n_categories] =
        (struct mt_category_info){names[own], labels[own], colours[own]};
    if (category)
        *category = (enum mt_category)mt_n_categories;
    mt_n_categories++;
    return 0;
}

void mt_categories_reset(void)
{
    mt_n_categories = MT_CATEGORY_COUNT;
}
