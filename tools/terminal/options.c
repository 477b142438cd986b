/* SPDX-License-Identifier: Apache-2.0 */
/* Command lines: one table of options drives both parsing and --help. */
#include "analyzer/support/nearest.h"
#include "command.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_OPTIONS 48
#define HELP_COLUMN 26
#define HELP_WIDTH 64

enum { HELP = 1 }; /* --help; -h is added to the short options */

const struct mt_option mt_no_options[] = {{0}};

/* Translate the table for getopt. */
static void translate(const struct mt_command *command, struct option *longs, char *shorts)
{
    if (command->takes_command)
        *shorts++ = '+';
    *shorts++ = ':';
    for (const struct mt_option *option = command->options; option->name; option++) {
        if (option - command->options == MOST_OPTIONS)
            abort(); /* the first use of a command with more shows it */
        *longs++ = (struct option){option->name, option->value ? required_argument : no_argument,
                                   NULL, option->letter};
        if (!mt_is_short(option->letter))
            continue;
        *shorts++ = (char)option->letter;
        if (option->value)
            *shorts++ = ':';
    }
    *longs++ = (struct option){"help", no_argument, NULL, HELP};
    *longs = (struct option){0};
    *shorts++ = 'h';
    *shorts = '\0';
}

/* Return the long option nearest to a mistyped one. */
static const char *nearest_option(const struct mt_command *command, const char *typed, char *out,
                                  size_t size)
{
    struct mt_nearest nearest = {0};
    if (!strncmp(typed, "--", 2)) {
        nearest.typed = typed + 2;
        nearest.length = strcspn(nearest.typed, "=");
    }
    for (const struct mt_option *option = command->options; option->name; option++)
        mt_nearest_offer(&nearest, option->name);
    mt_nearest_offer(&nearest, "help");
    return mt_nearest_text(&nearest, "--", out, size);
}

/* Name the wrong option as the user typed it. */
static void print_wrong(const struct mt_command *command, int argc, char **argv, int missing)
{
    char letter[3] = {'-', (char)optopt, '\0'};
    const char *typed = mt_is_short(optopt) && strncmp(argv[optind - 1], "--", 2)
                            ? letter
                            : argv[optind > argc ? argc - 1 : optind - 1];
    char meant[64];
    if (missing)
        mt_fail_usage(command, "option %s needs a value", typed);
    else
        mt_fail_usage(command, "unknown option %s%s", typed,
                      nearest_option(command, typed, meant, sizeof meant));
}

int mt_options_next(const struct mt_command *command, int argc, char **argv, const char **value,
                    int *operand)
{
    struct option longs[MOST_OPTIONS + 2];
    char shorts[2 * MOST_OPTIONS + 4];
    translate(command, longs, shorts);
    opterr = 0;
    int letter = getopt_long(argc, argv, shorts, longs, NULL);
    *value = optarg;
    *operand = optind;
    if (letter == HELP || letter == 'h') {
        mt_print_help(command);
        exit(mt_finish_output(MT_EXIT_OK));
    }
    if (letter == -1)
        return 0;
    if (letter == '?' || letter == ':') {
        print_wrong(command, argc, argv, letter == ':');
        return -1;
    }
    return letter;
}

const char *mt_read_operand(const struct mt_command *command, int argc, char **argv,
                            const char *what, const char **output)
{
    const char *value;
    int operand, letter;
    *output = NULL;
    while ((letter = mt_options_next(command, argc, argv, &value, &operand)) > 0)
        *output = value;
    if (!letter && operand + 1 == argc)
        return argv[operand];
    if (!letter && operand == argc)
        mt_fail_usage(command, "no %s given", what);
    else if (!letter)
        mt_fail_usage(command, "unexpected argument '%s'; give one %s at a time", argv[operand + 1],
                      what);
    return NULL;
}

const struct mt_option *mt_option_of(const struct mt_command *command, int letter)
{
    const struct mt_option *option = command->options;
    while (option->letter != letter)
        option++;
    return option;
}

void mt_option_help(const struct mt_option *option, char out[MT_HELP_TEXT])
{
    char choices[MT_HELP_TEXT] = "";
    size_t n = strlen(option->help);
    const char *place = strstr(option->help, "{}");
    if (place)
        mt_list_choices(choices, sizeof choices, option->choices);
    if (snprintf(out, MT_HELP_TEXT, "%.*s%s%s", (int)(place ? place - option->help : (long)n),
                 option->help, choices, place ? place + 2 : "") >= MT_HELP_TEXT)
        memcpy(out + MT_HELP_TEXT - 4, "...", 4);
}

/* Return how much of the text stands on one line. */
static int line_length(const char *text)
{
    int n = (int)strcspn(text, "\n"), most = n;
    for (n = n < HELP_WIDTH ? n : HELP_WIDTH; n < most && n && text[n] != ' ';)
        n--;
    return n ? n : most;
}

static void print_option(const struct mt_option *option)
{
    char left[64], shown[4] = "", help[MT_HELP_TEXT];
    if (mt_is_short(option->letter))
        snprintf(shown, sizeof shown, "-%c,", option->letter);
    int n = snprintf(left, sizeof left, "  %-3s --%s%s%s", shown, option->name,
                     option->value ? " " : "", option->value ? option->value : "");
    printf("%s%*s", left, n < HELP_COLUMN ? HELP_COLUMN - n : 1, "");
    mt_option_help(option, help);
    for (const char *line = help; line;) {
        int length = line_length(line);
        printf("%.*s\n", length, line);
        line = line[length] ? line + length + 1 : NULL;
        if (line)
            printf("%*s", HELP_COLUMN, "");
    }
}

void mt_print_help(const struct mt_command *command)
{
    static const struct mt_option help = {'h', "help", NULL, "show this help"};
    printf("Usage: memtap %s%s%s\n\n%s\n\nOptions:\n", command->name, *command->operands ? " " : "",
           command->operands, command->description);
    for (const struct mt_option *option = command->options; option->name; option++)
        print_option(option);
    print_option(&help);
}
