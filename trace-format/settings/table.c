/* SPDX-License-Identifier: Apache-2.0 */
#include "table.h"
#include "nearest.h"
#include "size.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

const struct mt_setting mt_setting_table[MT_SETTINGS_COUNT] = {
#define ROW(id, name, letter, variable, otherwise, kind, choices, value, meaning)                  \
    {name, variable, otherwise, MT_SETTING_##kind, choices},
    MT_SETTINGS(ROW)};

#define LEAST_KEPT (1u << 20)
#define MOST_LEVEL 19

int mt_setting_complete(char *pattern, size_t size)
{
    const char *name = mt_setting_table[MT_ID_output].otherwise;
    size_t n = strlen(pattern);
    struct stat status;
    int saved_errno = errno;
    bool has_slash = n && pattern[n - 1] == '/';
    bool is_folder = has_slash || (!stat(pattern, &status) && S_ISDIR(status.st_mode));
    errno = saved_errno;
    if (!is_folder)
        return 0;
    if (n + 1 + strlen(name) >= size)
        return -ENAMETOOLONG;
    strcpy(pattern + n, has_slash ? "" : "/");
    strcat(pattern + n, name);
    return 0;
}

uint64_t mt_setting_size(const char *value)
{
    uint64_t bytes = 0;
    mt_size_parse(value, &bytes);
    return bytes;
}

static int check_size(const char *value, char *wrong, size_t size)
{
    uint64_t bytes = LEAST_KEPT;
    int rc = strcmp(value, "all") ? mt_size_parse(value, &bytes) : 0;
    if (rc)
        mt_size_wrong(value, rc, wrong, size);
    else if (bytes < LEAST_KEPT)
        snprintf(wrong, size, "is too small; give 1M or more, or all");
    return rc || bytes < LEAST_KEPT ? -EINVAL : 0;
}

static int check_level(const char *value, char *wrong, size_t size)
{
    unsigned level = 0;
    bool is_number = *value >= '0' && *value <= '9';
    for (const char *at = value; *at && is_number && level <= MOST_LEVEL; at++) {
        is_number = *at >= '0' && *at <= '9';
        level = level * 10 + (unsigned)(*at - '0');
    }
    if (is_number && level >= 1 && level <= MOST_LEVEL)
        return 0;
    snprintf(wrong, size, "is not a zstd level; give one from 1 to %d", MOST_LEVEL);
    return -EINVAL;
}

/* Parse permissions. The owner must keep read and write, which memtap itself needs. */
int mt_setting_mode(const char *value)
{
    int mode = 0;
    for (const char *at = value; *at; at++) {
        if (*at < '0' || *at > '7' || mode > 0777)
            return 0;
        mode = mode * 8 + (*at - '0');
    }
    return mode <= 0777 && (mode & 0600) == 0600 ? mode : 0;
}

static int check_mode(const char *value, char *wrong, size_t size)
{
    if (!strcmp(value, "umask") || mt_setting_mode(value))
        return 0;
    snprintf(wrong, size,
             "is not a file mode; give one such as 640 (read and write for the owner), or umask");
    return -EINVAL;
}

uint64_t mt_setting_time(const char *value)
{
    uint64_t ns = 0;
    mt_time_parse(value, &ns);
    return ns;
}

uint64_t mt_setting_count(const char *value)
{
    size_t n = strspn(value, "0123456789");
    return n && n < 19 && !value[n] ? mt_setting_size(value) : 0;
}

static int check_limit(const struct mt_setting *setting, const char *value, char *wrong,
                       size_t size)
{
    bool is_time = setting->kind == MT_SETTING_TIME;
    if (!strcmp(value, "none") || (is_time ? mt_setting_time(value) : mt_setting_count(value)))
        return 0;
    snprintf(wrong, size,
             is_time ? MT_TIME_WRONG ", or none" : "is not a positive number; give one, or none");
    return -EINVAL;
}

/* Return whether a text is an age in hours, days or weeks: 10m is a size. */
static bool is_age(const char *value, size_t n)
{
    return n && strchr("hdwHDW", value[n - 1]);
}

int mt_setting_bound(const char *value, uint64_t *ns, uint64_t *bytes)
{
    *ns = *bytes = UINT64_MAX;
    if (!strcmp(value, "all"))
        return 0;
    for (const char *at = value;; at++) {
        char part[32];
        size_t n = strcspn(at, ",");
        uint64_t *bound = is_age(at, n) ? ns : bytes;
        if (n >= sizeof part || *bound != UINT64_MAX)
            return -EINVAL;
        memcpy(part, at, n);
        part[n] = '\0';
        if (bound == ns ? mt_time_parse(part, ns) : mt_size_parse(part, bytes))
            return -EINVAL;
        at += n;
        if (!*at)
            return 0;
    }
}

static int check_bound(const char *value, char *wrong, size_t size)
{
    uint64_t ns, bytes;
    size_t n = strcspn(value, ",");
    int rc = mt_setting_bound(value, &ns, &bytes);
    if (rc && !value[n] && !is_age(value, n))
        mt_size_wrong(value, mt_size_parse(value, &bytes), wrong, size);
    else if (rc)
        snprintf(wrong, size,
                 "is not a limit; give an age (14d), a size (20G), both (14d,20G), or all");
    return rc;
}

static int check_pattern(const char *value, char *wrong, size_t size)
{
    for (const char *at = value; (at = strchr(at, '%')); at += 2)
        if (!at[1] || !strchr("pehr%", at[1])) {
            snprintf(wrong, size, "has an unknown %% sequence; use %%p, %%e, %%h, %%r or %%%%");
            return -EINVAL;
        }
    return 0;
}

static bool is_choice(const char *choices, const char *value)
{
    size_t n = strcspn(value, " ");
    for (const char *at = choices; at && n && !value[n]; at = strchr(at + 1, ' ')) {
        const char *choice = at + (*at == ' ');
        if (!strncmp(choice, value, n) && (choice[n] == ' ' || !choice[n]))
            return true;
    }
    return false;
}

int mt_setting_list(const char *choices, const char *value, unsigned *bits)
{
    *bits = 0;
    if (!strcmp(value, "none"))
        return 0;
    for (const char *at = value;; at++) {
        size_t n = strcspn(at, ","), i = 0;
        const char *choice = choices;
        while (choice && !(strcspn(choice, " ") == n && !strncmp(choice, at, n))) {
            choice = strchr(choice, ' ');
            choice += choice != NULL;
            i++;
        }
        if (!choice)
            return -EINVAL;
        *bits |= 1u << i;
        at += n;
        if (!*at)
            return 0;
    }
}

static int check_list(const struct mt_setting *setting, const char *value, char *wrong, size_t size)
{
    unsigned bits;
    int rc = mt_setting_list(setting->choices, value, &bits);
    if (rc)
        snprintf(wrong, size, "is not none or a list, with commas, of: %s", setting->choices);
    return rc;
}

/* Check a value. Return 0, or -EINVAL with the error in `wrong`, worded to follow the value. */
static int check(const struct mt_setting *setting, const char *value, char *wrong, size_t size)
{
    switch (setting->kind) {
    case MT_SETTING_LEVEL:
        return check_level(value, wrong, size);
    case MT_SETTING_SIZE:
        return check_size(value, wrong, size);
    case MT_SETTING_MODE:
        return check_mode(value, wrong, size);
    case MT_SETTING_TIME:
    case MT_SETTING_COUNT:
        return check_limit(setting, value, wrong, size);
    case MT_SETTING_LIST:
        return check_list(setting, value, wrong, size);
    case MT_SETTING_BOUND:
        return check_bound(value, wrong, size);
    case MT_SETTING_PATTERN:
        return check_pattern(value, wrong, size);
    case MT_SETTING_PATH:
    case MT_SETTING_CHOICE:
        break;
    }
    return 0;
}

bool mt_setting_wrong(char out[MT_SETTING_WRONG], const struct mt_setting *setting,
                      const char *name, const char *value)
{
    char what[64], wrong[128];
    bool is_wrong = setting->kind == MT_SETTING_CHOICE ? !is_choice(setting->choices, value)
                                                       : check(setting, value, wrong, sizeof wrong);
    snprintf(what, sizeof what, "value of %s", name);
    if (is_wrong && setting->kind == MT_SETTING_CHOICE)
        mt_unknown_text(out, what, value, strlen(value), setting->choices);
    else if (is_wrong)
        snprintf(out, MT_SETTING_WRONG, "%s '%.*s' %s", name, MT_TYPED_SHOWN, value, wrong);
    return is_wrong;
}
