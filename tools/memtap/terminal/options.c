/* SPDX-License-Identifier: Apache-2.0 */
/* Command lines: one table of options drives both parsing and --help. */
#include "analyzer/support/guard.h"
#include "command.h"
#include "trace-format/settings/nearest.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_OPTIONS 48
#define HELP_COLUMN 26
#define HELP_WIDTH 64

/* What getopt returns for --help and for a row without a letter; -h is added to the letters. */
enum { HELP = 256, FIRST_ROW };

const struct mt_option mt_no_options[] = {{0}};

/* Translate the table for getopt. */
static void translate(const struct mt_command *command, struct option *longs, char *shorts)
{
    if (command->runs_command)
        *shorts++ = '+';
    *shorts++ = ':';
    for (const struct mt_option *option = command->options; option->name; option++) {
        if (option - command->options == MOST_OPTIONS)
            abort(); /* fails at the first use of a command with more options */
        *longs++ = (struct option){option->name, option->value ? required_argument : no_argument,
                                   NULL, FIRST_ROW + (int)(option - command->options)};
        if (!option->letter)
            continue;
        *shorts++ = option->letter;
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
    const char *typed = optopt > ' ' && optopt < 127 && strncmp(argv[optind - 1], "--", 2)
                            ? letter
                            : argv[optind > argc ? argc - 1 : optind - 1];
    char meant[64];
    if (missing)
        mt_fail_usage(command, "option %s needs a value", typed);
    else
        mt_fail_usage(command, "unknown option '%s'%s", typed,
                      nearest_option(command, typed, meant, sizeof meant));
}

/* Return the option that getopt found. */
static const struct mt_option *option_of(const struct mt_command *command, int found)
{
    const struct mt_option *option = command->options;
    if (found >= FIRST_ROW)
        return &option[found - FIRST_ROW];
    while (option->letter != found)
        option++;
    return option;
}

int mt_options_read(const struct mt_command *command, int argc, char **argv, void *arguments)
{
    struct option longs[MOST_OPTIONS + 2];
    char shorts[2 * MOST_OPTIONS + 4];
    int found, rc = 0;
    translate(command, longs, shorts);
    optind = 0; /* restart getopt: a command may have several parts */
    opterr = 0;
    while (!rc && (found = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
        if (found == HELP || found == 'h') {
            mt_print_help(command);
            exit(mt_finish_output(MT_EXIT_OK));
        }
        if (found == '?' || found == ':') {
            print_wrong(command, argc, argv, found == ':');
            return -1;
        }
        const struct mt_option *option = option_of(command, found);
        rc = option->note(&(struct mt_typed){
            command, option, optarg, (char *)arguments + option->place, arguments, argc, argv});
    }
    return rc && rc != MT_LAST_OPTION ? -1 : optind;
}

const char *mt_read_operand(const struct mt_command *command, int argc, char **argv,
                            const char *what, const char **output)
{
    *output = NULL;
    int operand = mt_options_read(command, argc, argv, output);
    if (operand + 1 == argc) {
        mt_input_note(argv[operand]);
        return argv[operand];
    }
    if (operand == argc)
        mt_fail_usage(command, "no %s given", what);
    else if (operand > 0)
        mt_fail_usage(command, "unexpected argument '%s'; give one %s at a time", argv[operand + 1],
                      what);
    return NULL;
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

/* Return how much of the text fits on one line. */
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
    if (option->letter)
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
