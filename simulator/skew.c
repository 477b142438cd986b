/* SPDX-License-Identifier: Apache-2.0 */
#include "skew.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double steepest = 10;

/* Return the text after why was written: NULL. */
#define FAIL(...) (snprintf(why, why_size, __VA_ARGS__), NULL)

static char *read_zipf(const char *text, char *why, size_t why_size)
{
    char *end;
    double power = strtod(text + strlen("zipf:"), &end);

    if (end == text + strlen("zipf:") || *end || !(power >= 0 && power <= steepest))
        return FAIL("--skew %s: the power is not a number from 0 to %g, such as zipf:1", text,
                    steepest);
    return strdup(text);
}

static char *read_loads(FILE *file, const char *path, char *why, size_t why_size)
{
    enum { WORD = 32 };
    char *loads = calloc(SIM_MAX_EXPERTS, WORD), word[WORD], *end;
    double all = 0;
    size_t used = 0;
    int count = 0;

    while (loads && fscanf(file, "%31s", word) == 1) {
        double load = strtod(word, &end);

        if (*end || !(load >= 0 && load < HUGE_VAL) || count == SIM_MAX_EXPERTS) {
            free(loads);
            return count == SIM_MAX_EXPERTS
                       ? FAIL("--skew %s: more than %d experts", path, SIM_MAX_EXPERTS)
                       : FAIL("--skew %s: load %d is '%s'; give a number from 0 up for each expert",
                              path, count + 1, word);
        }
        all += load;
        used += (size_t)snprintf(loads + used, WORD, "%s%s", count++ ? "," : "", word);
    }
    if (!loads || all > 0)
        return loads;
    free(loads);
    return FAIL("--skew %s: no load above 0; give a number for each expert", path);
}

char *sim_skew_read(const char *text, char *why, size_t why_size)
{
    FILE *file;
    char *loads;

    if (!strcmp(text, "even"))
        return strdup(text);
    if (!strncmp(text, "zipf:", strlen("zipf:")))
        return read_zipf(text, why, why_size);
    file = fopen(text, "re");
    if (!file)
        return FAIL("--skew %s: %s; give even, zipf:S or a file with a load for each expert", text,
                    strerror(errno));
    loads = read_loads(file, text, why, why_size);
    fclose(file);
    return loads;
}
