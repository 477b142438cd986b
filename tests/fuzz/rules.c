/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules [COUNT]: mutated files of rules through their parser. What is wrong in one must be told,
 * with a place in the text; what is read must answer for a block.
 */
#include "analyzer/classify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char seed[] = "# a comment\n"
                           "inputs \"by net.py\" file=*/net.py size=1KiB.. phase=forward\n"
                           "\n"
                           "workspace \"of addmm\" operator=Addmm* size=2MiB..3GiB device=0\n"
                           "other \"[x\" function=\"[a b#\" size=..7 # end\n";

static uint64_t state = 88172645463325252u;

static uint64_t any(uint64_t below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state % below;
}

static size_t mutate(char *text, size_t size)
{
    static const char likely[] = "\n\"= \t#*[]..0919KMGiBxyz";
    for (uint64_t n = 1 + any(6); n && size; n--) {
        size_t at = any(size), piece = 1 + any(size - at);
        if (!any(3)) {
            size -= piece; /* cut out */
            memmove(text + at, text + at + piece, size - at);
        } else {
            text[at] = any(4) ? likely[any(sizeof likely)] : (char)any(256);
        }
    }
    return size;
}

static void check(const char *text, size_t size)
{
    struct mt_user_rules *rules;
    struct mt_rules_error error;
    struct mt_definitions *definitions = mt_definitions_create();
    struct mt_block block = {.address = 4096, .size = 512};
    struct mt_ranges ranges = {0};
    struct mt_rule_context context = {.definitions = definitions, .ranges = &ranges};
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
}

int main(int argc, char **argv)
{
    unsigned long count = argc > 1 ? strtoul(argv[1], NULL, 10) : 10000;
    check(seed, sizeof seed - 1);
    for (unsigned long i = 0; i < count; i++) {
        size_t size = sizeof seed - 1;
        char *text = malloc(size); /* exactly as large: a byte too far is seen by a sanitizer */
        if (!text)
            return 1;
        memcpy(text, seed, size);
        size = mutate(text, size);
        check(text, size);
        free(text);
    }
    printf("%lu files of rules\n", count);
    return 0;
}
