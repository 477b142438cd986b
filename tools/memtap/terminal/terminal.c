/* SPDX-License-Identifier: Apache-2.0 */
#include "command.h"

#include <langinfo.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static enum mt_colour_when colour_when;

void mt_terminal_colour(enum mt_colour_when when)
{
    colour_when = when;
}

static bool has_colour(void)
{
    if (colour_when != MT_COLOUR_AUTO)
        return colour_when == MT_COLOUR_ALWAYS;
    const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
    return isatty(STDOUT_FILENO) && !(no && *no) && term && strcmp(term, "dumb");
}

static unsigned columns(void)
{
    struct winsize size;
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) ? 0 : size.ws_col;
}

struct mt_style mt_terminal_style(void)
{
    return (struct mt_style){.columns = columns(),
                             .utf8 = !strcmp(nl_langinfo(CODESET), "UTF-8"),
                             .colour = has_colour()};
}
