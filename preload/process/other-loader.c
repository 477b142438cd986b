/* SPDX-License-Identifier: Apache-2.0 */
#include "other-loader.h"
#include "preload/host/own-thread.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PRELOAD "LD_PRELOAD="
#define OURS "libmemtap.so"
#define MOST_PARTS 64

static const char *preloaded(char *const *environment)
{
    for (; environment && *environment; environment++)
        if (!strncmp(*environment, PRELOAD, sizeof PRELOAD - 1))
            return *environment + sizeof PRELOAD - 1;
    return "";
}

static bool has_musl_s_loader(int fd)
{
    Elf64_Ehdr head;
    Elf64_Phdr part;
    char loader[256] = "";
    if (pread(fd, &head, sizeof head, 0) != sizeof head || memcmp(head.e_ident, ELFMAG, SELFMAG) ||
        head.e_ident[EI_CLASS] != ELFCLASS64)
        return false;
    for (unsigned i = 0; i < head.e_phnum && i < MOST_PARTS; i++)
        if (pread(fd, &part, sizeof part, (off_t)(head.e_phoff + i * sizeof part)) == sizeof part &&
            part.p_type == PT_INTERP)
            return pread(fd, loader, sizeof loader - 1, (off_t)part.p_offset) > 0 &&
                   strstr(loader, "/ld-musl-");
    return false;
}

static int open_program(const char *path)
{
    return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

static bool is_for_musl(int fd)
{
    char line[256] = "", *path = line + 2, *end;
    if (pread(fd, line, sizeof line - 1, 0) < 3 || memcmp(line, "#!", 2))
        return has_musl_s_loader(fd);
    path += strspn(path, " \t");
    end = path + strcspn(path, " \t\n");
    *end = '\0';
    int interpreter = open_program(path);
    bool is = interpreter >= 0 && has_musl_s_loader(interpreter);
    if (interpreter >= 0)
        close(interpreter);
    return is;
}

/* Open the first that may be run in the folders of PATH. */
static int open_in_path(const char *file, const char *folders)
{
    char path[PATH_MAX];
    for (; folders; folders = strchr(folders, ':')) {
        folders += *folders == ':';
        int n = snprintf(path, sizeof path, "%.*s%s%s", (int)strcspn(folders, ":"), folders,
                         strcspn(folders, ":") ? "/" : "", file);
        if (n > 0 && (size_t)n < sizeof path && !access(path, X_OK))
            return open_program(path);
    }
    return -1;
}

bool mt_cannot_load_us(int fd, const char *file, bool is_searched, char *const *environment)
{
    int saved = errno;
    if (mt_is_restricted || !strstr(preloaded(environment), OURS))
        return false;
    int opened = -1;
    if (fd < 0 && is_searched && !strchr(file, '/'))
        opened = open_in_path(file, getenv("PATH"));
    else if (fd < 0)
        opened = open_program(file);
    bool is = is_for_musl(fd < 0 ? opened : fd);
    if (opened >= 0)
        close(opened);
    errno = saved;
    return is;
}

size_t mt_count_variables(char *const *environment, size_t *size)
{
    size_t n = 0;
    *size = sizeof PRELOAD + strlen(preloaded(environment));
    while (environment && environment[n])
        n++;
    return n;
}

static bool is_ours(const char *library, size_t size)
{
    return size >= sizeof OURS - 1 &&
           !memcmp(library + size - (sizeof OURS - 1), OURS, sizeof OURS - 1);
}

void mt_environment_without_us(char *const *environment, char **out, char *text)
{
    const char *from = preloaded(environment);
    char *to = text + sizeof PRELOAD - 1;
    memcpy(text, PRELOAD, sizeof PRELOAD - 1);
    while (*from) {
        size_t separators = strspn(from, ": "), size = strcspn(from + separators, ": ");
        if (!is_ours(from + separators, size)) {
            memcpy(to, from, separators + size);
            to += separators + size;
        }
        from += separators + size;
    }
    *to = '\0';
    for (; environment && *environment; environment++)
        if (strncmp(*environment, PRELOAD, sizeof PRELOAD - 1))
            *out++ = *environment;
        else if (to != text + sizeof PRELOAD - 1)
            *out++ = text;
    *out = NULL;
}
