/* SPDX-License-Identifier: Apache-2.0 */
#include "author-stat.h"
#include "author.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A live process writes something every 2 s. The trace may be seen from another machine, whose
 * clock differs. */
#define FRESH_NS 10000000000u

enum life { UNKNOWN, ALIVE, DEAD, ANOTHER /* process has its number */ };

static enum life life_of(const struct mt_author *author, const char *path)
{
    struct mt_author_stat stat;
    if (mt_author_stat(path, &stat))
        return UNKNOWN;
    if (stat.started != author->started)
        return ANOTHER;
    return (stat.state == 'Z' && stat.threads <= 1) || stat.state == 'X' ? DEAD : ALIVE;
}

/* Return whether a process has the author's number in its own, innermost namespace. */
static bool has_number(const struct mt_author *author, const char *number)
{
    char path[64], text[4096];
    snprintf(path, sizeof path, "/proc/%.20s/status", number);
    mt_author_read(path, text, sizeof text);
    const char *line = strstr(text, "\nNSpid:");
    if (!line)
        return false;
    const char *end = strchr(line + 1, '\n'), *last = line;
    for (const char *at = line; at && (!end || at < end); at = strpbrk(at + 1, "\t\n"))
        if (*at == '\t')
            last = at;
    return strtoul(last, NULL, 10) == author->pid;
}

/* Search for the author in this machine's containers. */
static enum life find(const struct mt_author *author)
{
    DIR *processes = opendir("/proc");
    enum life life = UNKNOWN;
    char path[64];
    for (struct dirent *entry; processes && life != ALIVE && (entry = readdir(processes));) {
        if (*entry->d_name < '1' || *entry->d_name > '9' || !has_number(author, entry->d_name))
            continue;
        snprintf(path, sizeof path, "/proc/%.20s/stat", entry->d_name);
        life = life_of(author, path) == ALIVE ? ALIVE : UNKNOWN;
    }
    if (processes)
        closedir(processes);
    return life;
}

static enum life find_life(const struct mt_author *author)
{
    char path[64];
    uint64_t here = mt_author_namespace();
    if (!here || author->pid_namespace != here)
        return find(author);
    if (kill((pid_t)author->pid, 0) && errno == ESRCH)
        return DEAD;
    snprintf(path, sizeof path, "/proc/%u/stat", author->pid);
    return life_of(author, path);
}

static bool is_fresh(uint64_t sign_ns)
{
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    uint64_t now = (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
    return (now > sign_ns ? now - sign_ns : sign_ns - now) < FRESH_NS;
}

/* Check an author of this machine and boot: the kernel knows all its processes and locks. */
static enum mt_author_sign find_sign(const struct mt_author *author,
                                     const struct mt_author_evidence *evidence)
{
    bool is_same = author->device == evidence->device && author->inode == evidence->inode;
    enum life life = find_life(author);
    if (life == DEAD)
        return MT_AUTHOR_GONE; /* a child may still have the lock */
    if (evidence->is_locked)
        return MT_AUTHOR_LIVES;
    if (life == ANOTHER || (is_same && author->flags & MT_AUTHOR_LOCKED))
        return MT_AUTHOR_GONE;
    return life == ALIVE && !evidence->is_other ? MT_AUTHOR_LIVES : MT_AUTHOR_UNSEEN;
}

static bool is_here(const struct mt_author *author)
{
    static const unsigned char unknown[16];
    unsigned char boot[16];
    mt_author_boot(boot);
    return memcmp(boot, unknown, sizeof boot) && !memcmp(boot, author->boot, sizeof boot);
}

enum mt_author_sign mt_author_check(const struct mt_author *author,
                                    const struct mt_author_evidence *evidence)
{
    bool is_copy = author->inode != evidence->inode;
    if (author->pid && is_here(author))
        return is_copy ? MT_AUTHOR_GONE : find_sign(author, evidence);
    if (evidence->is_locked)
        return MT_AUTHOR_LIVES;
    return author->pid && !is_copy && is_fresh(evidence->last_sign_ns) ? MT_AUTHOR_LIVES
                                                                       : MT_AUTHOR_UNSEEN;
}
