/* SPDX-License-Identifier: Apache-2.0 */
/* A card by its name: of the catalogue, or the user's, in a file of lines "name = value". */
#include "catalogue.h"
#include "trace-format/settings/size.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIB(n) ((uint64_t)(n) << 20)

enum { LONGEST = 256, MOST_MIB = 1 << 24 };

struct own_card {
    struct sim_gpu gpu;
    char path[PATH_MAX], product[LONGEST], source[LONGEST];
};

bool sim_gpu_is_file(const char *name)
{
    return strchr(name, '/') || (strlen(name) > 4 && !strcmp(name + strlen(name) - 4, ".gpu"));
}

static char *trim(char *text)
{
    text += strspn(text, " \t");
    size_t length = strlen(text);
    while (length && isspace((unsigned char)text[length - 1]))
        text[--length] = '\0';
    return text;
}

static const char *set_like(struct own_card *card, const char *value)
{
    const struct sim_gpu *like = sim_gpu_listed(value);
    if (!like)
        return "like: unknown card";
    if (card->gpu.name)
        return "like: must be the first line";
    card->gpu = *like;
    card->gpu.name = card->path;
    return NULL;
}

static const char *set_number(struct own_card *card, const char *name, const char *value)
{
    struct sim_gpu *gpu = &card->gpu;
    const struct {
        const char *name;
        int *number;
        uint64_t *mib;
    } numbers[] = {
        {"memory", NULL, &gpu->memory},   {"board", NULL, &gpu->board},
        {"context", NULL, &gpu->context}, {"l2", NULL, &gpu->l2},
        {"sms", &gpu->sms, NULL},         {"major", &gpu->major, NULL},
        {"minor", &gpu->minor, NULL},
    };
    char *end;
    long number = strtol(value, &end, 10);
    uint64_t bytes = 0;
    bool is_size = *end && !mt_size_parse(value, &bytes); /* without a unit it is MiB */

    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        if (strcmp(name, numbers[i].name))
            continue;
        bool is_number = end != value && !*end && number >= 0 && number <= MOST_MIB;
        if (numbers[i].mib && (is_number || (is_size && bytes <= MIB(MOST_MIB))))
            *numbers[i].mib = is_size ? bytes & ~(MIB(1) - 1) : MIB(number);
        else if (!numbers[i].mib && is_number)
            *numbers[i].number = (int)number;
        else
            return numbers[i].mib ? "not a size, such as 24G or 81079 MiB" : "not a number";
        return NULL;
    }
    return "unknown name; use like, product, memory, board, context, l2, sms, major, minor, "
           "source";
}

/* Read a line. Return what is wrong with it, or NULL. */
static const char *read_line(struct own_card *card, char *line)
{
    char *name = trim(line), *value = strchr(name, '=');
    if (!*name || *name == '#')
        return NULL;
    if (!value)
        return "not a line of the form name = value";
    *value++ = '\0';
    name = trim(name);
    value = trim(value);
    if (!strcmp(name, "like"))
        return set_like(card, value);
    if (!card->gpu.name)
        return "the first line must name the card that this one is like, such as like = h100";
    if (!strcmp(name, "product"))
        card->gpu.product = strcpy(card->product, value);
    else if (!strcmp(name, "source"))
        card->gpu.source = strcpy(card->source, value);
    else
        return set_number(card, name, value);
    return NULL;
}

static const char *read_lines(struct own_card *card, FILE *file, unsigned *number)
{
    char line[LONGEST];
    const char *wrong = NULL;
    while (!wrong && fgets(line, sizeof(line), file)) {
        ++*number;
        wrong = !strchr(line, '\n') && !feof(file) ? "a line of more than 254 characters"
                                                   : read_line(card, line);
    }
    if (!wrong && ferror(file))
        wrong = strerror(errno);
    if (!wrong && !card->gpu.name)
        wrong = "the base card is missing; add a line such as like = h100";
    if (!wrong && card->gpu.memory <= card->gpu.context + MIB(2))
        wrong = "memory is too small for a context and one allocation";
    if (!wrong && card->gpu.board < card->gpu.memory)
        card->gpu.board = card->gpu.memory;
    return wrong;
}

const struct sim_gpu *sim_gpu_read(const char *path, char *why, size_t size)
{
    struct own_card *card = calloc(1, sizeof(*card));
    FILE *file = card && realpath(path, card->path) ? fopen(path, "re") : NULL;
    const char *wrong = file ? NULL : strerror(errno);
    unsigned number = 0;
    if (file) {
        wrong = read_lines(card, file, &number);
        fclose(file);
    }
    if (!wrong)
        return &card->gpu;
    if (number)
        snprintf(why, size, "%s: line %u: %s", path, number, wrong);
    else
        snprintf(why, size, "%s: %s", path, wrong);
    free(card);
    return NULL;
}

const struct sim_gpu *sim_gpu_find(const char *name)
{
    char why[1];
    return sim_gpu_is_file(name) ? sim_gpu_read(name, why, sizeof(why)) : sim_gpu_listed(name);
}
