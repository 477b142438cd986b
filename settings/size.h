/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sizes as people type them, in every option, variable, rule and budget: "64M", "64MiB", "64 MiB",
 * "1.5g", "65536", "4096 B", Kubernetes's "64Mi". Units are binary and case does not matter: B, or
 * one of KMGTPE with nothing, B, i or iB behind it. A size that is not whole bytes is rounded up.
 */
#ifndef MT_SIZE_H
#define MT_SIZE_H

#include <stddef.h>
#include <stdint.h>

/* Read the size that *at begins with, and move *at behind it. 0; -EINVAL: none is there, or its
 * unit is unknown (*at is there); -ERANGE: it does not fit 63 bits. */
int mt_size_scan(const char **at, uint64_t *bytes);

/* Read a text that is a size. The same; *bytes is set only if it is 0. */
int mt_size_parse(const char *text, uint64_t *bytes);

/* Parse likewise a percentage, "5 %" or "12.25%", in hundredths of a percent. */
int mt_percent_parse(const char *text, uint64_t *hundredths);

/* Parse likewise a time in nanoseconds, what is less is cut: a number and ns, us, ms, s, m (min),
 * h, d or w; seconds without a unit. */
int mt_time_parse(const char *text, uint64_t *ns);
#define MT_TIME_WRONG "is not a time; give one such as 90s, 10m or 1.5h"

/* Write what is wrong with a text that is no size, in words that follow it: "is not a size; did you
 * mean '24G'?". rc: what mt_size_parse returned. Returns out. */
const char *mt_size_wrong(const char *text, int rc, char *out, size_t size);
#define MT_SIZE_WRONG 128

#endif
