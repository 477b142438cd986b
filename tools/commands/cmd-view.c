/* SPDX-License-Identifier: Apache-2.0 */
#include "commands.h"
#include "tools/input/traces.h"
#include "tools/launch/page-file.h"
#include "tools/serve/server.h"
#include "tools/terminal/values.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

struct arguments {
    const char *output;
    bool is_quiet, is_live;
};

/* clang-format off */
const struct mt_option mt_view_options[] = {
    {'o', "output", "FILE", "write the page to FILE, and open no browser", NULL, mt_note_text,
     offsetof(struct arguments, output)},
    {0, "no-browser", NULL, "print the page's path instead of opening a browser", NULL, mt_note_flag,
     offsetof(struct arguments, is_quiet)},
    {0, "live", NULL,
     "follow a trace while it is written: serve the page to this\nmachine's browsers until it is interrupted",
     NULL, mt_note_flag, offsetof(struct arguments, is_live)},
    {0}};
/* clang-format on */

/* Start the browser as its own process, which outlives the command. 0, or -1: none. */
static int open_browser(const char *path)
{
    if (!getenv("DISPLAY") && !getenv("WAYLAND_DISPLAY"))
        return -1;
    pid_t child = fork();
    if (!child) {
        setsid();
        int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
        dup2(nothing, STDOUT_FILENO);
        dup2(nothing, STDERR_FILENO);
        execlp("xdg-open", "xdg-open", path, (char *)NULL);
        _exit(MT_EXIT_NOT_FOUND);
    }
    int status = 0;
    return child < 0 || waitpid(child, &status, 0) < 0 || !WIFEXITED(status) || WEXITSTATUS(status)
               ? -1
               : 0;
}

static int view(char *const *paths, int n, const char *output, bool is_quiet)
{
    char made[PATH_MAX];
    bool is_damaged = false;
    const struct mt_page_content content = {.paths = paths, .n = n, .is_damaged = &is_damaged};
    int code = mt_save_page(output, &content, made);
    if (!code && !output && (is_quiet || open_browser(made)))
        puts(made);
    return is_damaged ? MT_EXIT_BAD : code;
}

static bool is_without_browser;

static void print_live(const char *url)
{
    if (is_without_browser || open_browser(url))
        printf("%s\n", url);
    else
        printf("%s is open in the browser; Ctrl-C ends it\n", url);
    fflush(stdout);
}

static int follow(const struct mt_trace_list *traces, bool is_quiet)
{
    if (traces->n != 1)
        return mt_fail("view --live follows one trace, and %zu were given", traces->n);
    is_without_browser = is_quiet;
    return mt_serve_live_page(traces->path[0], print_live);
}

int mt_run_view(const struct mt_command *command, int argc, char **argv)
{
    struct arguments typed = {0};
    int operand = mt_options_read(command, argc, argv, &typed);
    if (operand < 0)
        return MT_EXIT_BAD;
    if (typed.is_live && typed.output)
        return mt_fail_usage(command, "--live serves the page: it cannot be written to %s",
                             typed.output);
    struct mt_trace_list traces = {0};
    int rc = typed.is_live ? mt_find_live_traces(&traces, argv + operand, argc - operand)
                           : mt_trace_list_add_operands(&traces, argv + operand, argc - operand);
    int code =
        rc ? MT_EXIT_BAD
        : typed.is_live
            ? follow(&traces, typed.is_quiet)
            : mt_finish_output(view(traces.path, (int)traces.n, typed.output, typed.is_quiet));
    mt_trace_list_clear(&traces);
    return code;
}
