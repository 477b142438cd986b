/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules written by users (memtap-rules(5)), which come before memtap's own.
 */
#ifndef MT_USER_RULES_H
#define MT_USER_RULES_H

#include "analyzer/model/heap.h"
#include "analyzer/support/by-id.h"
#include "analyzer/support/categories.h"
#include "analyzer/trace/definitions.h"

struct mt_rule;
struct mt_rule_context;
struct mt_user_rules;

/* A trace's results of each rule's frame conditions, by stack. Zeroed at first. */
struct mt_rule_memo {
    struct mt_by_id *by_rule; /* bytes */
    size_t n;
};
void mt_rule_memo_clear(struct mt_rule_memo *memo);

struct mt_rules_error {
    unsigned line, column; /* from 1; 0: the whole file */
    char text[200];        /* the error and its remedy */
};

/* Read a rules file and the custom categories in it. Return 0, or a negative errno with *error
 * filled. */
int mt_user_rules_read(struct mt_user_rules **out, const char *path, struct mt_rules_error *error);

/* Parse a text with its number of bytes. */
int mt_user_rules_parse(struct mt_user_rules **out, const char *text, size_t size,
                        struct mt_rules_error *error);
void mt_user_rules_destroy(struct mt_user_rules *rules);

/* Return the number of rules; 0 for NULL. */
size_t mt_user_rules_count(const struct mt_user_rules *rules);
const struct mt_rule *mt_user_rule(const struct mt_user_rules *rules, size_t index);
bool mt_user_rule_holds(const struct mt_user_rules *rules, size_t index,
                        const struct mt_rule_context *context, const struct mt_block *block);

#endif
