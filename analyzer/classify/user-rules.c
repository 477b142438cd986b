/* SPDX-License-Identifier: Apache-2.0 */
#include "user-rules.h"
#include "analyzer/support/demangle.h"
#include "analyzer/support/glob.h"
#include "analyzer/support/grow.h"
#include "analyzer/support/guard.h"
#include "classify.h"
#include "trace-format/settings/nearest.h"
#include "trace-format/settings/size.h"
#include "tracker.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

#define TEXT_LIMIT (1u << 20)
#define MEMO_MOST (UINT64_C(16) << 20) /* bytes; rules beyond this are matched each time */

enum { UNKNOWN, FAILS, MEETS }; /* bits per stack and rule */

enum condition_kind {
    IS_FILE,
    IS_FUNCTION,
    IS_OPERATOR,
    IS_RANGE,
    IS_NAME,
    IS_PHASE,
    IS_SIZE,
    IS_DEVICE
};

#define CONDITION_CHOICES "file function operator range name phase size device"
static const char *const condition_names[] = {
    [IS_FILE] = "file",   [IS_FUNCTION] = "function", [IS_OPERATOR] = "operator",
    [IS_RANGE] = "range", [IS_NAME] = "name",         [IS_PHASE] = "phase",
    [IS_SIZE] = "size",   [IS_DEVICE] = "device"};
#define CONDITIONS (sizeof condition_names / sizeof *condition_names)

struct condition {
    enum condition_kind kind;
    char *pattern;        /* text conditions */
    uint64_t least, most; /* number conditions */
};

struct user_rule {
    struct mt_rule rule;
    char *name;
    struct condition *condition;
    size_t n, capacity;
};

struct mt_user_rules {
    struct user_rule *rule;
    size_t n, capacity;
};

struct parser {
    const char *begin, *at, *end; /* of the line */
    unsigned line;
    struct mt_rules_error *error;
};

/* Return -EINVAL. The column is that of `at`. */
__attribute__((format(printf, 3, 4))) static int wrong(struct parser *parser, const char *at,
                                                       const char *format, ...)
{
    va_list arguments;
    parser->error->line = parser->line;
    parser->error->column = (unsigned)(at - parser->begin) + 1;
    va_start(arguments, format);
    vsnprintf(parser->error->text, sizeof parser->error->text, format, arguments);
    va_end(arguments);
    return -EINVAL;
}

static void skip_blanks(struct parser *parser)
{
    while (parser->at < parser->end && (*parser->at == ' ' || *parser->at == '\t'))
        parser->at++;
}

static bool at_end(struct parser *parser)
{
    skip_blanks(parser);
    return parser->at == parser->end || *parser->at == '#';
}

/* Return the length of the next word up to a blank or `stop`. */
static size_t word(struct parser *parser, char stop, const char **begin)
{
    *begin = parser->at;
    while (parser->at < parser->end && *parser->at != ' ' && *parser->at != '\t' &&
           *parser->at != stop)
        parser->at++;
    return (size_t)(parser->at - *begin);
}

static bool is_word(const char *begin, size_t size, const char *name)
{
    return strlen(name) == size && !memcmp(begin, name, size);
}

/* Read "text in quotes", or up to the next blank. *out is malloc'ed. */
static int text(struct parser *parser, char **out)
{
    const char *begin;
    size_t size;
    if (parser->at < parser->end && *parser->at == '"') {
        begin = ++parser->at;
        while (parser->at < parser->end && *parser->at != '"')
            parser->at++;
        if (parser->at == parser->end)
            return wrong(parser, begin - 1, "the quotation mark is not closed");
        size = (size_t)(parser->at++ - begin);
    } else {
        size = word(parser, '#', &begin);
    }
    if (!size)
        return wrong(parser, begin, "expected a value");
    *out = strndup(begin, size);
    return *out ? 0 : -ENOMEM;
}

/* Read N, N.., ..N or N..N, in a text that begins at `from` in the line. */
static int read_range(struct parser *parser, const char *text, const char *from,
                      struct condition *condition)
{
    const char *at = text;
    char why[MT_SIZE_WRONG];
    int rc = strncmp(at, "..", 2) ? mt_size_scan(&at, &condition->least) : 0;
    bool has_end = !rc && !strncmp(at, "..", 2) && at[2];
    if (!rc && *at && strncmp(at, "..", 2))
        return wrong(parser, from + (at - text),
                     "expected nothing after this number, or .. and a second number");
    if (!rc && !*at)
        condition->most = condition->least;
    if (!rc && !strcmp(text, ".."))
        return wrong(parser, from + 2, "expected a number");
    const char *number = has_end ? at + 2 : text;
    if (has_end) {
        at += 2;
        rc = mt_size_scan(&at, &condition->most);
        if (!rc && *at)
            return wrong(parser, from + (at - text), "a range needs two numbers");
    }
    const char *end = strstr(number, "..");
    return rc ? wrong(parser, from + (number - text), "'%.*s' %s",
                      end && end - number < 40 ? (int)(end - number) : 40, number,
                      mt_size_wrong(number, rc, why, sizeof why))
              : 0;
}

static int range(struct parser *parser, struct condition *condition)
{
    const char *from = parser->at + (parser->at < parser->end && *parser->at == '"');
    char *copy = NULL;
    condition->least = 0;
    condition->most = UINT64_MAX;
    int rc = text(parser, &copy);
    if (!rc)
        rc = read_range(parser, copy, from, condition);
    free(copy);
    return rc;
}

static int phase(struct parser *parser, struct condition *condition)
{
    const char *begin;
    size_t size = word(parser, '#', &begin);
    char why[MT_UNKNOWN_TEXT];
    enum mt_phase found = mt_phase_find(begin, size);
    condition->least = condition->most = found;
    return found < MT_PHASE_COUNT
               ? 0
               : wrong(parser, begin, "%s",
                       mt_unknown_text(why, "phase", begin, size, mt_phase_choices));
}

static int parse_condition(struct parser *parser, struct condition *condition)
{
    const char *begin;
    size_t size = word(parser, '=', &begin);
    char why[MT_UNKNOWN_TEXT];
    for (unsigned i = 0; i < CONDITIONS; i++) {
        if (!is_word(begin, size, condition_names[i]))
            continue;
        if (parser->at == parser->end || *parser->at != '=')
            return wrong(parser, parser->at, "expected = and a value after %s", condition_names[i]);
        parser->at++;
        condition->kind = (enum condition_kind)i;
        if (i == IS_PHASE)
            return phase(parser, condition);
        if (i == IS_SIZE || i == IS_DEVICE)
            return range(parser, condition);
        int rc = text(parser, &condition->pattern);
        if (!rc && strlen(condition->pattern) > MT_GLOB_MOST)
            return wrong(parser, begin, "this pattern is longer than %u bytes", MT_GLOB_MOST);
        return rc;
    }
    return wrong(parser, begin, "%s",
                 mt_unknown_text(why, "condition", begin, size, CONDITION_CHOICES));
}

/* Parse the name after "category", which defines a custom category. */
static int name_category(struct parser *parser)
{
    const char *begin;
    skip_blanks(parser);
    size_t size = word(parser, '#', &begin);
    int rc = mt_category_add(begin, size, NULL);
    if (rc == -EEXIST)
        return wrong(parser, begin, "this name is in use; choose another one");
    if (rc == -EINVAL)
        return wrong(parser, begin,
                     "expected a name of at most %d characters: small letters, digits and _, the "
                     "first one a letter",
                     MT_CATEGORY_NAME);
    if (rc)
        return wrong(parser, begin, "more than %d custom categories", MT_MOST_USER_CATEGORIES);
    return at_end(parser) ? 0 : wrong(parser, parser->at, "expected nothing after the name");
}

static int parse_category(struct parser *parser, enum mt_category *category)
{
    const char *begin;
    size_t size = word(parser, '#', &begin);
    char why[MT_UNKNOWN_TEXT], choices[MT_CATEGORY_CHOICES];
    unsigned found = mt_category_find(begin, size);
    if (found == mt_n_categories)
        return wrong(parser, begin, "%s (define your own first: 'category NAME')",
                     mt_unknown_text(why, "category", begin, size, mt_category_choices(choices)));
    *category = (enum mt_category)found;
    return 0;
}

/* Parse CATEGORY "NAME" CONDITION... */
static int parse_rule(struct parser *parser, struct user_rule *rule)
{
    int rc = parse_category(parser, &rule->rule.category);
    if (rc)
        return rc;
    skip_blanks(parser);
    if (parser->at == parser->end || *parser->at != '"')
        return wrong(parser, parser->at, "expected the rule's name in quotation marks");
    rc = text(parser, &rule->name);
    rule->rule.name = rule->name;
    rule->rule.certainty = MT_CERTAIN;
    if (!rc && at_end(parser))
        return wrong(parser, parser->at, "expected a condition, such as file=*/cache.py");
    while (!rc && !at_end(parser)) {
        if (MT_GROW(rule->condition, rule->capacity, rule->n))
            return -ENOMEM;
        rc = parse_condition(parser, &rule->condition[rule->n++]);
    }
    return rc;
}

static int parse_line(struct mt_user_rules *rules, struct parser *parser)
{
    if (memchr(parser->begin, '\0', (size_t)(parser->end - parser->begin)))
        return wrong(parser, parser->begin, "not a text file");
    if (at_end(parser))
        return 0;
    const char *begin = parser->at, *word_begin;
    if (is_word(begin, word(parser, '#', &word_begin), "category"))
        return name_category(parser);
    parser->at = begin;
    if (MT_GROW(rules->rule, rules->capacity, rules->n))
        return -ENOMEM;
    return parse_rule(parser, &rules->rule[rules->n++]);
}

int mt_user_rules_parse(struct mt_user_rules **out, const char *bytes, size_t size,
                        struct mt_rules_error *error)
{
    int rc = 0;
    const char *end = bytes + size;
    memset(error, 0, sizeof *error);
    struct mt_user_rules *rules = calloc(1, sizeof *rules);
    if (!rules)
        return -ENOMEM;
    struct parser parser = {.error = error};
    mt_categories_reset();
    for (const char *at = bytes; at < end && !rc; at = parser.end + 1) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        parser.line++;
        parser.begin = parser.at = at;
        parser.end = newline ? newline : end;
        rc = parse_line(rules, &parser);
    }
    *out = rc ? NULL : rules;
    if (rc)
        mt_user_rules_destroy(rules);
    return rc;
}

int mt_user_rules_read(struct mt_user_rules **out, const char *path, struct mt_rules_error *error)
{
    memset(error, 0, sizeof *error);
    *out = NULL;
    mt_input_note(path);
    FILE *file = fopen(path, "re");
    char *bytes = file ? malloc(TEXT_LIMIT + 1) : NULL;
    size_t size = bytes ? fread(bytes, 1, TEXT_LIMIT + 1, file) : 0;
    int rc = 0;
    if (!file || (bytes && ferror(file))) {
        rc = -errno;
        snprintf(error->text, sizeof error->text, "%s; expected a rules file, see memtap-rules(5)",
                 strerror(errno));
    } else if (!bytes) {
        rc = -ENOMEM;
    } else if (size > TEXT_LIMIT) {
        rc = -EFBIG;
        snprintf(error->text, sizeof error->text, "larger than 1 MiB, so not a rules file");
    } else {
        rc = mt_user_rules_parse(out, bytes, size, error);
    }
    free(bytes);
    if (file)
        fclose(file);
    return rc;
}

void mt_user_rules_destroy(struct mt_user_rules *rules)
{
    if (!rules)
        return;
    for (size_t i = 0; i < rules->n; i++) {
        for (size_t j = 0; j < rules->rule[i].n; j++)
            free(rules->rule[i].condition[j].pattern);
        free(rules->rule[i].condition);
        free(rules->rule[i].name);
    }
    free(rules->rule);
    free(rules);
}

size_t mt_user_rules_count(const struct mt_user_rules *rules)
{
    return rules ? rules->n : 0;
}

const struct mt_rule *mt_user_rule(const struct mt_user_rules *rules, size_t index)
{
    return &rules->rule[index].rule;
}

/* Return whether one frame of the stack meets all conditions on frames. */
static bool frame_meets(const struct user_rule *rule, const struct mt_frame *frame)
{
    for (size_t i = 0; i < rule->n; i++) {
        const struct condition *condition = &rule->condition[i];
        const char *has = condition->kind == IS_FILE       ? frame->file
                          : condition->kind == IS_FUNCTION ? frame->function
                                                           : NULL;
        if (has && !mt_glob(condition->pattern, has))
            return false;
    }
    return true;
}

/* Return the cached result bits per stack and rule, writable; NULL: no room. */
static unsigned char *known(const struct mt_user_rules *rules, size_t index,
                            const struct mt_rule_context *context, uint32_t stack)
{
    struct mt_rule_memo *memo = context->memo;
    size_t limit = mt_definitions_stack_limit(context->definitions);
    if (!memo || index * limit >= MEMO_MOST)
        return NULL;
    if (!memo->by_rule) {
        memo->n = rules->n;
        memo->by_rule = calloc(memo->n, sizeof *memo->by_rule);
    }
    return memo->by_rule && index < memo->n ? mt_by_id_reach(&memo->by_rule[index], stack, limit, 1)
                                            : NULL;
}

/* Match each stack of a trace once for a rule: walk up to a known stack, whose result holds for all
 * below. */
static bool stack_meets(const struct mt_user_rules *rules, size_t index,
                        const struct mt_rule_context *context, uint32_t stack)
{
    const struct user_rule *rule = &rules->rule[index];
    const struct mt_definitions *d = context->definitions;
    unsigned char found = UNKNOWN, *place;
    uint32_t top = stack;
    for (; !found && mt_stack(d, top)->depth; top = mt_stack(d, top)->parent) {
        place = known(rules, index, context, top);
        found = place && *place                                                 ? *place
                : frame_meets(rule, mt_named_frame(d, mt_stack(d, top)->frame)) ? MEETS
                                                                                : UNKNOWN;
    }
    found = found ? found : FAILS;
    for (; stack != top; stack = mt_stack(d, stack)->parent) {
        place = known(rules, index, context, stack);
        if (place)
            *place = found;
    }
    return found == MEETS;
}

void mt_rule_memo_clear(struct mt_rule_memo *memo)
{
    for (size_t i = 0; i < memo->n && memo->by_rule; i++)
        mt_by_id_clear(&memo->by_rule[i]);
    free(memo->by_rule);
    *memo = (struct mt_rule_memo){0};
}

/* Return whether any range that was open around the block's allocation meets the condition. */
static bool range_meets(const struct condition *condition, const struct mt_rule_context *context,
                        uint32_t path)
{
    const struct mt_ranges *ranges = &context->tracker->ranges;
    for (; path; path = ranges->range[path].parent) {
        uint32_t name = ranges->range[path].name;
        if (mt_glob(condition->pattern, mt_string(context->definitions, name)))
            return true;
    }
    return false;
}

static int block_meets(const struct condition *condition, const struct mt_rule_context *context,
                       const struct mt_block *block)
{
    const struct mt_definitions *d = context->definitions;
    char name[256];
    uint64_t has;
    switch (condition->kind) {
    case IS_OPERATOR:
        mt_short_type_name(mt_string(d, block->node_name), name, sizeof name);
        return block->node_name && mt_glob(condition->pattern, name);
    case IS_RANGE:
        return range_meets(condition, context, block->range);
    case IS_NAME:
        return block->name && mt_glob(condition->pattern, mt_string(d, block->name));
    case IS_PHASE:
        has = block->birth->when.phase;
        break;
    case IS_SIZE:
        has = block->size;
        break;
    case IS_DEVICE:
        has = block->device < 0 ? UINT64_MAX : (uint64_t)block->device;
        break;
    default:
        return 1;
    }
    return has >= condition->least && has <= condition->most;
}

bool mt_user_rule_holds(const struct mt_user_rules *rules, size_t index,
                        const struct mt_rule_context *context, const struct mt_block *block)
{
    const struct user_rule *rule = &rules->rule[index];
    int of_frames = 0;
    for (size_t i = 0; i < rule->n; i++) {
        of_frames |= rule->condition[i].kind == IS_FILE || rule->condition[i].kind == IS_FUNCTION;
        if (!block_meets(&rule->condition[i], context, block))
            return false;
    }
    return !of_frames || stack_meets(rules, index, context, block->stack) ||
           stack_meets(rules, index, context, block->forward_stack);
}
