/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --redact: hide folders and host names in everything that a command reads from traces. A folder
 * becomes four hexadecimal digits, so that files of one folder stay together and equal names in
 * different folders stay distinct: /home/ann/secret/train.py becomes /3f2a/train.py. A path within
 * a Python library keeps its part from the library on, since categories depend on it.
 */
#ifndef MT_REDACT_H
#define MT_REDACT_H

#include "trace-format/model.h"

#include <stddef.h>

/* Enable redaction in mt_redact. Call it from one thread, before the first trace is read. */
void mt_redact_begin(void);

/* A buffer for redacted text. Zeroed at first. */
struct mt_redaction {
    char *text;
    size_t size; /* capacity, bytes */
};

/* Copy a definition, redacting its text if enabled; the text is then owned by the buffer, until the
 * next call. Return 0 or -ENOMEM. */
int mt_redact(struct mt_redaction *redaction, const struct mt_definition *definition,
              struct mt_definition *out);

void mt_redaction_clear(struct mt_redaction *redaction);

#endif
