/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sizes as people type them, in every option, variable, rule and budget: "64M", "64MiB", "64 MiB",
 * "1.5g", "65536", "4096 B", Kubernetes's "64Mi". Units are binary and case is ignored: B, or one
 * of KMGTPE, optionally followed by B, i or iB. A fraction of a byte is rounded up.
 */
#ifndef MT_SIZE_H
#define MT_SIZE_H

#include <stddef.h>
#include <stdint.h>

/* Parse the size at *at and advance *at past it. Return 0; -EINVAL if there is none or its unit is
 * unknown (*at then points there); -ERANGE if it exceeds 63 bits. */
int mt_size_scan(const char **at, uint64_t *bytes);

/* Parse a text that is a size. Return as mt_size_scan; *bytes is set only on success. */
int mt_size_parse(const char *text, uint64_t *bytes);

/* Parse a percentage, "5 %" or "12.25%", into hundredths of a percent. Return as above. */
int mt_percent_parse(const char *text, uint64_t *hundredths);

/* Parse a time into nanoseconds, truncated: a number and ns, us, ms, s, m (min), h, d or w; seconds
 * without a unit. Return as above. */
int mt_time_parse(const char *text, uint64_t *ns);
#define MT_TIME_WRONG "is not a time; give one such as 90s, 10m or 1.5h"

/* Write what is wrong with an invalid size, to follow the text: "is not a size; did you mean
 * '24G'?". rc is mt_size_parse's result. Return out. */
const char *mt_size_wrong(const char *text, int rc, char *out, size_t size);
#define MT_SIZE_WRONG 128

#endif
