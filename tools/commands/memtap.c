/* SPDX-License-Identifier: Apache-2.0 */
/* The memtap command: the table of its subcommands. */
#include "commands.h"
#include "settings/nearest.h"
#include "tools/copies/command.h"
#include "tools/input/check-arguments.h"
#include "tools/input/trace-arguments.h"
#include "tools/launch/pytorch-check.h"
#include "tools/metrics/command.h"
#include "tools/terminal/command.h"

#include <locale.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int run_completion(const struct mt_command *command, int argc, char **argv);

static const struct mt_command commands[] = {
    {"run", "[OPTION]... [--] COMMAND [ARGUMENT]...", "run a program and record a trace",
     "Runs a program with memtap's recording library preloaded. Every process of it\n"
     "that uses CUDA writes a trace; memtap prints their names at the end. The exit code\n"
     "is the program's own (128 + N when signal N killed it). Python runs a script\n"
     "(train.py) or a module (-m MODULE).",
     mt_run_options, 1, mt_run_run},
    {"simulate", "[OPTION]... [--] COMMAND [ARGUMENT]...",
     "run a program on a simulated CUDA device",
     "Runs a program on a simulated CUDA device. The device counts memory as the real\n"
     "card does; kernels do nothing. It needs no GPU and no driver, but the CUDA build\n"
     "of PyTorch.",
     mt_simulate_options, 1, mt_run_simulate},
    {"fit", "--simulate CARD[,CARD]... [OPTION]... [--] COMMAND...",
     "find what fits a card: the largest batch, by runs",
     "Runs a program again and again on simulated cards and finds the largest value that fits "
     "each\n"
     "of them: memtap fit --simulate h100 --vary batch=1..512 -- train.py --batch {batch}.\n"
     "Every answer is two runs: N fits, and N + 1 does not. The exit code is 1 if a card has no\n"
     "value that fits, and 2 if memtap cannot tell.",
     mt_fit_options, 1, mt_run_fit},
    {"report", "[OPTION]... [TRACE]...", "explain a trace: the peak, by category and call site",
     "Explains a trace: how much memory was allocated at the peak, what for, and by\n"
     "which lines. Several traces are the ranks of one job.",
     mt_report_options, 0, mt_run_report},
    {"view", "[OPTION]... [TRACE]...", "show a trace in a browser",
     "Makes a page that carries the traces and memtap's analyzer, and opens it in a browser.\n"
     "The page is one file: it needs no network and sends nothing anywhere.",
     mt_view_options, 0, mt_run_view},
    {"top", "[OPTION]... [PID|TRACE]...", "watch a running program's memory in the terminal",
     "Follows the traces of a running program while it writes them, and shows what is live:\n"
     "by category and by line, how much of the card, the iteration and its growth. Nothing\n"
     "is asked of the program. Several traces are the ranks of a job.",
     mt_top_options, 0, mt_run_top},
    {"save", "[OPTION]... [PID|TRACE]...", "save what a running program's trace has now",
     "Copies the trace of a running program, with all that was recorded so far, into a file\n"
     "that is complete. A light recording (memtap run --light) tells everything up to then,\n"
     "and with --full everything of the next iterations.",
     mt_save_options, 0, mt_run_save},
    {"oom", "[OPTION]... [TRACE]...", "explain why memory ran out",
     "Explains why a program ran out of memory the last time: what was requested, and by\n"
     "which line; what was live; why the free memory did not help; what would help.",
     mt_oom_options, 0, mt_run_oom},
    {"plan", "[OPTION]... [TRACE]", "replay the run under other settings of PyTorch's allocator",
     "Replays a trace's requests under other settings of PyTorch's allocator, and on other\n"
     "cards: what each would have reserved, whether it fits, and where it would not; how\n"
     "much of the memory any allocator could have avoided. Ends with the cheapest settings\n"
     "and changes of the program that make it fit; the exit code is 1 if nothing does.",
     mt_plan_options, 0, mt_run_plan},
    {"diff", "[OPTION]... OLD NEW", "compare two runs: what changed, and which lines did it",
     "Compares two runs of a program: how the peak changed, and which categories, phases\n"
     "and call sites changed it. OLD and NEW are traces, or folders of traces. Several of\n"
     "each (OLD... --to NEW...) are the ranks of a job, or repeated runs; a difference\n"
     "within the spread of repeated runs is marked as noise.",
     mt_diff_options, 0, mt_run_diff},
    {"stacks", "[OPTION]... [TRACE]...", "show live memory by whole stacks",
     "Shows the memory that was live at a moment as a tree of stacks. It leaves out frames\n"
     "of PyTorch and of Python's library, and branches below 1 % of the total. The format\n"
     "folded is for flame graphs.",
     mt_stacks_options, 0, mt_run_stacks},
    {"explain", "[OPTION]... [TRACE] ADDRESS|STACK", "explain why a block has its category",
     "Shows how memtap classified the block at an address, or all live blocks of a stack\n"
     "(a number that memtap blocks shows): the evidence, every rule, and the rule that\n"
     "decided.",
     mt_explain_options, 0, mt_run_explain},
    {"blocks", "[OPTION]... [TRACE]...", "list every live block at a moment",
     "Lists every block of memory that was live at a moment: its address, size, category\n"
     "and rule, its age, and the line that requested it.",
     mt_blocks_options, 0, mt_run_blocks},
    {"check", "TRACE... [OPTION]...", "check runs against limits; exit code 1 if one is broken",
     "Checks each trace against a budget, against earlier runs, or against both. For each\n"
     "broken limit it prints a line: the excess, the line of code behind it, and the\n"
     "command to run next. The exit code is 1 if a limit is broken, 0 if all hold, and 2\n"
     "if memtap cannot tell.",
     mt_check_options, 0, mt_run_check},
    {"budget", "[OPTION]... TRACE...", "propose limits for memtap check from good runs",
     "Writes a budget for memtap check: the most memory that the runs took, with a margin,\n"
     "in round numbers and with comments.",
     mt_budget_options, 0, mt_run_budget},
    {"info", "[OPTION]... [TRACE]", "summarize a trace: process, events, completeness",
     "Summarizes a trace: the process that wrote it, whether it is complete, and how many\n"
     "events of each kind it has.",
     mt_trace_options, 0, mt_run_info},
    {"dump", "[OPTION]... [TRACE]", "print every record of a trace",
     "Prints every record of a trace, in the order of the file: definitions (strings,\n"
     "frames, stacks, threads, info) before the events that use them. The format\n"
     "json prints one object per line.",
     mt_trace_options, 0, mt_run_dump},
    {"fleet", "[OPTION]... FOLDER", "compare thousands of ranks: which are unlike the others",
     "Reads all traces in a folder and in the folders in it, or a dataset that memtap export\n"
     "--format parquet wrote, and says which ranks are unlike those of equal role, by which\n"
     "line; which grow; who is nearest to running out; and what changed between runs. DuckDB\n"
     "answers: pip install pyarrow duckdb.",
     mt_fleet_options, 0, mt_run_fleet},
    {"export", "-f FORMAT [OPTION]... [TRACE]...", "write a trace in another tool's format",
     "Writes traces so that other tools open them: PyTorch's memory_viz, Perfetto, pprof,\n"
     "speedscope, flame graphs, tables for whatever reads Arrow or CSV.",
     mt_export_options, 0, mt_run_export},
    {"metrics", "[OPTION]... [TRACE]...", "print a trace's figures for Prometheus and the like",
     "Prints OpenMetrics text: allocated and reserved memory, by category, at the end and at\n"
     "the peak; the card; iterations and growth; how the run ended. With --follow it keeps a\n"
     "file up to date while the program runs, for node_exporter's textfile collector.",
     mt_metrics_options, 0, mt_run_metrics},
    {"import", "[-o TRACE] FILE", "make a trace of what another tool recorded",
     "Makes a trace of a memory snapshot of PyTorch (a pickle or JSON), of torch.profiler's "
     "memory\n"
     "events (JSON), or of Nsight Systems' SQLite export. Nothing in the file is executed. Every\n"
     "command then reads the trace.",
     mt_import_options, 0, mt_run_import},
    {"history", "VERB [OPTION]...", "keep runs over time: add, list, show, trend, prune",
     "Keeps the figures of many runs in one file, with the commit of each run, and finds\n"
     "the commit at which memory grew.",
     mt_no_options, 0, NULL, mt_history_verbs},
    {"nightly", "[OPTION]... [--] COMMAND [ARGUMENT]...",
     "record a nightly run and compare it with good ones",
     "Runs a program as memtap run does, checks its traces against the newest good nights and\n"
     "a budget, adds them to a history, and keeps them in good/ or bad/ of a folder. The exit\n"
     "code is the program's own. If that is 0, memtap exits with 0 for a good night, 1 if a\n"
     "limit is broken or the run is not whole, and 2 if there is no trace or memtap cannot\n"
     "tell.",
     mt_nightly_options, 1, mt_run_nightly},
    {"compact", "[OPTION]... TRACE", "write a small copy of a trace, to keep",
     "Writes a small copy of a trace. The copy has the peaks, iterations and totals, but not\n"
     "every event. A report of it says the same as a report of the trace.",
     mt_compact_options, 0, mt_run_compact},
    {"recover", "[OPTION]... TRACE", "finish the trace of a program that was killed",
     "Makes one complete file from a killed program's trace and the tail beside it\n"
     "(TRACE.tail), or from a trace that was cut. The other commands read such traces as\n"
     "they are; recover them to keep or move them.",
     mt_recover_options, 0, mt_run_recover},
    {"symbolize", "[OPTION]... TRACE", "write the names of native frames into a trace",
     "Looks up the functions, files and lines of a trace's native frames in the libraries of\n"
     "this machine, and writes them into the trace. Other machines can then read it without\n"
     "these libraries.",
     mt_symbolize_options, 0, mt_run_symbolize},
    {"lib", "", "print the path of the recording library",
     "Prints the path of libmemtap.so. To use it:\n"
     "  LD_PRELOAD=$(memtap lib) python train.py",
     mt_no_options, 0, mt_run_lib},
    {"completion", "bash|zsh|fish", "print a shell's completion of memtap's command lines",
     "Prints a script that completes memtap's command lines in a shell. To use it:\n"
     "  source <(memtap completion bash)",
     mt_no_options, 0, run_completion},
    {0},
};

static const struct mt_command itself = {.name = ""};

/* Return the last word of a name: "add" of "history add". */
static const char *word_of(const struct mt_command *command)
{
    const char *space = strrchr(command->name, ' ');
    return space ? space + 1 : command->name;
}

/* Find a command, or a command's verb, by name. */
static const struct mt_command *find(const struct mt_command *all, const char *name)
{
    while (all->name && strcmp(word_of(all), name))
        all++;
    return all->name ? all : NULL;
}

static int run_completion(const struct mt_command *command, int argc, char **argv)
{
    return mt_complete(commands, command, argc, argv);
}

static int ends_with(const char *name, const char *end)
{
    size_t n = strlen(name), n_end = strlen(end);
    return n > n_end && !strcmp(name + n - n_end, end);
}

/* Return the missing command if the name is a program or a trace; NULL: neither. */
static const char *missing_word(const char *name)
{
    char path[PATH_MAX];
    if (ends_with(name, ".mtap") && !access(name, F_OK))
        return "report";
    if (mt_find_command(name, path) || (ends_with(name, ".py") && !access(name, F_OK)))
        return "run";
    return NULL;
}

/* Refuse an unknown word. command: the verb's command; `itself` for a command. */
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
        return mt_fail_usage(command, "unknown command '%s'; did you mean 'memtap %s %s%s'?", name,
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
    for (const struct mt_command *command = commands; command->name; command++)
        printf("  %-10s %s\n", command->name, command->summary);
    puts("\nOptions:\n"
         "  -h, --help  show this help\n"
         "  --version   show memtap's version\n"
         "  --most-memory SIZE, --most-output SIZE, --most-events NUMBER\n"
         "              let a command use this much memory, print this much, or expand\n"
         "              each trace to so many events\n\n"
         "memtap help COMMAND explains a command. To begin:\n"
         "  memtap run python train.py");
}

/* Look for --help and -h among the command's own arguments, not among a started program's. */
static bool wants_help(const struct mt_command *command, int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--"); i++) {
        if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h"))
            return true;
        if (command->takes_command && *argv[i] != '-')
            return false;
    }
    return false;
}

static int print_help(const struct mt_command *command)
{
    if (command->verbs)
        print_verbs(command);
    else
        mt_print_help(command);
    return MT_EXIT_OK;
}

/* Run memtap help [COMMAND [VERB]]. */
static int help(int argc, char **argv)
{
    if (argc < 2 || !strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
        print_overview();
        return MT_EXIT_OK;
    }
    const struct mt_command *command = find(commands, argv[1]);
    if (!command)
        return fail_unknown(&itself, commands, argv[1]);
    if (command->verbs && argc > 2) {
        const struct mt_command *verb = find(command->verbs, argv[2]);
        return verb ? print_help(verb) : fail_unknown(command, command->verbs, argv[2]);
    }
    return print_help(command);
}

/* Run a command. argv[0] is the command's name. */
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
    const struct mt_command *command = find(commands, argv[1]);
    if (!command)
        return fail_unknown(&itself, commands, argv[1]);
    return run_command(command, argc - 1, argv + 1);
}

static void go_on(int number)
{
    (void)number;
}

int main(int argc, char **argv)
{
    /* A file that may not grow is an error like a full disk. A program that is started dies of the
     * signal as it would without us: a handler, unlike SIG_IGN, does not outlive exec. */
    struct sigaction limit = {.sa_handler = go_on, .sa_flags = SA_RESTART}, before;
    if (!sigaction(SIGXFSZ, NULL, &before) && before.sa_handler == SIG_DFL)
        sigaction(SIGXFSZ, &limit, NULL);
    setlocale(LC_CTYPE, ""); /* only for printable characters: numbers stay as they are */
    return mt_finish_output(dispatch(argc, argv));
}
