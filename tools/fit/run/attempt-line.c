/* SPDX-License-Identifier: Apache-2.0 */
#include "attempt.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A word as a shell reads it. */
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
        if (*at == '\'')
            fputs("'\\''", out);
        else
            putc(*at, out);
    putc('\'', out);
}

static void put_variables(FILE *out, const struct mt_attempt *attempt, const struct mt_job *job)
{
    char room[MT_VALUE_TEXT];
    for (size_t i = 0; i < job->n_variables; i++) {
        const struct mt_variable *variable = &job->variable[i];
        if (!variable->is_environment)
            continue;
        fprintf(out, "%s=", variable->name);
        put_word(out, mt_variable_text(variable, mt_job_value(job, attempt->choice, i), room));
        putc(' ', out);
    }
}

static void put_cards(FILE *out, const struct mt_attempt *attempt, const struct mt_job *job)
{
    const struct mt_fit_card *card = &job->card[attempt->card];
    const char *cards = job->gpus ? job->gpus : job->processes;
    char *filled = cards ? mt_job_fill(job, attempt->choice, cards) : NULL;
    fprintf(out, "memtap run --simulate %s", card->gpu->name);
    if (attempt->is_huge || job->is_smaller)
        fprintf(out, " --memory %llu",
                (unsigned long long)(attempt->is_huge ? MT_HUGE_CARD : card->memory));
    if (filled)
        fprintf(out, " --gpus %s", filled);
    fputs(" --", out);
    free(filled);
}

char *mt_attempt_line(const struct mt_attempt *attempt, const struct mt_job *job)
{
    char *line = NULL;
    size_t size;
    char **words = mt_job_words(job, attempt->choice);
    FILE *out = words ? open_memstream(&line, &size) : NULL;
    if (!out) {
        mt_words_free(words);
        return NULL;
    }
    put_variables(out, attempt, job);
    put_cards(out, attempt, job);
    for (size_t i = 0; words[i]; i++) {
        putc(' ', out);
        put_word(out, words[i]);
    }
    mt_words_free(words);
    if (fclose(out)) {
        free(line);
        return NULL;
    }
    return line;
}
