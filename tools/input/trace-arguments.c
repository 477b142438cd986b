/* SPDX-License-Identifier: Apache-2.0 */
/* Command lines of the commands that read a trace. */
#include "trace-arguments.h"
#include "analyzer/findings/job.h"
#include "analyzer/support/categories.h"
#include "filter-options.h"
#include "tools/terminal/command.h"
#include "tools/terminal/terminal.h"
#include "tools/terminal/values.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { AT = 256, NO_LABELS, RULES, DEVICE, BOTTOM_UP, BY, RANK, HTML, COLOR };
enum {
    TOP = MT_FILTER_TOP,
    SORT = MT_FILTER_SORT,
    MIN_SIZE = MT_FILTER_LEAST,
    CATEGORY = MT_FILTER_CATEGORY,
    MODULE = MT_FILTER_MODULE
};

/* clang-format off */
#define MT_CATEGORY_CHOICE(id, name, label, colour) " " name
#define FORMAT_OPTION(help, choices) {'f', "format", "FORMAT", help, choices}
#define AT_OPTION {AT, "at", "MOMENT",                                                             \
    "peak (the default), end, oom, a time such as 1.5s,\n20ms or 8000ns, event:N, begin:N"         \
    " (start of\niteration N) or step:N (its peak)",                                            \
    "peak end oom"}
#define DEVICE_OPTION {DEVICE, "device", "N", "show only CUDA's device N"}
#define RANK_OPTION {RANK, "rank", "N", "choose the trace of rank N"}
#define HTML_OPTION {HTML, "html", "FILE", "write a page for a browser to FILE: memtap-view(1)"}
#define NO_LABELS_OPTION {NO_LABELS, "no-labels", NULL,                                            \
    "classify by stacks and lifetimes, without autograd's labels"}
#define RULES_OPTION {RULES, "rules", "FILE",                                                      \
    "apply your own rules first: memtap-rules(5)"}

#define COLOR_OPTION {COLOR, "color", "WHEN", "use colours: auto (the default), always or never", "auto always never"}

#define MIN_SIZE_OPTION {MIN_SIZE, "min-size", "SIZE", "leave out rows of fewer bytes, such as \"64 MiB\""}
#define CATEGORY_OPTION {CATEGORY, "category", "NAME", "only blocks of these categories, with commas between",           \
    &MT_CATEGORIES(MT_CATEGORY_CHOICE)[1]}
#define MODULE_OPTION {MODULE, "module", "NAME", "only blocks of this module and its parts: layers.3, *.mlp"}
#define TOP_OPTION {TOP, "top", "N", "rows of each table at most"}

/* The options of every command that classifies a trace. */
#define QUESTION_OPTIONS AT_OPTION, DEVICE_OPTION, NO_LABELS_OPTION, RULES_OPTION, COLOR_OPTION

const struct mt_option mt_trace_options[] = {FORMAT_OPTION("text (the default) or json", "text json"), {0}};
const struct mt_option mt_report_options[] = {
    FORMAT_OPTION("text (the default) or json", "text json"),
    {BY, "by", "WHAT",
     "group by this instead of call sites: {}",
     MT_PROPERTY_NAMES},
    HTML_OPTION, RANK_OPTION, QUESTION_OPTIONS, TOP_OPTION,
    {SORT, "sort", "WHAT", "sort tables by bytes (the default), blocks or name", "bytes blocks name"},
    MIN_SIZE_OPTION, CATEGORY_OPTION, MODULE_OPTION, {0}};
const struct mt_option mt_blocks_options[] = {
    FORMAT_OPTION("text (the default), csv or json", "text csv json"), RANK_OPTION, QUESTION_OPTIONS,
    {TOP, "top", "N", "the largest N blocks, or the first N by --sort"},
    {SORT, "sort", "WHAT", "sort by address (the default), bytes, age or name", "address bytes age name"},
    MIN_SIZE_OPTION, CATEGORY_OPTION, MODULE_OPTION, {0}};
const struct mt_option mt_explain_options[] = {QUESTION_OPTIONS, {0}};
const struct mt_option mt_oom_options[] = {
    FORMAT_OPTION("text (the default) or json", "text json"), HTML_OPTION, RANK_OPTION, NO_LABELS_OPTION,
    RULES_OPTION, COLOR_OPTION, {0}};
const struct mt_option mt_stacks_options[] = {
    FORMAT_OPTION("text (the default), folded or json", "text folded json"),
    {BOTTOM_UP, "bottom-up", NULL, "begin with the innermost frames"}, RANK_OPTION,
    QUESTION_OPTIONS,
    {MIN_SIZE, "min-size", "SIZE", "leave out branches of fewer bytes, instead of 1 % of all"},
    CATEGORY_OPTION, MODULE_OPTION, {0}};
/* clang-format on */

/* Read a number of CUDA's or of a job, from 0 on. */
static int read_number(const struct mt_command *command, const char *option, const char *value,
                       uint64_t most, long *number)
{
    uint64_t read = 0;
    int rc = mt_read_number(command, option, value, 0, most, &read);
    *number = (long)read;
    return rc;
}

static int read_device(const struct mt_command *command, const char *value,
                       struct mt_question *question)
{
    long number;
    question->one_device = 1;
    int rc = read_number(command, "device", value, INT16_MAX, &number);
    question->device = (int)number;
    return rc;
}

/* Read what the choices of --by name. */
static int read_by(const struct mt_command *command, const char *value, enum mt_property *by)
{
    size_t at = 0;
    int rc = mt_read_choice(command, "grouping", value, mt_option_of(command, BY)->choices, &at);
    *by = (enum mt_property)(MT_BY_SITE + 1 + at);
    return rc;
}

int mt_read_moment(const struct mt_command *command, const char *value, struct mt_moment *moment)
{
    return mt_moment_parse(value, moment)
               ? mt_fail_unknown(command, "moment", value, strlen(value), MT_MOMENT_CHOICES)
               : 0;
}

int mt_read_rules(const char *path, struct mt_user_rules **rules)
{
    struct mt_rules_error error;
    mt_user_rules_destroy(*rules);
    int rc = mt_user_rules_read(rules, path, &error);
    if (!rc)
        return 0;
    mt_fail_rules(path, rc, &error);
    return -1;
}

static int read_option(const struct mt_command *command, int letter, const char *value,
                       struct mt_trace_arguments *arguments)
{
    switch (letter) {
    case 'f':
        return mt_read_format(command, value, &arguments->format);
    case AT:
        return mt_read_moment(command, value, &arguments->question.moment);
    case NO_LABELS:
        arguments->question.no_labels = 1;
        return 0;
    case BY:
        return read_by(command, value, &arguments->question.by);
    case DEVICE:
        return read_device(command, value, &arguments->question);
    case RANK:
        arguments->has_rank = true;
        return read_number(command, "rank", value, INT32_MAX, &arguments->rank);
    case TOP:
    case SORT:
    case MIN_SIZE:
    case MODULE:
        return mt_read_filter(command, letter, value, &arguments->question.filter);
    case CATEGORY:
        arguments->categories = value;
        return 0;
    case COLOR:
        return mt_read_colour(command, value);
    case HTML:
        arguments->html = value;
        return 0;
    case BOTTOM_UP:
        arguments->bottom_up = 1;
        return 0;
    case RULES: {
        int rc = mt_read_rules(value, &arguments->rules);
        arguments->question.rules = arguments->rules;
        return rc;
    }
    }
    return -1;
}

/* A compact trace has all blocks only at the moments for which it was made. Return 1. */
static int print_compact(const struct mt_analysis *analysis,
                         const struct mt_trace_arguments *arguments)
{
    enum mt_moment_kind kind = arguments->question.moment.kind;
    uint64_t unseen = 0;
    for (size_t i = 0; i < analysis->n_devices; i++)
        unseen += analysis->devices[i].unseen;
    if (unseen && kind != MT_AT_PEAK && kind != MT_AT_END && kind != MT_AT_OOM &&
        mt_compact_of(analysis->replay.definitions))
        mt_say("%s: this compact trace lacks blocks that were live at this moment; it has all of "
               "them at the peak, "
               "at the end, and at the beginning and the peak of some iterations",
               arguments->path);
    return 1;
}

bool mt_has_moment(const struct mt_analysis *analysis, const struct mt_trace_arguments *arguments)
{
    const struct mt_question *question = &arguments->question;
    char why[MT_NO_MOMENT];
    if (mt_no_moment_text(analysis, why))
        mt_fail("%s: %s", arguments->path, why);
    else if (question->one_device && !analysis->n_devices)
        mt_fail("%s: nothing was allocated on device %d", arguments->path, question->device);
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

/* A page shows the whole trace, with autograd's labels and memtap's own rules only. */
static bool is_whole_question(const struct mt_trace_arguments *arguments)
{
    static const struct mt_filter everything;
    const struct mt_question *question = &arguments->question;
    return !arguments->rules && !question->no_labels && !question->one_device && !question->by &&
           !memcmp(&question->filter, &everything, sizeof everything) &&
           question->moment.kind == MT_AT_PEAK && arguments->format == MT_FORMAT_TEXT;
}

/* Find the operands' traces. Return 0, or -1 after a message. */
static int find_traces(const struct mt_command *command, char **operands, int n, bool takes_many,
                       struct mt_trace_arguments *arguments)
{
    static char here[] = ".";
    int rc;
    if (n > 1 && !takes_many) {
        mt_fail_usage(command, "unexpected argument '%s'; give one trace at a time", operands[1]);
        return -1;
    }
    if (!n && !arguments->has_rank)
        rc = mt_trace_list_add_newest(&arguments->found, ".");
    else if (n == 1 && !takes_many && mt_is_folder(*operands))
        rc = mt_trace_list_add_newest(&arguments->found, *operands);
    else
        rc = mt_trace_list_add(&arguments->found, n ? operands : (char *[]){here}, n ? n : 1);
    arguments->paths = arguments->found.path;
    arguments->n_paths = (int)arguments->found.n;
    arguments->path = rc ? NULL : *arguments->paths;
    return rc ? rc : arguments->has_rank ? pick_rank(arguments) : 0;
}

/* Find the traces; behind one a place may stand, an address or a stack. */
static int read_operands(const struct mt_command *command, char **operands, int n,
                         enum mt_operands kind, struct mt_trace_arguments *arguments)
{
    if (kind != MT_TRACE_AND_PLACE)
        return find_traces(command, operands, n, kind == MT_SEVERAL_TRACES || arguments->has_rank,
                           arguments);
    if (!n || (n == 1 && !access(*operands, F_OK))) {
        mt_fail_usage(command, "no address or stack given");
        return -1;
    }
    if (n > 2) {
        mt_fail_usage(command, "unexpected argument '%s'; give one trace at a time", operands[2]);
        return -1;
    }
    arguments->what = operands[n - 1];
    return find_traces(command, operands, n - 1, false, arguments);
}

static int read_all(const struct mt_command *command, int argc, char **argv,
                    enum mt_operands operands, struct mt_trace_arguments *arguments)
{
    const char *value;
    int operand, letter;
    memset(arguments, 0, sizeof *arguments);
    while ((letter = mt_options_next(command, argc, argv, &value, &operand)) > 0)
        if (read_option(command, letter, value, arguments))
            return -1;
    if (letter < 0)
        return -1;
    if (arguments->categories &&
        mt_read_categories(command, arguments->categories, &arguments->question.filter.categories))
        return -1;
    if (arguments->html && !is_whole_question(arguments)) {
        mt_fail_usage(
            command,
            "--html writes a page of the whole trace; of the other options it takes --rank");
        return -1;
    }
    return read_operands(command, argv + operand, argc - operand, operands, arguments);
}

int mt_read_trace_arguments(const struct mt_command *command, int argc, char **argv,
                            enum mt_operands operands, struct mt_trace_arguments *arguments)
{
    int rc = read_all(command, argc, argv, operands, arguments);
    if (rc)
        mt_trace_arguments_clear(arguments);
    return rc;
}
