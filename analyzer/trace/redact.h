/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --redact: hides folders and host names in everything that a command reads from traces. A folder
 * becomes four hexadecimal digits, so that files of one folder stay together and files of one name
 * in two folders stay apart: /home/ann/secret/train.py is /3f2a/train.py. What lies in a library of
 * Python keeps its path from there on, as categories depend on it.
 */
#ifndef MT_REDACT_H
#define MT_REDACT_H

#include "trace-format/model.h"

#include <stddef.h>

/* Redact what mt_redact is given from now on. For one thread, before the first trace is read. */
void mt_redact_begin(void);

/* Memory of a redacted text. Zeroed at first. */
struct mt_redaction {
    char *text;
    size_t size; /* capacity, bytes */
};

/* Copy a definition, with its text redacted if redaction has begun; the text is then the
 * redaction's, until the next call. Return 0 or -ENOMEM. */
int mt_redact(struct mt_redaction *redaction, const struct mt_definition *definition,
              struct mt_definition *out);

void mt_redaction_clear(struct mt_redaction *redaction);

#endif
