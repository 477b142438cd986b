/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The words for holders. They contain foreign text: names of the program's own variables, classes
 * and files. Show them through mt_safe_text.
 */
#ifndef MT_HOLDER_WORDS_H
#define MT_HOLDER_WORDS_H

#include "analyzer/support/text.h"
#include "holder-tree.h"

#define MT_HOLDER_TEXT 1024

/* Return the name of a root for programs: "local", "garbage"; "unknown" for a later version's. */
const char *mt_holder_root_name(uint64_t root);

/* Return what comes before a path with this root in a sentence: "held by", "garbage:", "lost:". */
const char *mt_holder_verb(uint64_t root);

/* Return whether nothing but a reference cycle holds what has this root. */
static inline bool mt_holder_is_garbage(uint64_t root)
{
    return root == MT_HOLDER_GARBAGE || root == MT_HOLDER_CYCLE;
}

/* Return when a list was made: "out of memory", "growth", "end", "requested"; for people "memory
 * ran out", "growth was noticed", "the program ended", "it was requested". */
const char *mt_holders_moment_name(uint64_t moment);
const char *mt_holders_moment_words(uint64_t moment);

/* Return why a list may lack holders, to follow "the list is incomplete: "; NULL: it is complete.
 */
const char *mt_holders_result_words(uint64_t result);
const char *mt_holders_result_name(uint64_t result);

/* Append a step of a path, with C++ names as the program has them. */
void mt_holder_put_step(char *out, size_t size, const char *step, size_t n);

/* Write a step as the program has it: "[0..19]" for indices. Return out. */
char *mt_holder_step_text(char *out, size_t size, const struct mt_holder_step *step);

/* Write the steps from one to a later one below it: "global `losses` of module train ->
 * [0..19].grad_fn". Return out. */
char *mt_holder_run_text(char *out, size_t size, const struct mt_holder_tree *tree, size_t first,
                         size_t last);

/* Write a holder's whole path in the same way. Return out. */
char *mt_holder_path_text(char *out, size_t size, const char *path);

/* Write ", by a view of 64.00 KiB", or ", by views of 128.00 KiB" in all; "" if not all of n blocks
 * are held by views of a part of them. Return out. */
#define MT_VIEWS_TEXT (MT_SIZE_TEXT + 16)
char *mt_holder_views_text(char out[MT_VIEWS_TEXT], uint64_t n, uint64_t n_views, uint64_t views);

/* What holds most of some blocks. */
struct mt_held_most {
    char *path; /* mt_holder_run_text; NULL: nothing is known to hold them */
    uint32_t root;
    uint64_t bytes, blocks;  /* that are reached by it */
    uint64_t n_views, views; /* as of a step */
    /* Of the lists that have these blocks: the times of the first and the last, and the last one's
     * moment. is_then: each was made while all the memory of the moment was live. is_later: one was
     * made after some of that was freed. */
    uint64_t first_ns, last_ns;
    uint32_t moment;
    bool has_list, is_then, is_later;
};

/* Find what holds most of a tree's blocks. 0 or -ENOMEM. Call mt_held_most_clear in any case. */
int mt_held_most_find(struct mt_held_most *most, const struct mt_holder_tree *tree);

/* Find what is held by roots of a sort: the bytes that no other path leads to, the blocks of all of
 * them, and the path with most. Likewise. */
int mt_held_most_of_root(struct mt_held_most *most, const struct mt_holder_tree *tree,
                         uint32_t root);
void mt_held_most_clear(struct mt_held_most *most);

/* Write "held by ROOT -> STEPS" and the views, after "20 blocks " if they are several, and after
 * "384.00 MiB in 20 blocks " if these are not so many bytes; "" where path is NULL. Return out. */
char *mt_held_most_text(char *out, size_t size, const struct mt_held_most *most, uint64_t bytes);

/* Write "when growth was noticed", of several lists "between 1.204 s and 3.511 s". Return out. */
#define MT_HELD_WHEN_TEXT (2 * MT_SIZE_TEXT + 64)
char *mt_held_when_text(char out[MT_HELD_WHEN_TEXT], const struct mt_held_most *most);

#endif
