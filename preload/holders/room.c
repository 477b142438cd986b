/* SPDX-License-Identifier: Apache-2.0 */
#include "room.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Read the beginning of a file as text. Return whether it has any. */
static bool read_text(const char *path, char *out, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, out, size - 1);
    if (fd >= 0)
        close(fd);
    out[n > 0 ? n : 0] = '\0';
    return n > 0;
}

static bool read_in(const char *folder, const char *name, char *out, size_t size)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%s/%s", folder, name);
    return n > 0 && (size_t)n < sizeof path && read_text(path, out, size);
}

/* Return the number after a name at the beginning of a line; 0: none. */
static uint64_t number_of(const char *text, const char *name)
{
    size_t length = strlen(name);
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (!strncmp(line, name, length) && line[length] == ' ')
            return strtoull(line + length, NULL, 10);
    }
    return 0;
}

static uint64_t room_in(const char *folder)
{
    char text[8192];
    if (!read_in(folder, "memory.max", text, sizeof text) || *text < '0' || *text > '9')
        return UINT64_MAX; /* "max", or the root */
    uint64_t most = strtoull(text, NULL, 10), used = 0, files = 0;
    if (read_in(folder, "memory.current", text, sizeof text))
        used = strtoull(text, NULL, 10);
    if (read_in(folder, "memory.stat", text, sizeof text))
        files = number_of(text, "inactive_file") + number_of(text, "active_file");
    used -= files < used ? files : used;
    return most > used ? most - used : 0;
}

uint64_t mt_memory_room(const char *cgroups, const char *mount)
{
    char text[PATH_MAX], folder[PATH_MAX];
    const char *own = "";
    if (read_text(cgroups, text, sizeof text)) {
        const char *line = strstr(text, "0::/");
        own = line && (line == text || line[-1] == '\n') ? line + 3 : "";
    }
    int n = snprintf(folder, sizeof folder, "%s%.*s", mount, (int)strcspn(own, "\n"), own);
    if (n < 0 || (size_t)n >= sizeof folder || access(folder, F_OK))
        snprintf(folder, sizeof folder, "%s", mount); /* as a container sees its own cgroup */
    uint64_t room = UINT64_MAX;
    for (size_t least = strlen(mount);;) {
        uint64_t here = room_in(folder);
        room = here < room ? here : room;
        char *slash = strrchr(folder, '/');
        if (!slash || (size_t)(slash - folder) < least)
            return room;
        *slash = '\0';
    }
}
