/* SPDX-License-Identifier: Apache-2.0 */
#include "program.h"
#include "pytorch-check.h"
#include "tools/memtap/terminal/command.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Return whether a word is a module: unlike a size, its name does not begin with a digit. */
bool mt_is_module(const char *value, char *const *argv, int next)
{
    const char *typed = value == argv[next - 1] ? argv[next - 2] : argv[next - 1];
    if (!strncmp(typed, "--", 2) || !(isalpha((unsigned char)*value) || *value == '_'))
        return false;
    for (; *value; value++)
        if (!isalnum((unsigned char)*value) && *value != '_' && *value != '.')
            return false;
    return true;
}

static bool is_script(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot && dot != name && !strcmp(dot, ".py");
}

static char **with_python(const char *module, char *const *operands, int *code)
{
    char path[PATH_MAX];
    size_t n = 0, at = 0;
    const char *python = mt_find_command("python", path) ? "python" : "python3";
    while (operands[n])
        n++;
    char **argv = calloc(n + 4, sizeof *argv);
    if (!argv) {
        *code = mt_fail("out of memory");
        return NULL;
    }
    argv[at++] = (char *)python;
    if (module) {
        argv[at++] = (char *)"-m";
        argv[at++] = (char *)module;
    }
    memcpy(argv + at, operands, n * sizeof *argv);
    return argv;
}

char **mt_program_meant(const char *module, char *const *operands, int *code)
{
    char path[PATH_MAX];
    struct stat status;
    bool is_program = module || !is_script(*operands) || mt_find_command(*operands, path);
    if (!is_program && stat(*operands, &status)) {
        mt_say("%s: %s", *operands, strerror(errno));
        *code = MT_EXIT_NOT_FOUND;
        return NULL;
    }
    if (module || !is_program)
        return with_python(module, operands, code);
    size_t n = 0;
    while (operands[n])
        n++;
    char **argv = calloc(n + 1, sizeof *argv);
    if (argv)
        memcpy(argv, operands, n * sizeof *argv);
    else
        *code = mt_fail("out of memory");
    return argv;
}
