/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/support/text.h"
#include "attempt.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define OPTIONS 32u /* words of `memtap run` before the command */

/* --- the environment -------------------------------------------------------------------------- */

/* Return a port that is free now. Whoever takes it meanwhile makes the run fail, and says so. */
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

/* Set a port, at which runs beside each other do not meet: torchrun's has PET_ before its name. */
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
    const char *word[OPTIONS];
    size_t n;
};

static void add(struct line *line, const char *word, const char *value)
{
    line->word[line->n++] = word;
    if (value)
        line->word[line->n++] = value;
}

/* Write the ranks of the turns from `first` on. */
static void write_ranks(struct line *line, const struct mt_attempt *attempt, unsigned first,
                        unsigned n)
{
    *line->rank = '\0';
    for (unsigned i = first; i < first + n; i++)
        mt_text_append(line->rank, sizeof line->rank, "%s%u", i > first ? "," : "",
                       mt_attempt_rank(attempt, i));
}

/* Add "memtap run ..." up to the command. turn: which of the attempt's ranks; ALL_TURNS: a user is
 * to repeat it. */
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
                                      {"--boxes", job->simulation.boxes}};
    for (size_t i = 0; i < sizeof made_up / sizeof *made_up; i++)
        if (made_up[i][1])
            add(line, made_up[i][0], made_up[i][1]);
    add(line, "--", NULL);
}

/* Name the traces; in a pattern % is doubled. */
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

static void become(const struct line *line, char *const *command, unsigned rank, unsigned processes)
{
    const char *words[4096];
    size_t n = line->n, m = 0;
    memcpy(words, line->word, n * sizeof *words);
    while (command[m] && n < sizeof words / sizeof *words - 1)
        words[n++] = command[m++];
    words[n] = NULL;
    if (processes > 1 && (set_number("RANK", rank, 1) || set_number("LOCAL_RANK", rank, 1)))
        _exit(127);
    if (!command[m])
        execv("/proc/self/exe", (char *const *)words);
    _exit(127);
}

int mt_run_start(const struct mt_attempt *attempt, const struct mt_job *job, const char *folder,
                 unsigned turn, pid_t *pid, unsigned *started, char *why, size_t size)
{
    unsigned count[MT_JOB_COUNT_LIMIT], processes;
    struct line line = {.n = 0};
    int rc = mt_job_counts(job, attempt->choice, count, why, size);
    if (rc)
        return rc;
    *started = processes = count[MT_JOB_PROCESSES];
    char **words = mt_job_words(job, attempt->choice);
    if (!words || set_variables(job, attempt) || set_port(processes))
        rc = -ENOMEM;
    add_run(&line, attempt, job, count, turn);
    for (unsigned rank = 0; rank < processes && !rc; rank++) {
        set_output(&line, folder, attempt->n_ranks ? mt_attempt_rank(attempt, turn) : rank);
        pid[rank] = fork();
        if (!pid[rank])
            become(&line, words, rank, processes);
        if (pid[rank] < 0)
            rc = -errno;
    }
    if (rc)
        snprintf(why, size, "%s", strerror(-rc));
    mt_words_free(words);
    return rc;
}

/* Write a word as a shell reads it. */
static void put_word(FILE *out, const char *word)
{
    const char *at = word;
    while (isalnum((unsigned char)*at) || (*at && strchr("-_=./:,+%@", *at)))
        at++;
    if (*word && !*at) {
        fputs(word, out);
        return;
    }
    putc('\'', out);
    for (at = word; *at; at++)
        fputs(*at == '\'' ? "'\\''" : (char[]){*at, '\0'}, out);
    putc('\'', out);
}

static void put_variables(FILE *out, const struct mt_attempt *attempt, const struct mt_job *job)
{
    char room[MT_VALUE_TEXT];
    for (size_t i = 0; i < job->n_variables; i++) {
        if (!job->variable[i].is_environment)
            continue;
        fprintf(out, "%s=", job->variable[i].name);
        put_word(out, mt_choice_value(job, attempt->choice, i, room));
        putc(' ', out);
    }
}

char *mt_attempt_line(const struct mt_attempt *attempt, const struct mt_job *job)
{
    char *text = NULL, why[64];
    size_t size;
    struct line line = {.n = 0};
    unsigned count[MT_JOB_COUNT_LIMIT];
    mt_job_counts(job, attempt->choice, count, why, sizeof why);
    char **words = mt_job_words(job, attempt->choice);
    FILE *out = words ? open_memstream(&text, &size) : NULL;
    if (out)
        put_variables(out, attempt, job);
    add_run(&line, attempt, job, count, ALL_TURNS);
    for (size_t i = 0; out && i < line.n; i++)
        fprintf(out, "%s%s", i ? " " : "", line.word[i]);
    for (size_t i = 0; out && words[i]; i++) {
        putc(' ', out);
        put_word(out, words[i]);
    }
    mt_words_free(words);
    if (!out || mt_close_memory(out)) {
        free(text);
        return NULL;
    }
    return text;
}
