/* SPDX-License-Identifier: Apache-2.0 */
#include "launch-run.h"
#include "simulator/launch.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define OPTIONS 20u /* words of `memtap run` before the command */

/* A number from 1 to SIM_MAX_GPUS, given as such or as "{NAME}". */
static int read_count(const struct mt_job *job, struct mt_choice choice, const char *text,
                      unsigned *count, const char *option, char *why, size_t size)
{
    char *filled = mt_job_fill(job, choice, text), *end = filled;
    unsigned long number =
        filled && *filled >= '0' && *filled <= '9' ? strtoul(filled, &end, 10) : 0;
    int is_good = filled && end != filled && !*end && number >= 1 && number <= SIM_MAX_GPUS;
    if (!is_good)
        snprintf(why, size, "--%s %s: not a number from 1 to %d", option, filled ? filled : text,
                 SIM_MAX_GPUS);
    *count = (unsigned)number;
    free(filled);
    return is_good ? 0 : -EINVAL;
}

int mt_run_processes(const struct mt_job *job, struct mt_choice choice, unsigned *processes,
                     char *why, size_t size)
{
    *processes = 1;
    return job->processes ? read_count(job, choice, job->processes, processes, "nproc", why, size)
                          : 0;
}

/* Cards of a run: as many as processes, unless the user says so. */
static int count_cards(const struct mt_job *job, struct mt_choice choice, unsigned processes,
                       unsigned *cards, char *why, size_t size)
{
    *cards = processes;
    return job->gpus ? read_count(job, choice, job->gpus, cards, "gpus", why, size) : 0;
}

/* One that is free now. Whoever takes it meanwhile makes the run fail, and says so. */
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

/* Runs beside each other must not meet at one port: torchrun's has PET_ before its name. */
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

static int set_variables(const struct mt_job *job, struct mt_choice choice)
{
    char room[MT_VALUE_TEXT];
    for (size_t i = 0; i < job->n_variables; i++) {
        const struct mt_variable *variable = &job->variable[i];
        const char *text = mt_variable_text(variable, mt_job_value(job, choice, i), room);
        if (variable->is_environment &&
            (*text ? setenv(variable->name, text, 1) : unsetenv(variable->name)))
            return -ENOMEM;
    }
    return 0;
}

struct line {
    char cards[16], memory[32], output[2 * PATH_MAX];
    char *word[OPTIONS + 1];
    size_t n;
};

/* In a pattern % is doubled. */
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

static void add(struct line *line, const char *word)
{
    line->word[line->n++] = (char *)word;
}

/* "memtap run ..." up to the command. */
static void make_options(struct line *line, const struct mt_attempt *attempt,
                         const struct mt_job *job, unsigned cards)
{
    const struct mt_fit_card *card = &job->card[attempt->card];
    uint64_t memory = attempt->is_huge ? MT_HUGE_CARD : card->memory;
    snprintf(line->cards, sizeof line->cards, "%u", cards);
    snprintf(line->memory, sizeof line->memory, "%" PRIu64, memory);
    add(line, "memtap");
    add(line, "run");
    add(line, "--quiet");
    add(line, "--stacks=python");
    add(line, "--keep=all");
    add(line, "--output");
    add(line, line->output);
    add(line, "--simulate");
    add(line, card->gpu->name);
    add(line, "--gpus");
    add(line, line->cards);
    if (attempt->is_huge || job->is_smaller) {
        add(line, "--memory");
        add(line, line->memory);
    }
    if (job->values) {
        add(line, "--values");
        add(line, job->values);
    }
    add(line, "--");
}

static void become(const struct line *line, char *const *command, unsigned rank, unsigned processes)
{
    char *words[4096];
    size_t n = 0, m = 0;
    while (n < line->n) {
        words[n] = line->word[n];
        n++;
    }
    while (command[m] && n < sizeof words / sizeof *words - 1)
        words[n++] = command[m++];
    words[n] = NULL;
    if (processes > 1 && (set_number("RANK", rank, 1) || set_number("LOCAL_RANK", rank, 1)))
        _exit(127);
    if (!command[m])
        execv("/proc/self/exe", words);
    _exit(127);
}

int mt_run_start(const struct mt_attempt *attempt, const struct mt_job *job, const char *folder,
                 unsigned processes, pid_t *pid, char *why, size_t size)
{
    unsigned cards;
    struct line line = {.n = 0};
    int rc = count_cards(job, attempt->choice, processes, &cards, why, size);
    if (rc)
        return rc;
    char **words = mt_job_words(job, attempt->choice);
    if (!words || set_variables(job, attempt->choice) || set_port(processes)) {
        mt_words_free(words);
        snprintf(why, size, "out of memory");
        return -ENOMEM;
    }
    make_options(&line, attempt, job, cards);
    for (unsigned rank = 0; rank < processes && !rc; rank++) {
        set_output(&line, folder, rank);
        pid[rank] = fork();
        if (!pid[rank])
            become(&line, words, rank, processes);
        if (pid[rank] < 0) {
            rc = -errno;
            snprintf(why, size, "%s", strerror(errno));
        }
    }
    mt_words_free(words);
    return rc;
}
