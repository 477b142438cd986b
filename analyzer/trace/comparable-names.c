/* SPDX-License-Identifier: Apache-2.0 */
#include "comparable-names.h"
#include "analyzer/support/text.h"
#include "trace-format/meaning/marks.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Return the path below the folder of installed packages. */
static const char *in_packages(const char *file)
{
    size_t length;
    const char *at = mt_packages_in(file, strlen(file), &length);
    return at ? at + length : NULL;
}

/* Return the path below Python's own library, of any version. */
static const char *in_python(const char *file)
{
    const char *at = strstr(file, "/lib/python3");
    at = at ? strchr(at + 5, '/') : NULL;
    return at ? at + 1 : NULL;
}

static const char *in_directory(const char *file, const char *directory)
{
    size_t n = strlen(directory);
    return n > 1 && !strncmp(file, directory, n) && file[n] == '/' ? file + n + 1 : NULL;
}

/* Generated code, whose file name differs between processes or changes. */
static const struct {
    const char *part, *name;
} made_up[] = {
    {"/ipykernel_", "<notebook>"},
    {"<ipython-input-", "<notebook>"},
    {"<eval_with_key>", "<torch.fx>"},
};

static const char *made_up_name(const char *file)
{
    if (mt_is_inductor_file(file))
        return "<torchinductor>";
    for (size_t i = 0; i < sizeof made_up / sizeof *made_up; i++)
        if (strstr(file, made_up[i].part))
            return made_up[i].name;
    return NULL;
}

/* Return the length of a library's name up to ".so", without a version; -1: not a library. */
static int library_length(const char *name)
{
    const char *at = strstr(name, ".so");
    return at && (!at[3] || at[3] == '.' || at[3] == '+') ? (int)(at - name) + 3 : -1;
}

void mt_comparable_file(char *out, size_t size, const char *file, const char *working_directory)
{
    const char *made = made_up_name(file), *package = in_packages(file), *python = in_python(file);
    const char *own = in_directory(file, working_directory);
    int library = library_length(mt_last_part(file));
    if (library >= 0)
        snprintf(out, size, "%.*s", library, mt_last_part(file));
    else if (python && !package)
        snprintf(out, size, "python/%s", python);
    else
        snprintf(out, size, "%s", made ? made : package ? package : own ? own : file);
}

void mt_comparable_function(char *out, size_t size, const struct mt_frame *frame)
{
    int library = frame->is_native && !frame->is_named ? library_length(frame->function) : -1;
    const char *end = frame->is_native && !frame->is_named ? strstr(frame->function, "+0x") : NULL;
    int n = library >= 0 ? library
            : end        ? (int)(end - frame->function)
                         : (int)strlen(frame->function);
    snprintf(out, size, "%.*s", n, frame->function);
}

/* Write the script or module among Python's arguments, or the program itself. */
void mt_program_name(char *out, size_t size, const char *command)
{
    char word[1024], before[1024] = "";
    bool is_first = true;
    *out = '\0';
    while (*command) {
        size_t n = strcspn(command, " ");
        bool is_value = !strcmp(before, "-W") || !strcmp(before, "-X");
        snprintf(word, sizeof word, "%.*s", (int)n, command);
        if (is_first || (*word != '-' && !is_value))
            snprintf(out, size, "%s", mt_last_part(word));
        bool is_python = !strncmp(out, "python", 6) || !strncmp(out, "pypy", 4);
        if (is_first ? !is_python : (*word != '-' && !is_value) || !strcmp(word, "-c"))
            return;
        is_first = false;
        memcpy(before, word, sizeof before);
        command += n + strspn(command + n, " ");
    }
}
