/* SPDX-License-Identifier: Apache-2.0 */
#include "terminal.h"

#include <langinfo.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int has_colour(void)
{
    const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
    return isatty(STDOUT_FILENO) && !(no && *no) && term && strcmp(term, "dumb");
}

struct mt_style mt_terminal_style(void)
{
    return (struct mt_style){.utf8 = !strcmp(nl_langinfo(CODESET), "UTF-8"),
                             .colour = has_colour()};
}
