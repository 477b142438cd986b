/* SPDX-License-Identifier: Apache-2.0 */
/* Command lines of the commands that read a trace. */
#include "trace-arguments.h"
#include "analyzer/findings/job.h"
#include "analyzer/replay/filter.h"
#include "analyzer/support/categories.h"
#include "analyzer/trace/survey.h"
#include "tools/memtap/terminal/command.h"
#include "tools/memtap/terminal/values.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --top, --sort, --min-size, --category and --module: the options that filter tables. */

static const char *const sorts[] = {[MT_SORT_BYTES] = "bytes",
                                    [MT_SORT_BLOCKS] = "blocks",
                                    [MT_SORT_NAME] = "name",
                                    [MT_SORT_ADDRESS] = "address",
                                    [MT_SORT_AGE] = "age"};

/* Note --sort's order, an enum mt_sort. */
static int note_sort(const struct mt_typed *typed)
{
    enum mt_sort *sort = typed->place;
    size_t at;
    int rc = mt_read_choice(typed->command, "order", typed->value, typed->option->choices, &at);
    *sort = MT_SORT_BYTES;
    while (!rc && strcmp(typed->value, sorts[*sort]))
        ++*sort;
    return rc;
}

/* Read the value of --category, after all rules: a rule may define a category. Return 0, or -1
 * after a message. */
static int read_categories(const struct mt_command *command, const char *value,
                           uint32_t *categories)
{
    char choices[MT_CATEGORY_CHOICES];
    for (const char *at = value;; at++) {
        size_t n = strcspn(at, ",");
        unsigned found = mt_category_find(at, n);
        if (found == mt_n_categories) {
            mt_fail_unknown(command, "category", at, n, mt_category_choices(choices));
            return -1;
        }
        *categories |= 1u << found;
        at += n;
        if (!*at)
            return 0;
    }
}

/* clang-format off */
#define MT_CATEGORY_CHOICE(id, name, label, colour) " " name
#define PLACE(member) offsetof(struct mt_trace_arguments, member)
#define FORMAT_OPTION(help, choices) MT_FORMAT_OPTION(mt_trace_arguments, format, help, choices)
#define AT_OPTION {0, "at", "MOMENT",                                                              \
    "peak (the default), end, oom, last-turn (the peak of the\nlast iteration), a time such as "    \
    "1.5s, 20ms or 8000ns,\nevent:N, begin:N (start of iteration N) or step:N (its peak)",         \
    "peak end oom last-turn", mt_note_moment, PLACE(question.moment)}
#define RANK_OPTION {0, "rank", "N", "choose the trace of rank N", NULL, note_rank}
#define HTML_OPTION {0, "html", "FILE", "write a page for a browser to FILE: memtap-view(1)", NULL, mt_note_text, PLACE(html)}, MT_FORCE_OPTION
#define NO_LABELS_OPTION {0, "no-labels", NULL,                                                    \
    "classify by stacks and lifetimes, without autograd's labels", NULL, mt_note_flag, PLACE(question.no_labels)}
#define LIBRARY_FRAMES_OPTION(help) {0, "library-frames", NULL, help, NULL, mt_note_flag, PLACE(question.library_frames)}
#define RULES_OPTION MT_RULES_OPTION(mt_trace_arguments, rules)

#define MIN_SIZE_OPTION(help) {0, "min-size", "SIZE", help, NULL, mt_note_size, PLACE(question.filter.least)}
#define CATEGORY_OPTION {0, "category", "NAME", "only blocks of these categories, comma-separated", \
    &MT_CATEGORIES(MT_CATEGORY_CHOICE)[1], mt_note_text, PLACE(categories)}
#define MODULE_OPTION {0, "module", "NAME", "only blocks of this module and submodules: layers.3, *.mlp", \
    NULL, mt_note_text, PLACE(question.filter.module)}
#define TOP_OPTION(help) {0, "top", "N", help, NULL, mt_note_small_number, PLACE(question.filter.top), 1, UINT32_MAX}
#define SORT_OPTION(help, choices) {0, "sort", "WHAT", help, choices, note_sort, PLACE(question.filter.sort)}

/* The options of every command that classifies a trace. */
#define QUESTION_OPTIONS AT_OPTION, MT_DEVICE_OPTION(mt_trace_arguments, question, "show only CUDA device N"), \
    NO_LABELS_OPTION, RULES_OPTION, MT_COLOR_OPTION
/* clang-format on */

int mt_note_device(const struct mt_typed *typed)
{
    struct mt_question *question = typed->place;
    uint64_t number = 0;
    question->one_device = true;
    int rc = mt_read_number(typed->command, "device", typed->value, 0, INT16_MAX, &number);
    question->device = (int)number;
    return rc;
}

int mt_note_moment(const struct mt_typed *typed)
{
    return mt_moment_parse(typed->value, typed->place)
               ? mt_fail_unknown(typed->command, "moment", typed->value, strlen(typed->value),
                                 MT_MOMENT_CHOICES)
               : 0;
}

int mt_read_rules(const char *path, struct mt_user_rules **rules)
{
    struct mt_rules_error error;
    mt_user_rules_destroy(*rules);
    int rc = mt_user_rules_read(rules, path, &error);
    if (!rc)
        return 0;
    mt_fail_at(path, rc, error.line, error.column, error.text);
    return -1;
}

int mt_note_rules(const struct mt_typed *typed)
{
    return mt_read_rules(typed->value, typed->place);
}

static int note_held_moment(const struct mt_typed *typed)
{
    ((struct mt_trace_arguments *)typed->arguments)->has_moment = true;
    return mt_note_moment(typed);
}

static int note_rank(const struct mt_typed *typed)
{
    struct mt_trace_arguments *arguments = typed->arguments;
    uint64_t number = 0;
    arguments->has_rank = true;
    int rc = mt_read_number(typed->command, "rank", typed->value, 0, INT32_MAX, &number);
    arguments->rank = (long)number;
    return rc;
}

/* Note which of the choices --by names. */
static int note_by(const struct mt_typed *typed)
{
    size_t at = 0;
    int rc = mt_read_choice(typed->command, "grouping", typed->value, typed->option->choices, &at);
    *(enum mt_property *)typed->place = (enum mt_property)(MT_BY_SITE + 1 + at);
    return rc;
}

/* clang-format off */
const struct mt_option mt_trace_options[] = {FORMAT_OPTION("text (the default) or json", "text json"), {0}};
const struct mt_option mt_report_options[] = {
    FORMAT_OPTION("text (the default) or json", "text json"),
    {0, "by", "WHAT", "group by this instead of call sites: {}", MT_PROPERTY_NAMES, note_by, PLACE(question.by)},
    HTML_OPTION, LIBRARY_FRAMES_OPTION("show library frames below each call site"), RANK_OPTION,
    QUESTION_OPTIONS, TOP_OPTION("show at most N rows of each table"),
    SORT_OPTION("sort tables by bytes (the default), blocks or name", "bytes blocks name"),
    MIN_SIZE_OPTION("leave out rows of fewer bytes, such as \"64 MiB\""), CATEGORY_OPTION, MODULE_OPTION, {0}};
const struct mt_option mt_blocks_options[] = {
    FORMAT_OPTION("text (the default), csv or json", "text csv json"), RANK_OPTION, QUESTION_OPTIONS,
    TOP_OPTION("the largest N blocks, or the first N by --sort"),
    SORT_OPTION("sort by address (the default), bytes, age or name", "address bytes age name"),
    MIN_SIZE_OPTION("leave out rows of fewer bytes, such as \"64 MiB\""), CATEGORY_OPTION, MODULE_OPTION, {0}};
const struct mt_option mt_explain_options[] = {QUESTION_OPTIONS, {0}};
const struct mt_option mt_oom_options[] = {
    FORMAT_OPTION("text (the default) or json", "text json"), HTML_OPTION,
    {0, "try", NULL, "run the program again with the advised setting, on a\nsimulated card, and report how far it gets", NULL,
     mt_note_flag, PLACE(tries)},
    RANK_OPTION, NO_LABELS_OPTION,
    RULES_OPTION, MT_COLOR_OPTION, {0}};
const struct mt_option mt_stacks_options[] = {
    FORMAT_OPTION("text (the default), folded or json", "text folded json"),
    {0, "bottom-up", NULL, "begin with the innermost frames", NULL, mt_note_flag, PLACE(bottom_up)},
    LIBRARY_FRAMES_OPTION("show frames of PyTorch and Python's library, too"), RANK_OPTION,
    QUESTION_OPTIONS, MIN_SIZE_OPTION("leave out branches of fewer bytes, instead of 1 % of all"),
    CATEGORY_OPTION, MODULE_OPTION, {0}};
const struct mt_option mt_holders_options[] = {
    FORMAT_OPTION("text (the default) or json", "text json"),
    {0, "of", "WHAT", "only the blocks of a line (train.py:42), or the block at an\naddress, with all its holders", NULL, mt_note_text, PLACE(what)},
    {0, "at", "MOMENT", "holders (the last time they were recorded; the default),\n"
     "or as in memtap blocks", "holders peak end oom", note_held_moment, PLACE(question.moment)},
    MT_DEVICE_OPTION(mt_trace_arguments, question, "show only CUDA device N"), RANK_OPTION,
    MIN_SIZE_OPTION("leave out branches of fewer bytes, instead of 1 % of all"), CATEGORY_OPTION,
    MODULE_OPTION, NO_LABELS_OPTION, RULES_OPTION, MT_COLOR_OPTION, {0}};
/* clang-format on */

/* Print that a compact trace has all blocks only at the moments for which it was made. Return 1. */
static int print_compact(const struct mt_analysis *analysis,
                         const struct mt_trace_arguments *arguments)
{
    enum mt_moment_kind kind = arguments->question.moment.kind;
    uint64_t unseen = 0;
    for (size_t i = 0; i < analysis->n_devices; i++)
        unseen += analysis->devices[i].unseen;
    if (unseen && kind != MT_AT_PEAK && kind != MT_AT_END && kind != MT_AT_OOM &&
        mt_compact_of(analysis->replay.definitions))
        mt_say("%s: this compact trace lacks blocks that were live at this moment; it has all "
               "blocks at the peak, at the end, and at the start and peak of some iterations",
               mt_trace_name(arguments));
    return 1;
}

bool mt_has_moment(const struct mt_analysis *analysis, const struct mt_trace_arguments *arguments)
{
    const struct mt_question *question = &arguments->question;
    char why[MT_NO_MOMENT];
    if (mt_no_moment_text(analysis, why))
        mt_fail("%s: %s", mt_trace_name(arguments), why);
    else if (question->one_device && !analysis->n_devices)
        mt_fail("%s: nothing was allocated on device %d", mt_trace_name(arguments),
                question->device);
    else
        return print_compact(analysis, arguments);
    return false;
}

void mt_trace_arguments_clear(struct mt_trace_arguments *arguments)
{
    mt_user_rules_destroy(arguments->rules);
    arguments->rules = NULL;
    mt_trace_list_clear(&arguments->found);
}

/* Keep only the trace of the chosen rank. */
static int pick_rank(struct mt_trace_arguments *arguments)
{
    char *const *found = NULL;
    char others[256] = "";
    for (int i = 0; i < arguments->n_paths; i++) {
        struct mt_trace_error fault;
        long rank;
        int rc = mt_trace_rank(arguments->paths[i], &rank, &fault);
        if (rc) {
            mt_fail_trace(arguments->paths[i], &fault);
            return -1;
        }
        if (rank == arguments->rank && found) {
            mt_fail("%s and %s both have rank %ld", *found, arguments->paths[i], rank);
            return -1;
        }
        if (rank == arguments->rank)
            found = &arguments->paths[i];
        size_t used = strlen(others);
        if (rank >= 0)
            snprintf(others + used, sizeof others - used, "%s%ld", used ? ", " : "", rank);
    }
    if (!found) {
        mt_fail("no trace of rank %ld is given; %s%s", arguments->rank,
                *others ? "the traces have ranks " : "no trace has a rank", others);
        return -1;
    }
    arguments->path = *found;
    arguments->paths = found;
    arguments->n_paths = 1;
    return 0;
}

/* Return whether the whole trace is requested: a page shows all of it, with autograd's labels and
 * only memtap's own rules. */
static bool is_unfiltered(const struct mt_trace_arguments *arguments)
{
    static const struct mt_filter everything;
    const struct mt_question *question = &arguments->question;
    return !arguments->rules && !question->no_labels && !question->one_device && !question->by &&
           !memcmp(&question->filter, &everything, sizeof everything) &&
           question->moment.kind == MT_AT_PEAK && arguments->format == MT_FORMAT_TEXT;
}

bool mt_ran_out(const char *path)
{
    struct mt_survey survey;
    struct mt_trace_error error;
    return !mt_survey(path, &survey, NULL, &error) && (survey.kinds[MT_OOM] || survey.failed_cuda);
}

const char *mt_trace_name(const struct mt_trace_arguments *arguments)
{
    const struct mt_trace_list *found = &arguments->found;
    for (size_t i = 0; found->imported && i < found->n; i++)
        if (found->imported[i] && !strcmp(found->path[i], arguments->path))
            return found->imported[i];
    return arguments->path;
}

/* Find the operands' traces. Return 0, or -1 after a message. */
static int find_traces(const struct mt_command *command, char **operands, int n,
                       enum mt_operands kind, struct mt_trace_arguments *arguments)
{
    static char here[] = ".";
    static const struct mt_trace_wish out_of_memory = {mt_ran_out,
                                                       "whose program ran out of memory"};
    const struct mt_trace_wish *wish = kind == MT_TRACE_OUT_OF_MEMORY ? &out_of_memory : NULL;
    bool accepts_many = kind == MT_SEVERAL_TRACES || arguments->has_rank;
    int rc;
    if (n > 1 && !accepts_many) {
        mt_fail_usage(command, "unexpected argument '%s'; give one trace at a time", operands[1]);
        return -1;
    }
    if (!n && !arguments->has_rank)
        rc = mt_trace_list_add_newest(&arguments->found, ".", wish);
    else if (n == 1 && !accepts_many && mt_is_folder(*operands))
        rc = mt_trace_list_add_newest(&arguments->found, *operands, wish);
    else
        rc = mt_trace_list_add(&arguments->found, n ? operands : (char *[]){here}, n ? n : 1);
    arguments->paths = arguments->found.path;
    arguments->n_paths = (int)arguments->found.n;
    if (!rc)
        rc = mt_trace_list_import(&arguments->found);
    arguments->path = rc ? NULL : *arguments->paths;
    return rc ? rc : arguments->has_rank ? pick_rank(arguments) : 0;
}

int mt_find_traces(const struct mt_command *command, char **operands, int n, enum mt_operands kind,
                   struct mt_trace_arguments *arguments)
{
    if (kind != MT_TRACE_AND_PLACE)
        return find_traces(command, operands, n, kind, arguments);
    if (!n || (n == 1 && !access(*operands, F_OK))) {
        mt_fail_usage(command, "no address or stack given");
        return -1;
    }
    if (n > 2) {
        mt_fail_usage(command, "unexpected argument '%s'; give one trace at a time", operands[2]);
        return -1;
    }
    arguments->what = operands[n - 1];
    return find_traces(command, operands, n - 1, kind, arguments);
}

static int read_all(const struct mt_command *command, int argc, char **argv,
                    enum mt_operands operands, struct mt_trace_arguments *arguments)
{
    memset(arguments, 0, sizeof *arguments);
    int operand = mt_options_read(command, argc, argv, arguments);
    if (operand < 0)
        return -1;
    arguments->question.rules = arguments->rules;
    if (arguments->categories &&
        read_categories(command, arguments->categories, &arguments->question.filter.categories))
        return -1;
    if (arguments->html && !is_unfiltered(arguments)) {
        mt_fail_usage(
            command,
            "--html writes a page of the whole trace; it can be combined only with --rank");
        return -1;
    }
    return mt_find_traces(command, argv + operand, argc - operand, operands, arguments);
}

int mt_read_trace_arguments(const struct mt_command *command, int argc, char **argv,
                            enum mt_operands operands, struct mt_trace_arguments *arguments)
{
    int rc = read_all(command, argc, argv, operands, arguments);
    if (rc)
        mt_trace_arguments_clear(arguments);
    return rc;
}
