/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/support/new-file.h"
#include "commands.h"
#include "compare/diff/diff-report.h"
#include "compare/history/read-all.h"
#include "steps.h"
#include "tools/memtap/input/trace-arguments.h"
#include "tools/memtap/input/traces.h"
#include "tools/memtap/launch/page-file.h"
#include "tools/memtap/terminal/command.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct arguments {
    struct mt_trace_list old, now;
    enum mt_format format;
    const char *flame; /* NULL: none */
    const char *html;  /* the page to write; NULL: none */
    struct mt_user_rules *rules;
    bool no_labels;
    bool old_are_folders, new_are_folders; /* each with the traces of one run */
};

/* Refuse a second --to: the first one divides the command line. */
static int refuse_to(const struct mt_typed *typed)
{
    return mt_fail_usage(typed->command, "--to is given twice");
}

/* clang-format off */
#define PLACE(member) offsetof(struct arguments, member)
const struct mt_option mt_diff_options[] = {
    MT_FORMAT_OPTION(arguments, format, "text (the default), markdown or json", "text markdown json"),
    {0, "to", NULL, "separates several old traces from new ones:\nOLD... --to NEW...", NULL, refuse_to},
    {0, "flame", "FILE", "write folded stacks for a differential flame graph:\nSTACK OLD NEW", NULL, mt_note_text,
     PLACE(flame)},
    {0, "html", "FILE", "write an HTML page to FILE; see memtap-view(1)", NULL, mt_note_text, PLACE(html)},
    MT_FORCE_OPTION,
    {0, "no-labels", NULL, "classify by stacks and lifetimes only, without autograd's\nlabels", NULL, mt_note_flag,
     PLACE(no_labels)},
    MT_RULES_OPTION(arguments, rules),
    {0},
};
/* clang-format on */

static int find_to(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (!strcmp(argv[i], "--to"))
            return i;
    return argc;
}

static bool are_folders(char *const *operands, int n)
{
    for (int i = 0; i < n; i++)
        if (!mt_is_folder(operands[i]))
            return false;
    return n;
}

static int read_arguments(const struct mt_command *command, int argc, char **argv,
                          struct arguments *arguments)
{
    int to = find_to(argc, argv), now = 0, old = mt_options_read(command, to, argv, arguments);
    if (old < 0)
        return -1;
    if (to < argc) {
        now = mt_options_read(command, argc - to, argv + to, arguments);
        if (now < 0)
            return -1;
        now += to;
    } else if (to - old == 2) {
        now = to = old + 1;
    } else {
        mt_fail_usage(command, to - old < 2 ? "expected an old and a new trace"
                                            : "more than two traces; separate them as OLD... "
                                              "--to NEW...");
        return -1;
    }
    if (arguments->html &&
        (arguments->format != MT_FORMAT_TEXT || arguments->rules || arguments->no_labels)) {
        mt_fail_usage(command, "--html cannot be combined with --format, --rules or --no-labels");
        return -1;
    }
    if (old == to || now == argc) {
        mt_fail_usage(command, "no trace given %s --to", old == to ? "before" : "after");
        return -1;
    }
    arguments->old_are_folders = are_folders(argv + old, to - old);
    arguments->new_are_folders = are_folders(argv + now, argc - now);
    return mt_trace_list_add(&arguments->old, argv + old, to - old) ||
                   mt_trace_list_add(&arguments->now, argv + now, argc - now)
               ? -1
               : 0;
}

static int write_flame(const struct mt_diff *diff, const char *path)
{
    struct mt_new_file file;
    int rc = mt_new_file_open(&file, path, MT_FILE_AS_INPUTS);
    FILE *out = rc ? NULL : mt_new_file_stream(&file);
    if (out)
        mt_diff_flame(diff, out);
    if (!rc)
        rc = mt_new_file_close(&file, out, 0);
    return rc ? mt_fail("%s: cannot write: %s", path, mt_output_error(rc)) : MT_EXIT_OK;
}

/* Write the page, with the comparison as text for a browser that cannot draw it. */
static int save(const struct mt_diff *diff, const struct arguments *arguments)
{
    char made[PATH_MAX], *text = NULL;
    size_t size, n_old = arguments->old.n, n = n_old + arguments->now.n;
    const struct mt_style style = {.utf8 = 1};
    char **paths = calloc(n, sizeof *paths);
    FILE *memory = open_memstream(&text, &size);
    int rc = paths && memory ? mt_diff_text(diff, memory, &style) : -ENOMEM;
    if (memory && mt_close_memory(memory))
        rc = -ENOMEM;
    for (size_t i = 0; paths && i < n; i++)
        paths[i] = i < n_old ? arguments->old.path[i] : arguments->now.path[i - n_old];
    const struct mt_page_content content = {paths, (int)n, (int)n_old, "Difference", text};
    int code = rc ? mt_fail_memory() : mt_save_page(arguments->html, &content, made);
    free(paths);
    free(text);
    return code;
}

static int print(const struct mt_diff *diff, const struct arguments *arguments)
{
    struct mt_style style = mt_terminal_style();
    if (arguments->html) {
        int code = save(diff, arguments);
        return code || !arguments->flame ? code : write_flame(diff, arguments->flame);
    }
    int rc = arguments->format == MT_FORMAT_JSON       ? mt_diff_json(diff, stdout)
             : arguments->format == MT_FORMAT_MARKDOWN ? mt_diff_markdown(diff, stdout)
                                                       : mt_diff_text(diff, stdout, &style);
    if (rc == -ENOMEM)
        return mt_fail_memory();
    return arguments->flame ? write_flame(diff, arguments->flame) : MT_EXIT_OK;
}

/* Return the first unreadable trace; NULL: none. */
static const struct mt_reading *first_failed(const struct mt_reading *readings, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (readings[i].rc)
            return &readings[i];
    return NULL;
}

static int compare(const struct mt_reading *readings, struct mt_digest *digests,
                   const struct arguments *arguments)
{
    size_t n_old = arguments->old.n, n_new = arguments->now.n;
    const struct mt_reading *failed = first_failed(readings, n_old + n_new);
    struct mt_diff diff;
    if (failed)
        return mt_fail_trace(failed->path, &failed->error);
    if (arguments->old_are_folders)
        mt_group_by_folder(digests, n_old);
    if (arguments->new_are_folders)
        mt_group_by_folder(digests + n_old, n_new);
    int rc = mt_diff_runs(&diff, digests, n_old, n_new, readings->question);
    int code = rc ? mt_fail_memory() : print(&diff, arguments);
    mt_diff_clear(&diff);
    for (size_t i = 0; i < n_old + n_new && !code; i++)
        code = readings[i].error.fault ? mt_fail_trace(readings[i].path, &readings[i].error)
                                       : mt_fail_open(readings[i].path, &digests[i].ended, code);
    return code;
}

static int diff_traces(const struct arguments *arguments)
{
    size_t n_old = arguments->old.n, n = n_old + arguments->now.n;
    const struct mt_question question = {.rules = arguments->rules,
                                         .no_labels = arguments->no_labels};
    struct mt_reading *readings = calloc(n, sizeof *readings);
    struct mt_digest *digests = calloc(n, sizeof *digests);
    int code = MT_EXIT_BAD;
    if (readings && digests) {
        for (size_t i = 0; i < n; i++)
            readings[i] = (struct mt_reading){.path = i < n_old ? arguments->old.path[i]
                                                                : arguments->now.path[i - n_old],
                                              .question = &question,
                                              .digest = &digests[i]};
        mt_read_all(readings, n);
        code = compare(readings, digests, arguments);
    } else {
        mt_fail_memory();
    }
    for (size_t i = 0; digests && i < n; i++)
        mt_digest_clear(&digests[i]);
    free(digests);
    free(readings);
    return code;
}

int mt_diff_traces(const struct mt_trace_list *old, const struct mt_trace_list *now,
                   struct mt_user_rules *rules)
{
    const struct arguments arguments = {
        .old = *old, .now = *now, .rules = rules, .old_are_folders = true, .new_are_folders = true};
    return diff_traces(&arguments);
}

int mt_run_diff(const struct mt_command *command, int argc, char **argv)
{
    struct arguments arguments = {.format = MT_FORMAT_TEXT};
    int code =
        read_arguments(command, argc, argv, &arguments) ? MT_EXIT_BAD : diff_traces(&arguments);
    mt_trace_list_clear(&arguments.old);
    mt_trace_list_clear(&arguments.now);
    mt_user_rules_destroy(arguments.rules);
    return code;
}
