/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/support/text.h"
#include "attempt.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MOST_WORDS 4096u

/* --- the environment -------------------------------------------------------------------------- */

/* Return a port that is free now. If another process takes it first, the run fails with a message.
 */
static unsigned free_port(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int rc = fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) ||
             getsockname(fd, (struct sockaddr *)&address, &length);
    if (fd >= 0)
        close(fd);
    return rc ? 29500 : ntohs(address.sin_port);
}

static int set_number(const char *name, unsigned number, int overwrite)
{
    char text[16];
    snprintf(text, sizeof text, "%u", number);
    return setenv(name, text, overwrite);
}

/* Set a port, so that concurrent runs do not collide. torchrun's variable begins with PET_. */
static int set_port(unsigned processes)
{
    unsigned port = free_port();
    if (set_number("PET_MASTER_PORT", port, 0))
        return -ENOMEM;
    return processes > 1 &&
                   (setenv("MASTER_ADDR", "127.0.0.1", 1) || set_number("MASTER_PORT", port, 1) ||
                    set_number("WORLD_SIZE", processes, 1) ||
                    set_number("LOCAL_WORLD_SIZE", processes, 1))
               ? -ENOMEM
               : 0;
}

static int set_variables(const struct mt_job *job, const struct mt_attempt *attempt)
{
    char room[MT_VALUE_TEXT];
    if (attempt->groups && setenv("CUDASIM_GROUPS", attempt->groups, 1))
        return -ENOMEM;
    if (setenv("MEMTAP_HOLDERS", "none", 0)) /* attempts may run out of memory many times */
        return -ENOMEM;
    for (size_t i = 0; i < job->n_variables; i++) {
        const struct mt_variable *variable = &job->variable[i];
        const char *text = mt_choice_value(job, attempt->choice, i, room);
        if (variable->is_environment &&
            (*text ? setenv(variable->name, text, 1) : unsetenv(variable->name)))
            return -ENOMEM;
    }
    return 0;
}

/* --- the words -------------------------------------------------------------------------------- */

struct line {
    char cards[16], ranks[16], rank[12 * MT_MOST_RANK_RUNS], memory[32], output[2 * PATH_MAX];
    const char *word[MOST_WORDS + 1]; /* terminated by NULL */
    size_t n;
    char **command; /* owns the words */
};

static void add(struct line *line, const char *word, const char *value)
{
    line->word[line->n++] = word;
    if (value)
        line->word[line->n++] = value;
}

/* Add the command with its values. Return 0, -ENOMEM or -E2BIG. */
static int add_command(struct line *line, const struct mt_attempt *attempt,
                       const struct mt_job *job)
{
    line->command = mt_job_words(job, attempt->choice);
    for (size_t i = 0; line->command && line->command[i]; i++) {
        if (line->n == MOST_WORDS)
            return -E2BIG;
        add(line, line->command[i], NULL);
    }
    return line->command ? 0 : -ENOMEM;
}

/* Write the ranks of the turns from `first` on. */
static void write_ranks(struct line *line, const struct mt_attempt *attempt, unsigned first,
                        unsigned n)
{
    *line->rank = '\0';
    for (unsigned i = first; i < first + n; i++)
        mt_text_append(line->rank, sizeof line->rank, "%s%u", i > first ? "," : "",
                       attempt->rank[i]);
}

/* Add "memtap run ..." up to the command. turn: which of the attempt's ranks; ALL_TURNS: all of
 * them, for a user. */
#define ALL_TURNS UINT_MAX
static void add_run(struct line *line, const struct mt_attempt *attempt, const struct mt_job *job,
                    const unsigned count[MT_JOB_COUNT_LIMIT], unsigned turn)
{
    const struct mt_fit_card *card = &job->card[attempt->card];
    snprintf(line->cards, sizeof line->cards, "%u", count[MT_JOB_CARDS]);
    snprintf(line->ranks, sizeof line->ranks, "%u", count[MT_JOB_RANKS]);
    snprintf(line->rank, sizeof line->rank, "%u", count[MT_JOB_RANK]);
    if (attempt->n_ranks)
        write_ranks(line, attempt, turn == ALL_TURNS ? 0 : turn,
                    turn == ALL_TURNS ? attempt->n_ranks : 1);
    snprintf(line->memory, sizeof line->memory, "%" PRIu64,
             attempt->is_huge ? MT_HUGE_CARD : card->memory);
    add(line, "memtap", "run");
    if (turn != ALL_TURNS) {
        add(line, "--quiet", "--stacks=python");
        add(line, "--keep=all", NULL);
        add(line, "--output", line->output);
    }
    add(line, "--simulate", card->gpu->name);
    if (attempt->is_huge || job->is_smaller)
        add(line, "--memory", line->memory);
    if (job->count[MT_JOB_CARDS] || job->count[MT_JOB_PROCESSES])
        add(line, "--gpus", line->cards);
    if (count[MT_JOB_RANKS])
        add(line, "--world-size", line->ranks);
    if (count[MT_JOB_RANKS] && (attempt->n_ranks || job->count[MT_JOB_RANK]))
        add(line, "--rank", line->rank);
    const char *const made_up[][2] = {{"--values", job->simulation.values},
                                      {"--skew", job->simulation.skew},
                                      {"--seed", job->simulation.seed},
                                      {"--boxes", job->simulation.boxes},
                                      {"--cudnn", job->simulation.cudnn}};
    for (size_t i = 0; i < sizeof made_up / sizeof *made_up; i++)
        if (made_up[i][1])
            add(line, made_up[i][0], made_up[i][1]);
    add(line, "--", NULL);
}

/* Name the traces, doubling % in the pattern. */
static void set_output(struct line *line, const char *folder, unsigned rank)
{
    size_t n = 0;
    for (const char *at = folder; *at && n + 40 < sizeof line->output; at++) {
        line->output[n++] = *at;
        if (*at == '%')
            line->output[n++] = '%';
    }
    snprintf(line->output + n, sizeof line->output - n, "/%u-%%e-%%p.mtap", rank);
}

static void become(const struct line *line, unsigned rank, unsigned processes)
{
    if (processes < 2 || (!set_number("RANK", rank, 1) && !set_number("LOCAL_RANK", rank, 1)))
        execv("/proc/self/exe", (char *const *)line->word);
    _exit(127);
}

int mt_run_start(const struct mt_attempt *attempt, const struct mt_job *job, const char *folder,
                 unsigned turn, pid_t *pid, unsigned *started, char *why, size_t size)
{
    unsigned count[MT_JOB_COUNT_LIMIT];
    struct line line = {.n = 0};
    int rc = mt_job_counts(job, attempt->choice, count, why, size);
    if (rc)
        return rc;
    *started = count[MT_JOB_PROCESSES];
    add_run(&line, attempt, job, count, turn);
    rc = add_command(&line, attempt, job);
    if (!rc && (set_variables(job, attempt) || set_port(*started)))
        rc = -ENOMEM;
    for (unsigned rank = 0; rank < *started && !rc; rank++) {
        set_output(&line, folder, attempt->n_ranks ? attempt->rank[turn] : rank);
        pid[rank] = fork();
        if (!pid[rank])
            become(&line, rank, *started);
        if (pid[rank] < 0)
            rc = -errno;
    }
    if (rc)
        snprintf(why, size, "%s", strerror(-rc));
    mt_words_free(line.command);
    return rc;
}

char *mt_attempt_line(const struct mt_attempt *attempt, const struct mt_job *job)
{
    char *text = NULL, why[64], room[MT_VALUE_TEXT];
    size_t size;
    struct line line = {.n = 0};
    unsigned count[MT_JOB_COUNT_LIMIT];
    mt_job_counts(job, attempt->choice, count, why, sizeof why);
    add_run(&line, attempt, job, count, ALL_TURNS);
    int rc = add_command(&line, attempt, job);
    FILE *out = rc ? NULL : open_memstream(&text, &size);
    for (size_t i = 0; out && i < job->n_variables; i++) {
        if (!job->variable[i].is_environment)
            continue;
        fprintf(out, "%s=", job->variable[i].name);
        mt_put_word(out, mt_choice_value(job, attempt->choice, i, room));
        putc(' ', out);
    }
    for (size_t i = 0; out && i < line.n; i++) {
        fputs(i ? " " : "", out);
        mt_put_word(out, line.word[i]);
    }
    mt_words_free(line.command);
    if (!out || mt_close_memory(out)) {
        free(text);
        return NULL;
    }
    return text;
}
