/* SPDX-License-Identifier: Apache-2.0 */
/* A file of rules through its parser. What is wrong in one must be told, with a place in the text;
 * what is read must answer for a block. */
#include "analyzer/classify/classify.h"
#include "analyzer/classify/tracker.h"
#include "target.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    const char *text = (const char *)bytes;
    struct mt_user_rules *rules;
    struct mt_rules_error error;
    struct mt_definitions *definitions = mt_definitions_create();
    struct mt_block block = {.birth = &mt_no_birth, .address = 4096, .size = 512};
    struct mt_tracker tracker = {0};
    struct mt_rule_context context = {.definitions = definitions, .tracker = &tracker};
    size_t lines = 1;
    for (size_t i = 0; i < size; i++)
        lines += text[i] == '\n';
    if (mt_user_rules_parse(&rules, text, size, &error)) {
        if (!*error.text || !error.line || error.line > lines || !error.column ||
            error.column > size + 1)
            abort();
    } else {
        for (size_t i = 0; i < mt_user_rules_count(rules); i++)
            mt_user_rule_holds(rules, i, &context, &block);
        mt_user_rules_destroy(rules);
    }
    mt_definitions_destroy(definitions);
    return 0;
}
