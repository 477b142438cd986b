/* SPDX-License-Identifier: Apache-2.0 */
#include "child.h"
#include "locate.h"
#include "tools/memtap/terminal/command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The working directory must not provide modules. */
static char begin[] =
    "import sys\n"
    "sys.path[:] = [place for place in sys.path if place]\n"
    "try:\n"
    "    from memtap.fleet.command import main\n"
    "except ImportError:\n"
    "    sys.exit(print(f'memtap: {sys.argv[1]}: {sys.executable} has no package memtap; '\n"
    "                   f'{sys.executable} -m pip install memtap', file=sys.stderr) or 2)\n"
    "sys.exit(main(sys.argv[1:]))\n";

/* Find the Python next to the command, of the environment that it was installed in, else that of
 * PATH. */
static char *find_python(char out[MT_PLACE_SIZE])
{
    static char other[] = "python3";
    ssize_t n = readlink("/proc/self/exe", out, MT_PLACE_SIZE - sizeof "/python3");
    out[n > 0 ? n : 0] = '\0';
    char *slash = strrchr(out, '/');
    if (!slash)
        return other;
    strcpy(slash, "/python3");
    return access(out, X_OK) ? other : out;
}

/* Prepare the environment: the package calls this command in turn. In a build folder, use the
 * source tree's package. */
static int prepare(void)
{
    char own[MT_PLACE_SIZE], package[MT_PLACE_SIZE], places[2 * MT_PLACE_SIZE];
    const char *given = getenv("PYTHONPATH");
    ssize_t n = readlink("/proc/self/exe", own, sizeof own - 1);
    own[n > 0 ? n : 0] = '\0';
    if (n > 0 && setenv("MEMTAP", own, 1))
        return -1;
    if (mt_locate_package(package))
        return 0;
    int size = snprintf(places, sizeof places, "%s%s%s", package, given && *given ? ":" : "",
                        given ? given : "");
    return size >= (int)sizeof places ? 0 : setenv("PYTHONPATH", places, 1);
}

int mt_package_become(const char *work, char *const *arguments, int n)
{
    char python[MT_PLACE_SIZE];
    char **argv = calloc((size_t)n + 5, sizeof *argv), *name = strdup(work);
    int code = MT_EXIT_BAD;
    if (!argv || !name || prepare()) {
        mt_fail("out of memory");
    } else {
        static char option[] = "-c";
        argv[0] = find_python(python);
        argv[1] = option;
        argv[2] = begin;
        argv[3] = name;
        for (int i = 0; i < n; i++)
            argv[4 + i] = arguments[i];
        mt_bounds_pass_on();
        mt_child_become(argv); /* prints why it failed */
    }
    free(name);
    free(argv);
    return code;
}
