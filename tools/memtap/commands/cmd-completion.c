/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shell completion: the scripts of tools/memtap/completion/, and the list that they request, with a
 * row per line and tab-separated fields ("-" for an empty one):
 *
 * * * command NAME OPERANDS WORDS SUMMARY option COMMAND --NAME -LETTER SORT WORDS VALUE HELP
 *
 * * * OPERANDS: program, traces, words, verbs or none. SORT: whether an option's value is words,
 * files, traces or anything, or "flag" without a value. WORDS: the possible words. A verb's NAME
 * begins with its command's: "history add".
 */
#include "commands.h"
#include "simulator/catalogue.h"
#include "tools/memtap/terminal/values.h"

#include <stdio.h>
#include <string.h>

extern const char mt_completion_bash[], mt_completion_fish[], mt_completion_zsh[];

/* Print a text on one line; "-" if it is empty. */
static void print_text(const char *text)
{
    if (!text || !*text)
        putchar('-');
    for (; text && *text; text++)
        putchar(*text == '\n' ? ' ' : *text);
}

/* Print the possible words of a value, separated by spaces. */
static void print_choices(const char *text)
{
    const char *cards = text ? strstr(text, MT_CARDS) : NULL;
    const struct sim_gpu *gpu;
    if (!cards) {
        print_text(text);
        return;
    }
    printf("%.*s", (int)(cards - text), text);
    for (size_t i = 0; (gpu = sim_gpu_at(i)); i++)
        printf("%s%s", i ? " " : "", gpu->name);
    fputs(cards + strlen(MT_CARDS), stdout);
}

static const char *sort_of(const struct mt_option *option)
{
    if (!option->value)
        return "flag";
    if (option->choices)
        return "words";
    if (!strncmp(option->value, "BASELINE", 8))
        return "traces";
    return !strcmp(option->value, "FILE") || !strcmp(option->value, "FOLDER") ? "files"
                                                                              : "anything";
}

static void list_option(const struct mt_command *command, const struct mt_option *option)
{
    char help[MT_HELP_TEXT];
    char letter[] = {'-', option->letter, '\0'};
    printf("option\t%s\t--%s\t%s\t%s\t", command->name, option->name, letter, sort_of(option));
    print_choices(option->choices);
    putchar('\t');
    print_text(option->value);
    putchar('\t');
    mt_option_help(option, help);
    print_text(help);
    putchar('\n');
}

static const char *operands_of(const struct mt_command *command)
{
    if (command->verbs)
        return "verbs";
    if (command->runs_command)
        return "program";
    if (strstr(command->operands, "TRACE") || strstr(command->operands, "OLD"))
        return "traces";
    return strchr(command->operands, '|') ? "words" : "none";
}

/* List a command. Operands in its usage line may be words: bash|zsh|fish. */
static void list_command(const struct mt_command *command)
{
    const char *operands = operands_of(command);
    char words[128] = "-";
    if (!strcmp(operands, "words"))
        snprintf(words, sizeof words, "%s", command->operands);
    for (char *bar = words; (bar = strchr(bar, '|'));)
        *bar = ' ';
    printf("command\t%s\t%s\t%s\t", command->name, operands, words);
    print_text(command->summary);
    putchar('\n');
    for (const struct mt_option *option = command->options; option->name; option++)
        list_option(command, option);
    for (const struct mt_command *verb = command->verbs; verb && verb->name; verb++)
        list_command(verb);
}

static const struct {
    const char *name, *script;
} shells[] = {
    {"bash", mt_completion_bash}, {"zsh", mt_completion_zsh}, {"fish", mt_completion_fish}};

int mt_complete(const struct mt_command *commands, const struct mt_command *command, int argc,
                char **argv)
{
    int operand = mt_options_read(command, argc, argv, NULL);
    if (operand < 0)
        return MT_EXIT_BAD;
    if (operand == argc)
        return mt_fail_usage(command, "no shell given; use bash, zsh or fish");
    if (operand + 1 < argc)
        return mt_fail_usage(command, "unexpected argument '%s'", argv[operand + 1]);
    if (!strcmp(argv[operand], "list")) {
        for (; commands->name; commands++)
            list_command(commands);
        return MT_EXIT_OK;
    }
    for (size_t i = 0; i < sizeof shells / sizeof *shells; i++)
        if (!strcmp(argv[operand], shells[i].name)) {
            fputs(shells[i].script, stdout);
            return MT_EXIT_OK;
        }
    return mt_fail_unknown(command, "shell", argv[operand], strlen(argv[operand]), "bash zsh fish");
}
