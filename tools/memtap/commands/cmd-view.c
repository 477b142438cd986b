/* SPDX-License-Identifier: Apache-2.0 */
#include "commands.h"
#include "tools/memtap/input/traces.h"
#include "tools/memtap/launch/page-file.h"
#include "tools/memtap/serve/server.h"
#include "tools/memtap/terminal/values.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
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
    {'o', "output", "FILE", "write the page to FILE, without opening a browser", NULL, mt_note_text,
     offsetof(struct arguments, output)},
    {0, "no-browser", NULL, "print the page's path instead of opening a browser", NULL, mt_note_flag,
     offsetof(struct arguments, is_quiet)},
    {0, "live", NULL,
     "follow a trace while it is written: serve the page on\nlocalhost until interrupted",
     NULL, mt_note_flag, offsetof(struct arguments, is_live)},
    MT_FORCE_OPTION,
    MT_REDACT_OPTION,
    {0}};
/* clang-format on */

static bool has_display(void)
{
    return getenv("DISPLAY") || getenv("WAYLAND_DISPLAY");
}

/* Become the browser in a separate process that outlives the command, without our terminal and with
 * no signals blocked. */
_Noreturn static void become_browser(const char *path)
{
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    setsid();
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    dup2(nothing, STDOUT_FILENO);
    dup2(nothing, STDERR_FILENO);
    execlp("xdg-open", "xdg-open", path, (char *)NULL);
    _exit(MT_EXIT_NOT_FOUND);
}

/* Open a file in the browser. Return 0, or -1 if there is none. */
static int open_browser(const char *path)
{
    if (!has_display())
        return -1;
    pid_t child = fork();
    if (!child)
        become_browser(path);
    int status = 0;
    return child < 0 || waitpid(child, &status, 0) < 0 || !WIFEXITED(status) || WEXITSTATUS(status)
               ? -1
               : 0;
}

/* Open a file in the browser without waiting, since the command serves it pages. */
static void begin_browser(const char *path)
{
    pid_t child = fork();
    if (!child)
        _exit(fork() ? 0 : (become_browser(path), 0));
    if (child > 0)
        waitpid(child, NULL, 0);
}

static int view(const struct mt_trace_list *traces, const char *output, bool is_quiet)
{
    char made[PATH_MAX];
    bool is_damaged = false;
    const struct mt_page_content content = {.paths = traces->path,
                                            .n = (int)traces->n,
                                            .imported = traces->imported,
                                            .is_damaged = &is_damaged};
    int code = mt_save_page(output, &content, made);
    if (!code && !output && (is_quiet || open_browser(made)))
        puts(made);
    return is_damaged ? MT_EXIT_BAD : code;
}

static bool is_without_browser;
static char redirect[PATH_MAX]; /* a file; "": none */

/* Write a private page that redirects to the address, whose secret other users could read on a
 * command line. Return whether it is written to `redirect`. */
static bool write_redirect(const char *url)
{
    int fd = mt_temporary_page(redirect);
    FILE *out = fd < 0 ? NULL : fdopen(fd, "w");
    if (out)
        fprintf(out,
                "<!doctype html><meta charset=\"utf-8\"><meta name=\"referrer\" "
                "content=\"no-referrer\"><meta http-equiv=\"refresh\" content=\"0; url=%s\">"
                "<title>memtap</title><a href=\"%s\">memtap view --live</a>\n",
                url, url);
    else if (fd >= 0)
        close(fd);
    if (out && !fclose(out))
        return true;
    if (fd >= 0)
        unlink(redirect);
    *redirect = '\0';
    return false;
}

static void print_live(const char *url)
{
    bool opens = !is_without_browser && has_display() && write_redirect(url);
    printf(opens ? "Serving %s in the browser; Ctrl-C stops it\n" : "%s\n", url);
    fflush(stdout);
    if (opens)
        begin_browser(redirect);
}

static int follow(const struct mt_trace_list *traces, bool is_quiet)
{
    if (traces->n != 1)
        return mt_fail("--live follows a single trace, but %zu were given", traces->n);
    is_without_browser = is_quiet;
    int code = mt_serve_live_page(traces->path[0], print_live);
    if (*redirect)
        unlink(redirect);
    return code;
}

int mt_run_view(const struct mt_command *command, int argc, char **argv)
{
    struct arguments typed = {0};
    int operand = mt_options_read(command, argc, argv, &typed);
    if (operand < 0)
        return MT_EXIT_BAD;
    if (typed.is_live && typed.output)
        return mt_fail_usage(command, "--live serves the page and cannot write it to %s",
                             typed.output);
    struct mt_trace_list traces = {0};
    int rc = typed.is_live ? mt_find_live_traces(&traces, argv + operand, argc - operand)
                           : mt_trace_list_add_operands(&traces, argv + operand, argc - operand);
    if (!rc && !typed.is_live)
        rc = mt_trace_list_import(&traces);
    int code = rc              ? MT_EXIT_BAD
               : typed.is_live ? follow(&traces, typed.is_quiet)
                               : mt_finish_output(view(&traces, typed.output, typed.is_quiet));
    mt_trace_list_clear(&traces);
    return code;
}
