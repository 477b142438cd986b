/* SPDX-License-Identifier: Apache-2.0 */
#include "commands.h"
#include "tools/launch/page-file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NO_BROWSER = 1000 };

const struct mt_option mt_view_options[] = {
    {'o', "output", "FILE", "write the page to FILE, and open no browser", NULL},
    {NO_BROWSER, "no-browser", NULL, "print the page's path instead of opening a browser", NULL},
    {0}};

/* The browser is a process of its own: it outlives the command. 0, or -1 where there is none. */
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

/* A new file of the user's own: beside the one that it takes the place of, or for a browser to read
 * after the command has ended. */
static FILE *make_file(char path[PATH_MAX], const char *output)
{
    const char *folder = getenv("TMPDIR");
    if (output)
        snprintf(path, PATH_MAX, "%s.XXXXXX", output);
    else
        snprintf(path, PATH_MAX, "%s/memtap-XXXXXX.html", folder && *folder ? folder : "/tmp");
    int fd = mkostemps(path, output ? 0 : 5, O_CLOEXEC);
    mode_t mask = umask(0);
    umask(mask);
    if (fd >= 0 && output && fchmod(fd, 0666 & ~mask))
        mt_say("%s: %s", path, strerror(errno)); /* and it is the user's alone */
    return fd < 0 ? NULL : fdopen(fd, "w");
}

static int is_device(const char *path)
{
    struct stat status;
    return path && !stat(path, &status) && !S_ISREG(status.st_mode);
}

/* A page takes the place of an older one only when it is whole. */
static int view(char *const *paths, int n, const char *output, int is_quiet)
{
    char made[PATH_MAX];
    int is_direct = is_device(output);
    FILE *out = is_direct ? fopen(output, "we") : make_file(made, output);
    const char *name = output ? output : made;
    if (!out)
        return mt_fail("%s: %s", name, strerror(errno));
    int code = mt_write_page(out, name, paths, n);
    if (fclose(out) && !code)
        code = mt_fail("%s: %s", name, strerror(errno));
    if (!code && output && !is_direct && rename(made, output))
        code = mt_fail("%s: %s", name, strerror(errno));
    if (code && !is_direct)
        unlink(made);
    else if (!code && !output && (is_quiet || open_browser(made)))
        puts(made);
    return code;
}

int mt_run_view(const struct mt_command *command, int argc, char **argv)
{
    const char *value, *output = NULL;
    int operand, letter, is_quiet = 0;
    while ((letter = mt_options_next(command, argc, argv, &value, &operand)) > 0) {
        if (letter == 'o')
            output = value;
        is_quiet |= letter == NO_BROWSER;
    }
    if (letter < 0)
        return MT_EXIT_BAD;
    if (operand == argc)
        return mt_fail_usage(command, "no trace given");
    return mt_finish_output(view(argv + operand, argc - operand, output, is_quiet));
}
