/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks at files only: asking the interpreter would cost seconds. Relative to the bin folder of a
 * Python or a virtual environment, packages are in ../lib/python3.x/site-packages (Debian's own:
 * dist-packages).
 */
#include "pytorch-check.h"

#include <fcntl.h>
#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int mt_find_command(const char *command, char out[PATH_MAX])
{
    const char *path = getenv("PATH");
    if (strchr(command, '/'))
        return snprintf(out, PATH_MAX, "%s", command) < PATH_MAX && !access(out, X_OK);
    while (path && *path) {
        size_t n = strcspn(path, ":");
        if (snprintf(out, PATH_MAX, "%.*s/%s", n ? (int)n : 1, n ? path : ".", command) <
                PATH_MAX &&
            !access(out, X_OK))
            return 1;
        path += n + (path[n] == ':');
    }
    return 0;
}

/* Follow "#!INTERPRETER" once, if present. */
static void follow_script(char path[PATH_MAX])
{
    char line[PATH_MAX] = "";
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    ssize_t n = read(fd, line, sizeof line - 1);
    close(fd);
    if (n > 3 && !strncmp(line, "#!/", 3)) {
        line[2 + strcspn(line + 2, " \t\r\n")] = '\0';
        memmove(path, line + 2, strlen(line + 2) + 1);
    }
}

static bool is_python(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && !strncmp(slash + 1, "python", 6);
}

static bool has_file(const char *folder, const char *name)
{
    char path[2 * PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return !access(path, F_OK);
}

int mt_pytorch_without_cuda(const char *command, char folder[PATH_MAX])
{
    char python[PATH_MAX], pattern[2 * PATH_MAX];
    glob_t found;
    int without = 0;
    if (!mt_find_command(command, python))
        return 0;
    if (!is_python(python))
        follow_script(python);
    if (!is_python(python))
        return 0;
    *strrchr(python, '/') = '\0';
    snprintf(pattern, sizeof pattern, "%s/../lib/python3*/[sd]*-packages/torch/lib", python);
    if (!glob(pattern, 0, NULL, &found)) {
        without = has_file(found.gl_pathv[0], "libtorch_cpu.so") &&
                  !has_file(found.gl_pathv[0], "libtorch_cuda.so") && found.gl_pathc == 1 &&
                  realpath(found.gl_pathv[0], folder);
        if (without)
            *strrchr(folder, '/') = '\0';
        globfree(&found);
    }
    return without;
}
