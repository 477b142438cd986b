/* SPDX-License-Identifier: Apache-2.0 */
/* The memtap command: the table of its subcommands. */
#include "commands.h"
#include "tools/memtap/attach/command.h"
#include "tools/memtap/input/check-arguments.h"
#include "tools/memtap/input/trace-arguments.h"
#include "tools/memtap/launch/pytorch-check.h"
#include "tools/memtap/metrics/command.h"
#include "tools/memtap/recordings/command.h"
#include "tools/memtap/terminal/command.h"
#include "trace-format/settings/nearest.h"

#include <locale.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int run_completion(const struct mt_command *command, int argc, char **argv);

static const struct mt_command commands[] = {
    {"run", "[OPTION]... [--] COMMAND [ARGUMENT]...", "run a program and record a trace",
     "Runs a program with memtap's recording library preloaded. Each of its processes that\n"
     "uses CUDA writes a trace; memtap prints the traces' names at the end. The exit code is\n"
     "the program's own (128 + N if signal N killed it). A script (train.py) or a module\n"
     "(-m MODULE) runs with Python.",
     mt_run_options, 1, mt_run_run},
    {"simulate", "[OPTION]... [--] COMMAND [ARGUMENT]...",
     "run a program on a simulated CUDA device",
     "Runs a program on a simulated CUDA device. The device accounts for memory as the real\n"
     "card does; kernels do nothing. This needs no GPU and no driver, only the CUDA build of\n"
     "PyTorch.",
     mt_simulate_options, 1, mt_run_simulate},
    {"fit", "--simulate CARD[,CARD]... [OPTION]... [--] COMMAND...",
     "find the largest batch or model that fits a card",
     "Runs a program repeatedly on simulated cards and finds the largest value that fits each:\n"
     "memtap fit --simulate h100 --vary batch=1..512 -- train.py --batch {batch}.\n"
     "Two runs prove each answer: N fits, and N + 1 does not. The exit code is 1 if no value fits\n"
     "a card, and 2 if the answer is unknown.",
     mt_fit_options, 1, mt_run_fit},
    {"report", "[OPTION]... [TRACE]...", "explain a trace: the peak, by category and call site",
     "Explains a trace: how much memory was allocated at the peak, what it was used for, and\n"
     "which lines allocated it. Several traces are the ranks of one job.",
     mt_report_options, 0, mt_run_report},
    {"view", "[OPTION]... [TRACE]...", "show a trace in a browser",
     "Writes an HTML page with the traces and memtap's analyzer, and opens it in a browser.\n"
     "The page is a single file: it needs no network and sends nothing anywhere.",
     mt_view_options, 0, mt_run_view},
    {"top", "[OPTION]... [PID|TRACE]...", "watch a running program's memory in the terminal",
     "Follows the traces of a running program and shows its live memory by category and line,\n"
     "the card's usage, the iteration and growth. The program is not disturbed. Several traces\n"
     "are the ranks of a job.",
     mt_top_options, 0, mt_run_top},
    {"save", "[OPTION]... [PID|TRACE]...", "save a running program's trace",
     "Copies everything that a running program has recorded so far to a complete trace. A\n"
     "light recording (memtap run --light) is saved in full up to this moment; --full also\n"
     "records the next iterations in full.",
     mt_save_options, 0, mt_run_save},
    {"start", "[OPTION]... [PID|FOLDER]...", "start the recording of a dormant program",
     "Starts the recording of programs that run with memtap loaded and do not record: started\n"
     "with memtap run --dormant, or stopped by memtap stop. A process records from its next\n"
     "allocation on, in a trace of its own. PID: also its descendants; FOLDER: the processes\n"
     "that write their traces there.",
     mt_start_options, 0, mt_start_recordings},
    {"stop", "[PID|TRACE|FOLDER]...", "stop a recording; the program continues",
     "Stops recordings and completes their traces. The programs continue, with memtap loaded\n"
     "and doing nothing; memtap start PID starts another recording.",
     mt_no_options, 0, mt_stop_recordings},
    {"attach", "[OPTION]... PID...", "record a program that was started without memtap",
     "Loads memtap into a running program and records it from now on. One of its threads is\n"
     "stopped for milliseconds; the others keep running. What PyTorch had allocated before is\n"
     "known without its lines. The MEMTAP_* variables of this command apply to the recording\n"
     "(libmemtap(7)).",
     mt_attach_options, 0, mt_run_attach, .maps_programs = true},
    {"detach", "[OPTION]... PID...", "end the recording of memtap attach; the program continues",
     "Ends a recording that memtap attach began: completes the trace, and restores the program's\n"
     "calls. memtap's library stays loaded and does nothing.",
     mt_detach_options, 0, mt_run_detach, .maps_programs = true},
    {"oom", "[OPTION]... [TRACE]...", "explain why memory ran out",
     "Explains the last time that a program ran out of memory: what was requested, and by\n"
     "which line; what was live; why the free memory could not be used; what would help.",
     mt_oom_options, 0, mt_run_oom},
    {"plan", "[OPTION]... [TRACE]", "find settings and changes that save memory",
     "Replays a trace's requests under other settings of PyTorch's allocator and on other\n"
     "cards: what each would reserve, whether it fits, and where it would fail; and how much\n"
     "memory any allocator could avoid. Ends with the cheapest settings and program changes\n"
     "that make it fit. The exit code is 1 if nothing does.",
     mt_plan_options, 0, mt_run_plan},
    {"diff", "[OPTION]... OLD NEW", "compare two runs: what changed, and by which lines",
     "Compares two runs of a program: how the peak changed, and which categories, phases\n"
     "and call sites changed it. OLD and NEW are traces, or folders of traces. Several of\n"
     "each (OLD... --to NEW...) are the ranks of a job or repeated runs; a difference\n"
     "within the spread of repeated runs is marked as noise.",
     mt_diff_options, 0, mt_run_diff},
    {"stacks", "[OPTION]... [TRACE]...", "show live memory as a tree of stacks",
     "Shows the memory that was live at a moment as a tree of stacks, without the frames of\n"
     "PyTorch and Python's library and without branches below 1 % of the total. --format\n"
     "folded is for flame graphs.",
     mt_stacks_options, 0, mt_run_stacks},
    {"explain", "[OPTION]... [TRACE] ADDRESS|STACK", "explain why a block has its category",
     "Shows how memtap classified the block at an address, or all live blocks of a stack\n"
     "(numbered by memtap blocks): the evidence, every rule, and the rule that applied.",
     mt_explain_options, 0, mt_run_explain},
    {"blocks", "[OPTION]... [TRACE]...", "list every live block at a moment",
     "Lists every block of memory that was live at a moment: its address, size, category\n"
     "and rule, its age, and the line that requested it.",
     mt_blocks_options, 0, mt_run_blocks},
    {"holders", "[OPTION]... [TRACE]...", "show what keeps memory alive",
     "Shows what keeps the GPU memory alive: the variables, containers and graphs of the\n"
     "program that lead to it, by bytes, and what is garbage. Record them with memtap run\n"
     "--holders.",
     mt_holders_options, 0, mt_run_holders},
    {"check", "TRACE... [OPTION]...", "check runs against limits; exit code 1 if one is broken",
     "Checks each trace against a budget, earlier runs, or both. For each broken limit it\n"
     "prints the excess, the line of code responsible, and the command to run next. The exit\n"
     "code is 0 if all limits hold, 1 if one is broken, and 2 if the answer is unknown.",
     mt_check_options, 0, mt_run_check},
    {"budget", "[OPTION]... TRACE...", "propose limits for memtap check from good runs",
     "Writes a budget for memtap check: the most memory that the runs used plus a margin,\n"
     "in round numbers and with comments.",
     mt_budget_options, 0, mt_run_budget},
    {"info", "[OPTION]... [TRACE]", "summarize a trace: process, events, completeness",
     "Summarizes a trace: the process that wrote it, whether it is complete, and how many\n"
     "events of each kind it has.",
     mt_trace_options, 0, mt_run_info},
    {"dump", "[OPTION]... [TRACE]", "print every record of a trace",
     "Prints every record of a trace in file order: definitions (strings, frames, stacks,\n"
     "threads, info) before the events that use them. --format json prints one object per\n"
     "line.",
     mt_trace_options, 0, mt_run_dump},
    {"fleet", "[OPTION]... FOLDER", "compare thousands of ranks and find the outliers",
     "Reads all traces below a folder, or a dataset written by memtap export --format parquet,\n"
     "and shows which ranks differ from others of their role, and by which line; which grow;\n"
     "which are closest to running out of memory; and what changed between runs. Needs DuckDB:\n"
     "pip install pyarrow duckdb.",
     mt_fleet_options, 0, mt_run_fleet},
    {"export", "-f FORMAT [OPTION]... [TRACE]...", "write a trace in another tool's format",
     "Converts traces for other tools: PyTorch's memory_viz, Perfetto, pprof, speedscope,\n"
     "flame graphs, and tables as Arrow or CSV.",
     mt_export_options, 0, mt_run_export},
    {"metrics", "[OPTION]... [TRACE]...", "print a trace's metrics for Prometheus",
     "Prints OpenMetrics text: allocated and reserved memory by category, at the end and at\n"
     "the peak; the card; iterations and growth; how the run ended. --follow keeps a file up\n"
     "to date while the program runs, for node_exporter's textfile collector.",
     mt_metrics_options, 0, mt_run_metrics},
    {"import", "[-o TRACE] FILE", "convert another tool's recording to a trace",
     "Converts a PyTorch memory snapshot (pickle or JSON), torch.profiler's memory events (JSON)\n"
     "or an SQLite export of Nsight Systems to a trace, which every command then reads. Nothing\n"
     "in the file is executed.",
     mt_import_options, 0, mt_run_import},
    {"history", "SUBCOMMAND [OPTION]...", "track runs over time: add, list, show, trend, prune",
     "Keeps the memory use of many runs in one file, with the commit of each run, and finds\n"
     "the commit at which memory grew.",
     mt_no_options, 0, NULL, mt_history_verbs},
    {"nightly", "[OPTION]... [--] COMMAND [ARGUMENT]...",
     "record a nightly run and compare it with those that passed",
     "Runs a program as memtap run does, checks its traces against the newest runs that passed\n"
     "and a budget, adds them to a history, and keeps them in good/ or bad/ of a folder. The\n"
     "exit code is the program's own. If that is 0, it is 0 for PASS, 1 if a limit is broken or\n"
     "the run is incomplete, and 2 if there is no trace or the answer is unknown.",
     mt_nightly_options, 1, mt_run_nightly},
    {"compact", "[OPTION]... TRACE", "write a small copy of a trace",
     "Writes a small copy of a trace. The copy keeps the peaks, iterations and totals, but not\n"
     "every event; its report is the same.",
     mt_compact_options, 0, mt_run_compact},
    {"recover", "[OPTION]... TRACE", "repair the trace of a killed program",
     "Joins a killed program's trace and its tail (TRACE.tail) into one complete file, or\n"
     "repairs a truncated trace. The other commands read such traces as they are; recover\n"
     "them to keep or move them.",
     mt_recover_options, 0, mt_run_recover},
    {"symbolize", "[OPTION]... TRACE", "resolve a trace's native frames",
     "Looks up the functions, files and lines of a trace's native frames in this machine's\n"
     "libraries and writes them into the trace, so that other machines can read it without\n"
     "them.",
     mt_symbolize_options, 0, mt_run_symbolize},
    {"lib", "", "print the path of the recording library",
     "Prints the path of libmemtap.so. To use it:\n"
     "  LD_PRELOAD=$(memtap lib) python train.py",
     mt_no_options, 0, mt_run_lib},
    {"completion", "bash|zsh|fish", "print a shell completion script",
     "Prints a script that completes memtap command lines in a shell. To use it:\n"
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

static bool ends_with(const char *name, const char *end)
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
    const char *what = *name == '-'     ? "option"
                       : command->verbs ? "subcommand"
                                        : "command",
               *missing;
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
    printf("Usage: memtap %s %s\n\n%s\n\nSubcommands:\n", command->name, command->operands,
           command->description);
    for (const struct mt_command *verb = command->verbs; verb->name; verb++)
        printf("  %-14s %s\n", verb->name, verb->summary);
    printf("\nSee memtap help %s SUBCOMMAND for a subcommand.\n", command->name);
}

static void print_overview(void)
{
    puts("Usage: memtap COMMAND [OPTION]...\n\n"
         "Records and explains the GPU memory of unmodified PyTorch and C programs.\n\n"
         "Commands:");
    for (const struct mt_command *command = commands; command->name; command++)
        printf("  %-10s %s\n", command->name, command->summary);
    puts("\n"
         "Options:\n"
         "  -h, --help  show this help\n"
         "  --version   show memtap's version\n"
         "  --most-memory SIZE, --most-output SIZE, --most-events NUMBER\n"
         "              limits on a command's memory, its output, and the events\n"
         "              read from each trace\n"
         "\n"
         "See memtap help COMMAND for a command. To get started:\n"
         "  memtap run python train.py");
}

/* Find --help and -h among the command's own arguments, not those of the program that it starts. */
static bool wants_help(const struct mt_command *command, int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--"); i++) {
        if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h"))
            return true;
        if (command->runs_command && *argv[i] != '-')
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
                        : mt_fail_usage(command, "no subcommand given");
    if (!command->runs_command) {
        signal(SIGPIPE, SIG_DFL); /* memtap dump ... | head ends quietly */
        if (!command->maps_programs)
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
    /* Exceeding the file size limit is an error like a full disk. A handler, unlike SIG_IGN, is
     * reset by exec, so a started program dies from the signal as it would without memtap. */
    struct sigaction limit = {.sa_handler = go_on, .sa_flags = SA_RESTART}, before;
    if (!sigaction(SIGXFSZ, NULL, &before) && before.sa_handler == SIG_DFL)
        sigaction(SIGXFSZ, &limit, NULL);
    setlocale(LC_CTYPE, ""); /* only the character type: numbers stay in the C locale */
    return mt_finish_output(dispatch(argc, argv));
}
