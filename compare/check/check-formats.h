/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Output formats of a check.
 */
#ifndef MT_CHECK_FORMATS_H
#define MT_CHECK_FORMATS_H

#include "check.h"

#include <stdio.h>

/* Return 0 or -ENOMEM. Check ferror(out) for write errors. */
typedef int mt_check_printer(const struct mt_check *check, FILE *out);

mt_check_printer mt_check_text, mt_check_json, mt_check_junit, mt_check_github, mt_check_gitlab;

/* Markdown for a step's summary on GitHub. */
mt_check_printer mt_check_summary;

struct mt_check_format {
    const char *name;
    mt_check_printer *print;
};
extern const struct mt_check_format mt_check_formats[]; /* ends with a row of zeros */

#endif
