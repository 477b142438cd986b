/* SPDX-License-Identifier: Apache-2.0 */
#include "check-formats.h"

#include <stddef.h>

const struct mt_check_format mt_check_formats[] = {
    {"text", mt_check_text},     {"json", mt_check_json},     {"junit", mt_check_junit},
    {"github", mt_check_github}, {"gitlab", mt_check_gitlab}, {NULL, NULL}};
