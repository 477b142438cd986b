/* SPDX-License-Identifier: Apache-2.0 */
/* The memtap command: the table of its subcommands. */
#include "analyzer/support/nearest.h"
#include "commands.h"
#include "tools/input/check-arguments.h"
#include "tools/input/trace-arguments.h"
#include "tools/launch/pytorch-check.h"
#include "tools/terminal/bounds.h"
#include "tools/terminal/command.h"

#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

const struct mt_command mt_commands[] = {
    {"run", "[OPTION]... [--] COMMAND [ARGUMENT]...", "run a program and record a trace",
     "Runs a program with memtap's recording library preloaded. Every process of it\n"
     "that uses CUDA writes a trace; where they are is said at the end. The exit code\n"
     "is the program's own (128 + the signal's number when one killed it). A script\n"
     "(train.py) or a module (-m MODULE) is run by Python.",
     mt_run_options, 1, mt_run_run},
    {"simulate", "[OPTION]... [--] COMMAND [ARGUMENT]...",
     "run a program on a simulated CUDA device",
     "Runs a program on a CUDA device that is simulated: memory is accounted for as on\n"
     "the real card, kernels do nothing. No GPU and no driver is needed, but the CUDA\n"
     "build of PyTorch is.",
     mt_simulate_options, 1, mt_run_simulate},
    {"report", "[OPTION]... TRACE...", "explain a trace: the peak, by category and call site",
     "Explains a trace: how much memory was allocated at the peak, what for, and by\n"
     "which lines. Several traces are those of the ranks of one job.",
     mt_report_options, 0, mt_run_report},
    {"oom", "[OPTION]... TRACE...", "explain why memory ran out",
     "Explains the last out-of-memory of a trace: what was asked for and by which line,\n"
     "what was live, why what was free did not help, and what would.",
     mt_oom_options, 0, mt_run_oom},
    {"diff", "[OPTION]... OLD NEW", "what has changed between two runs",
     "Compares two runs of a program: how the peak has changed, and which categories,\n"
     "phases and call sites are to blame. OLD and NEW are traces, or folders of them;\n"
     "several of each (OLD... --to NEW...) are ranks of a job, matched by rank, or\n"
     "repeated runs: then what differs no more than these by themselves is noise.",
     mt_diff_options, 0, mt_run_diff},
    {"stacks", "[OPTION]... TRACE...", "what was live, by whole stacks",
     "Shows what was live at a moment as a tree of stacks; frames of PyTorch itself and\n"
     "of Python's library, and what has less than a hundredth of all, are left out.\n"
     "folded is for flame graphs.",
     mt_stacks_options, 0, mt_run_stacks},
    {"explain", "[OPTION]... TRACE ADDRESS|STACK", "why a block is what it is said to be",
     "Shows the whole reasoning about the block at an address, or about all live blocks\n"
     "of a stack (a number that memtap blocks shows): what was seen of it, every rule,\n"
     "and which of them decided.",
     mt_explain_options, 0, mt_run_explain},
    {"blocks", "[OPTION]... TRACE...", "every live block at a moment of a trace",
     "Lists every block of memory that was live at a moment: address, size, what it\n"
     "was for and by which rule, how old it was, and the line that asked for it.",
     mt_blocks_options, 0, mt_run_blocks},
    {"check", "TRACE... [OPTION]...", "hold runs to limits: exit code 1 where one is broken",
     "Holds each trace to a budget, or to what earlier runs took, or both; a line for each\n"
     "limit that is broken says how much it is over, by which line of code, and what to run\n"
     "next. The exit code is 1 then, 0 where all limits hold, 2 where that cannot be told.",
     mt_check_options, 0, mt_run_check},
    {"budget", "[OPTION]... TRACE...", "propose limits for memtap check from good runs",
     "Writes a budget for memtap check: the most that the runs took, a little more, in round\n"
     "numbers, with comments.",
     mt_budget_options, 0, mt_run_budget},
    {"info", "[OPTION]... TRACE", "what a trace has in it",
     "Says what a trace has in it: how many events of each kind, whether it is\n"
     "complete, and which process it is of.",
     mt_trace_options, 0, mt_run_info},
    {"dump", "[OPTION]... TRACE", "every record of a trace",
     "Prints every record of a trace, in the order of the file: definitions (strings,\n"
     "frames, stacks, threads, info) before the events that use them. json: one object\n"
     "a line.",
     mt_trace_options, 0, mt_run_dump},
    {"history", "VERB [OPTION]...", "runs night after night: add, list, show, trend, prune",
     "Keeps what the traces of many runs say in one file, with the commit of each run, and\n"
     "finds the commit at which memory grew.",
     mt_no_options, 0, NULL, mt_history_verbs},
    {"nightly", "[OPTION]... [--] COMMAND [ARGUMENT]...",
     "record a night, compare it with good ones: good or bad",
     "Runs a program as memtap run does, holds its traces to the newest good nights and to a\n"
     "budget, adds them to a history and keeps them in good/ or bad/ of a folder. The exit code\n"
     "is the program's own; where that is 0, 1 when a limit is broken or the run is not whole,\n"
     "2 when no trace was made or it cannot be told, and 0 when the night is good.",
     mt_nightly_options + 1 /* not --output */, 1, mt_run_nightly},
    {"compact", "[OPTION]... TRACE", "a small copy of a trace, to be kept",
     "Writes a copy of a trace that has its peaks, iterations and totals, but not every event:\n"
     "reports of it say the same, and it is a small part of the size.",
     mt_compact_options, 0, mt_run_compact},
    {"recover", "[OPTION]... TRACE", "finish the trace of a program that was killed",
     "Makes one complete file of the trace of a program that was killed and of what is\n"
     "beside it (TRACE.tail), or of a trace that was cut. The other commands read such\n"
     "traces as they are; this is for keeping or moving them.",
     mt_recover_options, 0, mt_run_recover},
    {"symbolize", "[OPTION]... TRACE", "write the names of native frames into a trace",
     "Looks up the functions, files and lines of a trace's native frames, in the libraries\n"
     "that are on this machine, and writes them into the trace: it can then be read where\n"
     "these libraries are not.",
     mt_symbolize_options, 0, mt_run_symbolize},
    {"lib", "", "the path of the recording library",
     "Prints the path of libmemtap.so, for\n"
     "  LD_PRELOAD=$(memtap lib) python train.py",
     mt_no_options, 0, mt_run_lib},
    {"completion", "bash|zsh|fish", "completion of memtap's command lines, for a shell",
     "Prints what completes memtap's command lines in a shell, for\n"
     "  source <(memtap completion bash)",
     mt_no_options, 0, mt_run_completion},
    {0},
};

static const struct mt_command itself = {.name = ""};

/* Of "history add" only "add". */
static const char *word_of(const struct mt_command *command)
{
    const char *space = strrchr(command->name, ' ');
    return space ? space + 1 : command->name;
}

/* Among the commands, or the verbs of one. */
static const struct mt_command *find(const struct mt_command *commands, const char *name)
{
    while (commands->name && strcmp(word_of(commands), name))
        commands++;
    return commands->name ? commands : NULL;
}

static int ends_with(const char *name, const char *end)
{
    size_t n = strlen(name), n_end = strlen(end);
    return n > n_end && !strcmp(name + n - n_end, end);
}

/* A program, or a trace, where the command should be: the word that is missing. NULL: neither. */
static const char *missing_word(const char *name)
{
    char path[PATH_MAX];
    if (ends_with(name, ".mtap") && !access(name, F_OK))
        return "report";
    if (mt_find_command(name, path) || (ends_with(name, ".py") && !access(name, F_OK)))
        return "run";
    return NULL;
}

/* `command`: whose verb it is; `itself` for a command. */
static int fail_unknown(const struct mt_command *command, const struct mt_command *all,
                        const char *name)
{
    char meant[128];
    const char *what = *name == '-' ? "option" : command->verbs ? "verb" : "command", *missing;
    struct mt_nearest nearest = {.typed = name, .length = strlen(name)};
    for (; all->name; all++)
        mt_nearest_offer(&nearest, word_of(all));
    mt_nearest_offer(&nearest, "--help");
    mt_nearest_offer(&nearest, "--version");
    if (!nearest.found && !command->verbs && (missing = missing_word(name)))
        return mt_fail_usage(command,
                             "'%s' is no command of memtap's; did you mean 'memtap %s %s%s'?", name,
                             missing, name, *missing == 'r' && missing[1] == 'u' ? " ..." : "");
    return mt_fail_usage(command, "unknown %s '%s'%s", what, name,
                         mt_nearest_text(&nearest, "", meant, sizeof meant));
}

static void print_verbs(const struct mt_command *command)
{
    printf("Usage: memtap %s %s\n\n%s\n\nVerbs:\n", command->name, command->operands,
           command->description);
    for (const struct mt_command *verb = command->verbs; verb->name; verb++)
        printf("  %-14s %s\n", verb->name, verb->summary);
    printf("\nmemtap help %s VERB explains a verb.\n", command->name);
}

static void print_overview(void)
{
    puts("Usage: memtap COMMAND [OPTION]...\n\n"
         "Records and explains the GPU memory of unmodified PyTorch and C programs.\n\n"
         "Commands:");
    for (const struct mt_command *command = mt_commands; command->name; command++)
        printf("  %-10s %s\n", command->name, command->summary);
    puts("\nOptions:\n"
         "  -h, --help  show this help\n"
         "  --version   show memtap's version\n"
         "  --most-memory SIZE, --most-output SIZE\n"
         "              what a command may take, before it says that there is more\n\n"
         "memtap help COMMAND explains a command. To begin:\n"
         "  memtap run python train.py");
}

/* --help and -h are taken out of the command's own arguments here; those of a program that it
 * starts are not looked at. */
static int wants_help(const struct mt_command *command, int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--"); i++) {
        if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h"))
            return 1;
        if (command->takes_command && *argv[i] != '-')
            return 0;
    }
    return 0;
}

static int print_help(const struct mt_command *command)
{
    if (command->verbs)
        print_verbs(command);
    else
        mt_print_help(command);
    return MT_EXIT_OK;
}

/* memtap help [COMMAND [VERB]] */
static int help(int argc, char **argv)
{
    if (argc < 2 || !strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
        print_overview();
        return MT_EXIT_OK;
    }
    const struct mt_command *command = find(mt_commands, argv[1]);
    if (!command)
        return fail_unknown(&itself, mt_commands, argv[1]);
    if (command->verbs && argc > 2) {
        const struct mt_command *verb = find(command->verbs, argv[2]);
        return verb ? print_help(verb) : fail_unknown(command, command->verbs, argv[2]);
    }
    return print_help(command);
}

/* argv[0] is the command's name. */
static int run_command(const struct mt_command *command, int argc, char **argv)
{
    const struct mt_command *verb =
        command->verbs && argc > 1 ? find(command->verbs, argv[1]) : NULL;
    if (verb)
        return run_command(verb, argc - 1, argv + 1);
    if (wants_help(command, argc, argv))
        return print_help(command);
    if (command->verbs)
        return argc > 1 ? fail_unknown(command, command->verbs, argv[1])
                        : mt_fail_usage(command, "no verb given");
    if (!command->takes_command) {
        signal(SIGPIPE, SIG_DFL); /* memtap dump ... | head ends quietly */
        mt_bounds_begin();
    }
    return command->run(command, argc, argv);
}

static int dispatch(int argc, char **argv)
{
    int limits = mt_bounds_read(argc, argv);
    if (limits < 0)
        return MT_EXIT_BAD;
    argc -= limits;
    argv += limits;
    if (argc < 2)
        return mt_fail_usage(&itself, "no command given");
    if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help"))
        return help(argc - 1, argv + 1);
    if (!strcmp(argv[1], "--version")) {
        puts("memtap " MT_VERSION);
        return MT_EXIT_OK;
    }
    const struct mt_command *command = find(mt_commands, argv[1]);
    if (!command)
        return fail_unknown(&itself, mt_commands, argv[1]);
    return run_command(command, argc - 1, argv + 1);
}

int main(int argc, char **argv)
{
    setlocale(LC_CTYPE, ""); /* only what can be printed: numbers stay as they are */
    return mt_finish_output(dispatch(argc, argv));
}
