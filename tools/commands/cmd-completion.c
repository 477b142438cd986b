/* SPDX-License-Identifier: Apache-2.0 */
/* Completion for shells, made of the tables of commands and options. One function a shell. */
#include "commands.h"
#include "simulator/catalogue.h"
#include "tools/terminal/command.h"

#include <stdio.h>
#include <string.h>

/* Calls it for each command that has options: for the verbs of one that has verbs. */
static void each(void (*print)(const struct mt_command *command))
{
    for (const struct mt_command *command = mt_commands; command->name; command++) {
        if (!command->verbs)
            print(command);
        for (const struct mt_command *verb = command->verbs; verb && verb->name; verb++)
            print(verb);
    }
}

/* Its name alone: of "history add" only "add". */
static const char *word_of(const struct mt_command *command)
{
    const char *space = strrchr(command->name, ' ');
    return space ? space + 1 : command->name;
}

static void print_words(const struct mt_command *commands)
{
    for (; commands->name; commands++)
        printf(" %s", word_of(commands));
}

/* A value that is the name of a file. */
static int is_file(const struct mt_option *option)
{
    return option->value && !option->choices &&
           (!strcmp(option->value, "FILE") || !strcmp(option->value, "FOLDER"));
}

static int takes_traces(const struct mt_option *option)
{
    return option->value && !strncmp(option->value, "BASELINE", 8);
}

/* What the usage line says of a command's operands. */
enum operands { NOTHING, TRACES, WORDS };

static enum operands operands_of(const struct mt_command *command)
{
    if (strstr(command->operands, "TRACE") || strstr(command->operands, "OLD"))
        return TRACES;
    return strchr(command->operands, '|') ? WORDS : NOTHING;
}

/* Of operands that are words: bash|zsh|fish. */
static void print_operands(const struct mt_command *command)
{
    for (const char *at = command->operands; *at; at++)
        putchar(*at == '|' ? ' ' : *at);
}

/* The words that a value can be, with spaces between. */
static void print_choices(const struct mt_option *option)
{
    const char *text = option->choices ? option->choices : "";
    const char *cards = strstr(text, MT_CARDS);
    const struct sim_gpu *gpu;
    printf("%.*s", (int)(cards ? cards - text : (long)strlen(text)), text);
    for (size_t i = 0; cards && (gpu = sim_gpu_at(i)); i++)
        printf("%s%s", i ? " " : "", gpu->name);
    printf("%s", cards ? cards + strlen(MT_CARDS) : "");
}

/* The help in one line, for between single quotes; `special` gets a backslash before it. */
static void print_help(const char *help, const char *special)
{
    for (; *help; help++) {
        if (*help == '\n')
            putchar(' ');
        else if (*help == '\'')
            fputs("'\\''", stdout);
        else if (strchr(special, *help))
            printf("\\%c", *help);
        else
            putchar(*help);
    }
}

/* --- bash ------------------------------------------------------------------------------------ */

static void bash_options(const struct mt_command *command)
{
    static const char *const kinds[] = {[TRACES] = "traces", [WORDS] = "words", [NOTHING] = "none"};
    printf("    '%s') operands=%s options='--help", command->name, kinds[operands_of(command)]);
    for (const struct mt_option *option = command->options; option->name; option++)
        printf(" --%s", option->name);
    printf("' valued='");
    for (const struct mt_option *option = command->options; option->name; option++)
        if (option->value)
            printf(mt_is_short(option->letter) ? " --%s -%c" : " --%s", option->name,
                   option->letter);
    printf("' program=%s choices='", command->takes_command ? "yes" : "");
    if (operands_of(command) == WORDS)
        print_operands(command);
    puts("' ;;");
}

static void bash_values(const struct mt_command *command)
{
    for (const struct mt_option *option = command->options; option->name; option++) {
        if (!option->value)
            continue;
        printf("    '%s --%s'", command->name, option->name);
        if (mt_is_short(option->letter))
            printf(" | '%s -%c'", command->name, option->letter);
        printf(") kind=%s words='", takes_traces(option) ? "traces"
                                    : is_file(option)    ? "files"
                                                         : "words");
        print_choices(option);
        printf("' ;;\n");
    }
}

/* A word that is complete joins its command; where it is typed, it is completed. */
static void bash_verbs(const struct mt_command *command)
{
    printf("    %s) [ \"$COMP_CWORD\" -eq 2 ] && verbs='--help", command->name);
    print_words(command->verbs);
    fputs("' || command+=\" ${COMP_WORDS[2]}\" ;;\n", stdout);
}

static void print_bash(void)
{
    fputs("# Completes memtap's command lines in bash. Made by: memtap completion bash\n"
          "_memtap() {\n"
          "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}\n"
          "    local command=${COMP_WORDS[1]} options= valued= program= kind= words= "
          "verbs= operands= choices= i\n"
          "    # bash takes --option=value apart.\n"
          "    if [ \"$word\" = = ]; then word=; elif [ \"$before\" = = ]; then\n"
          "        before=${COMP_WORDS[COMP_CWORD - 2]}\n"
          "    fi\n"
          "    case $command in\n",
          stdout);
    for (const struct mt_command *command = mt_commands; command->name; command++)
        if (command->verbs)
            bash_verbs(command);
    fputs("    help) [ \"$COMP_CWORD\" -eq 2 ] && verbs='", stdout);
    print_words(mt_commands);
    fputs("' ;;\n", stdout);
    fputs("    esac\n"
          "    case $command in\n",
          stdout);
    each(bash_options);
    fputs("    esac\n"
          "    case \"$command $before\" in\n",
          stdout);
    each(bash_values);
    fputs("    esac\n"
          "    COMPREPLY=()\n"
          "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
          "        kind=words words='--help --version help",
          stdout);
    print_words(mt_commands);
    fputs("'\n"
          "    elif [ -n \"$verbs\" ]; then\n"
          "        kind=words words=$verbs\n"
          "    elif [ -n \"$program\" ]; then\n"
          "        # What follows the first operand belongs to the program that is started.\n"
          "        for ((i = 2; i < COMP_CWORD; i++)); do\n"
          "            case ${COMP_WORDS[i]} in\n"
          "            --) i=$((i + 1)) && break ;;\n"
          "            -*) [[ \" $valued \" != *\" ${COMP_WORDS[i]} \"* ]] || i=$((i + 1))\n"
          "                [ \"${COMP_WORDS[i]}\" != = ] || i=$((i + 1)) ;;\n"
          "            *) break ;;\n"
          "            esac\n"
          "        done\n"
          "        if [ \"$i\" -lt \"$COMP_CWORD\" ]; then\n"
          "            kind=files\n"
          "            if declare -F _command_offset >/dev/null; then _command_offset \"$i\"; "
          "return; fi\n"
          "        elif [ -z \"$kind\" ] && [[ $word != -* ]]; then\n"
          "            kind=programs\n"
          "        fi\n"
          "    fi\n"
          "    if [ -z \"$kind\" ]; then\n"
          "        kind=$operands words=$choices\n"
          "        if [[ $word == -* ]]; then kind=words words=$options; fi\n"
          "    fi\n"
          "    case $kind in\n"
          "    words) mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\") ;;\n"
          "    programs) mapfile -t COMPREPLY < <(compgen -c -- \"$word\"; "
          "compgen -f -X '!*.py' -- \"$word\") ;;\n"
          "    traces) compopt -o filenames 2>/dev/null\n"
          "        mapfile -t COMPREPLY < <(compgen -d -- \"$word\"; "
          "compgen -f -X '!*.mtap' -- \"$word\") ;;\n"
          "    files) compopt -o filenames 2>/dev/null\n"
          "        mapfile -t COMPREPLY < <(compgen -f -- \"$word\") ;;\n"
          "    esac\n"
          "}\n"
          "complete -F _memtap memtap\n",
          stdout);
}

/* --- zsh ------------------------------------------------------------------------------------- */

#define ZSH_TRACES "_files -g \"*.mtap(-.)\""

static void zsh_option(const struct mt_option *option)
{
    char name[64];
    snprintf(name, sizeof name, "--%s%s", option->name, option->value ? "=" : "");
    if (mt_is_short(option->letter))
        printf(" \\\n        '(-%c --%s)'{-%c%s,%s}'[", option->letter, option->name,
               option->letter, option->value ? "+" : "", name);
    else
        printf(" \\\n        '%s[", name);
    print_help(option->help, "[]\\");
    putchar(']');
    if (option->value) {
        putchar(':');
        print_help(option->value, ":[]\\");
        putchar(':');
        if (option->choices) {
            putchar('(');
            print_choices(option);
            putchar(')');
        } else if (takes_traces(option)) {
            fputs(ZSH_TRACES, stdout);
        } else if (is_file(option)) {
            fputs("_files", stdout);
        }
    }
    putchar('\'');
}

static void zsh_arguments(const struct mt_command *command)
{
    printf("    '%s')\n        _arguments -s -S%s", command->name,
           command->takes_command ? " -A '-*'" : "");
    for (const struct mt_option *option = command->options; option->name; option++)
        zsh_option(option);
    printf(" \\\n        {-h,--help}'[show this help]'");
    if (command->takes_command)
        fputs(" '(-): :{ _command_names -e; _files -g \"*.py(-.)\" }' '*:: :_normal'", stdout);
    else if (operands_of(command) == TRACES)
        fputs(" '*:trace:" ZSH_TRACES "'", stdout);
    if (operands_of(command) == WORDS) {
        fputs(" ':word:(", stdout);
        print_operands(command);
        fputs(")'", stdout);
    }
    puts(" ;;");
}

/* Completes the word of a command or verb, if that is where the cursor is. */
static void zsh_words(const char *what, const struct mt_command *commands)
{
    printf("        names=(\n");
    for (; commands->name; commands++) {
        printf("            '%s:", word_of(commands));
        print_help(commands->summary, ":\\");
        fputs("'\n", stdout);
    }
    printf("        )\n"
           "        if (( CURRENT == 2 )); then\n"
           "            _describe -t commands 'memtap %s' names\n"
           "            return\n"
           "        fi\n",
           what);
}

static void print_zsh(void)
{
    fputs("#compdef memtap\n"
          "# Completes memtap's command lines in zsh. Made by: memtap completion zsh\n"
          "_memtap() {\n"
          "    local -a names\n"
          "        (( CURRENT == 2 )) && _values 'option' --help --version help\n"
          "        if (( CURRENT == 3 )) && [ \"$words[2]\" = help ]; then\n"
          "            words[1]=() CURRENT=2\n"
          "        fi\n",
          stdout);
    zsh_words("command", mt_commands);
    fputs("    local command=$words[2]\n"
          "    shift words\n"
          "    (( CURRENT-- ))\n"
          "    case $command in\n",
          stdout);
    for (const struct mt_command *command = mt_commands; command->name; command++) {
        if (!command->verbs)
            continue;
        printf("    %s)\n", command->name);
        zsh_words(command->name, command->verbs);
        fputs("        command+=\" $words[2]\"\n"
              "        shift words\n"
              "        (( CURRENT-- )) ;;\n",
              stdout);
    }
    fputs("    esac\n"
          "    case $command in\n",
          stdout);
    each(zsh_arguments);
    fputs("    esac\n"
          "}\n"
          "if [ \"$funcstack[1]\" = _memtap ]; then _memtap \"$@\"; else compdef _memtap memtap; "
          "fi\n",
          stdout);
}

/* --- fish ------------------------------------------------------------------------------------ */

/* Where the command, and the verb, have been typed. */
static void fish_where(const struct mt_command *command)
{
    const char *verb = word_of(command);
    printf("complete -c memtap -n '__fish_seen_subcommand_from %.*s",
           (int)strcspn(command->name, " "), command->name);
    if (verb != command->name)
        printf("; and __fish_seen_subcommand_from %s", verb);
    putchar('\'');
}

static void fish_option(const struct mt_command *command, const struct mt_option *option)
{
    fish_where(command);
    printf(" -l %s", option->name);
    if (mt_is_short(option->letter))
        printf(" -s %c", option->letter);
    if (option->value)
        fputs(takes_traces(option) ? " -x -a '(__memtap_traces)'"
              : is_file(option)    ? " -r -F"
                                   : " -x",
              stdout);
    if (option->choices) {
        fputs(" -a '", stdout);
        print_choices(option);
        putchar('\'');
    }
    fputs(" -d '", stdout);
    print_help(option->help, "\\");
    fputs("'\n", stdout);
}

static void fish_options(const struct mt_command *command)
{
    fish_where(command);
    if (command->takes_command)
        fputs(" -x -a '(__memtap_scripts; __fish_complete_subcommand --fcs-skip=2)'", stdout);
    else if (operands_of(command) == TRACES)
        fputs(" -f -a '(__memtap_traces)'", stdout);
    else
        fputs(" -f", stdout);
    if (operands_of(command) == WORDS) {
        fputs(" -a '", stdout);
        print_operands(command);
        putchar('\'');
    }
    putchar('\n');
    for (const struct mt_option *option = command->options; option->name; option++)
        fish_option(command, option);
}

static void fish_verbs(const struct mt_command *command)
{
    for (const struct mt_command *verb = command->verbs; verb->name; verb++) {
        printf("complete -c memtap -n '__fish_seen_subcommand_from %s; and not "
               "__fish_seen_subcommand_from",
               command->name);
        print_words(command->verbs);
        printf("' -f -a %s -d '", word_of(verb));
        print_help(verb->summary, "\\");
        fputs("'\n", stdout);
    }
}

static void print_fish(void)
{
    fputs("# Completes memtap's command lines in fish. Made by: memtap completion fish\n"
          "function __memtap_files\n"
          "    set -l typed (commandline -ct)\n"
          "    for path in $typed*$argv[1] $typed*/\n"
          "        echo $path\n"
          "    end\n"
          "end\n"
          "function __memtap_traces\n"
          "    __memtap_files .mtap\n"
          "end\n"
          "# Where the program's name is typed.\n"
          "function __memtap_scripts\n"
          "    set -l words (commandline -opc)\n"
          "    string match -qr '^(run|simulate|nightly|-.*)$' -- $words[-1]; and __memtap_files "
          ".py\n"
          "end\n"
          "complete -c memtap -n __fish_use_subcommand -f\n"
          "complete -c memtap -s h -l help -d 'show help'\n"
          "complete -c memtap -n __fish_use_subcommand -a help -d 'explain a command'\n"
          "complete -c memtap -n __fish_use_subcommand -l version -d 'show the version'\n"
          "complete -c memtap -n '__fish_seen_subcommand_from help' -f -a '",
          stdout);
    print_words(mt_commands);
    puts("'");
    for (const struct mt_command *command = mt_commands; command->name; command++) {
        printf("complete -c memtap -n __fish_use_subcommand -a %s -d '", command->name);
        print_help(command->summary, "\\");
        fputs("'\n", stdout);
        if (command->verbs)
            fish_verbs(command);
    }
    each(fish_options);
}

static const struct {
    const char *name;
    void (*print)(void);
} shells[] = {{"bash", print_bash}, {"zsh", print_zsh}, {"fish", print_fish}};

int mt_run_completion(const struct mt_command *command, int argc, char **argv)
{
    const char *value;
    int operand;
    if (mt_options_next(command, argc, argv, &value, &operand))
        return MT_EXIT_BAD;
    if (operand == argc)
        return mt_fail_usage(command, "no shell given; use bash, zsh or fish");
    if (operand + 1 < argc)
        return mt_fail_usage(command, "unexpected argument '%s'", argv[operand + 1]);
    for (size_t i = 0; i < sizeof shells / sizeof *shells; i++)
        if (!strcmp(argv[operand], shells[i].name)) {
            shells[i].print();
            return MT_EXIT_OK;
        }
    return mt_fail_usage(command, "unknown shell '%s'; use bash, zsh or fish", argv[operand]);
}
