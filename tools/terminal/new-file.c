/* SPDX-License-Identifier: Apache-2.0 */
#include "new-file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int name_temporary(struct mt_new_file *file)
{
    int n = snprintf(file->temporary, sizeof file->temporary, "%s.%ld.tmp", file->path, (long)getpid());
    return n < (int)sizeof file->temporary ? 0 : -ENAMETOOLONG;
}

static int open_without_name(const char *path)
{
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');
    size_t size = slash ? (size_t)(slash - path) + 1 : 0;
    if (size >= sizeof folder)
        return -1;
    memcpy(folder, path, size);
    memcpy(folder + size, ".", 2);
    return open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
}

int mt_new_file_open(struct mt_new_file *file, const char *path)
{
    struct stat status;
    *file = (struct mt_new_file){.path = path};
    file->is_direct = !stat(path, &status) && !S_ISREG(status.st_mode);
    file->fd = file->is_direct ? open(path, O_WRONLY | O_CLOEXEC) : open_without_name(path);
    if (file->fd >= 0 || file->is_direct)
        return file->fd < 0 ? -errno : 0;
    int rc = name_temporary(file);
    if (!rc)
        file->fd = open(file->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (!rc && file->fd < 0) {
        rc = -errno;
        *file->temporary = '\0';
    }
    return rc;
}

static int give_name(struct mt_new_file *file)
{
    char self[32];
    snprintf(self, sizeof self, "/proc/self/fd/%d", file->fd);
    int rc = name_temporary(file);
    if (!rc && linkat(AT_FDCWD, self, AT_FDCWD, file->temporary, AT_SYMLINK_FOLLOW))
        rc = -errno;
    if (rc)
        *file->temporary = '\0';
    return rc;
}

int mt_new_file_keep(struct mt_new_file *file)
{
    int rc = file->is_direct || *file->temporary ? 0 : give_name(file);
    if (close(file->fd) && !rc)
        rc = -errno;
    if (!rc && !file->is_direct && rename(file->temporary, file->path))
        rc = -errno;
    if (rc && *file->temporary)
        unlink(file->temporary);
    return rc;
}

void mt_new_file_drop(struct mt_new_file *file)
{
    close(file->fd);
    if (*file->temporary)
        unlink(file->temporary);
}
