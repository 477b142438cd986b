/* SPDX-License-Identifier: Apache-2.0 */
#include "attach.h"
#include "trace-format/settings/attach.h"

#include <stdlib.h>
#include <string.h>

static char settings[MT_ATTACH_SETTINGS];

void mt_attach_set_settings(const char *from)
{
    memcpy(settings, from, sizeof settings);
    settings[sizeof settings - 2] = settings[sizeof settings - 1] = '\0';
}

char *mt_attach_getenv(const char *name)
{
    size_t length = strlen(name);
    for (char *at = settings; *at; at += strlen(at) + 1)
        if (!strncmp(at, name, length) && at[length] == '=')
            return at + length + 1;
    return getenv(name);
}
