/* SPDX-License-Identifier: Apache-2.0 */
#include "title.h"
#include "preload/host/read-file.h"
#include "secrets.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

static char program[64]; /* the command line's begin */
static char title[256];  /* "": none */
static _Atomic bool may_be_new;

void mt_title_start(const char *called)
{
    if (called)
        snprintf(program, sizeof program, "%s", called);
}

void mt_title_note(void)
{
    atomic_store(&may_be_new, true);
}

void mt_title_command(char *out, size_t size)
{
    size_t n = mt_read_file("/proc/self/cmdline", out, size);
    while (n && !out[n - 1])
        n--;
    n = mt_mask_secrets(out, n);
    for (size_t i = 0; i < n; i++)
        if (!out[i])
            out[i] = ' ';
    out[n] = '\0';
}

/* Return whether it differs from how the program was called. */
static bool is_title(const char *command)
{
    return *command && *program && strncmp(command, program, strlen(program));
}

const char *mt_title_read(bool is_first)
{
    char now[sizeof title];
    if (!atomic_exchange(&may_be_new, false))
        return is_first && *title ? title : NULL;
    mt_title_command(now, sizeof now);
    bool is_new = is_title(now) && strcmp(now, title);
    if (is_new)
        strcpy(title, now);
    return *title && (is_new || is_first) ? title : NULL;
}
