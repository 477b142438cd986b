/* SPDX-License-Identifier: Apache-2.0 */
#include "job.h"
#include "analyzer/support/text.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *mt_fit_end_name(enum mt_fit_end end)
{
    static const char *const names[] = {
#define MT_FIT_NAME(id, name) name,
        MT_FIT_ENDS(MT_FIT_NAME)
#undef MT_FIT_NAME
    };
    return names[end];
}

/* Return the index of variable i's value. */
static size_t index_of(const struct mt_job *job, struct mt_choice choice, size_t i)
{
    size_t rest = job->combination ? job->combination[choice.line] : choice.line;
    if ((int)i == job->searched)
        return choice.at;
    for (size_t j = job->n_variables; j-- > i + 1;)
        if ((int)j != job->searched)
            rest /= job->variable[j].n;
    return rest % job->variable[i].n;
}

const char *mt_choice_value(const struct mt_job *job, struct mt_choice choice, size_t i,
                            char room[MT_VALUE_TEXT])
{
    return mt_variable_text(&job->variable[i], index_of(job, choice, i), room);
}

bool mt_choice_number(const struct mt_job *job, struct mt_choice choice, size_t i, uint64_t *number)
{
    return mt_variable_number(&job->variable[i], index_of(job, choice, i), number);
}

uint64_t mt_job_searched_value(const struct mt_job *job, size_t position)
{
    uint64_t value = 0;
    if (job->searched >= 0)
        mt_variable_number(&job->variable[job->searched], position, &value);
    return value;
}

size_t mt_job_largest_card(const struct mt_job *job)
{
    size_t largest = 0;
    for (size_t i = 1; i < job->n_cards; i++)
        if (job->card[i].memory > job->card[largest].memory)
            largest = i;
    return largest;
}

size_t mt_job_positions(const struct mt_job *job)
{
    return job->searched < 0 ? 1 : job->variable[job->searched].n;
}

const char *mt_choice_text(const struct mt_job *job, struct mt_choice choice, char *out,
                           size_t size)
{
    char room[MT_VALUE_TEXT];
    *out = '\0';
    for (size_t i = 0; i < job->n_variables; i++)
        if (choice.at != MT_NONE || (int)i != job->searched)
            mt_text_append(out, size, "%s%s=%s", *out ? ", " : "", job->variable[i].name,
                           mt_choice_value(job, choice, i, room));
    return out;
}

size_t mt_place_length(const char *text, const char *name)
{
    size_t n = strlen(name);
    return *text == '{' && !strncmp(text + 1, name, n) && text[n + 1] == '}' ? n + 2 : 0;
}

const struct mt_job_count_form mt_job_count_form[] = {
#define MT_JOB_FORM(id, ...) {__VA_ARGS__},
    MT_JOB_COUNTS(MT_JOB_FORM)
#undef MT_JOB_FORM
};

bool mt_job_count_read(const char *text, enum mt_job_count which, unsigned most, unsigned *number)
{
    uint64_t product = 1;
    char *end;
    *number = 0;
    do {
        uint64_t factor = isdigit((unsigned char)*text) ? strtoull(text, &end, 10) : UINT64_MAX;
        if (factor > UINT32_MAX || (product *= factor) > UINT32_MAX)
            return false;
        text = end + 1;
    } while (*end == '*');
    *number = *end && *end != '=' ? 0 : (unsigned)product;
    return (!*end || *end == '=') && *number >= mt_job_count_form[which].least && *number <= most;
}

/* Return a malloc'ed text with each "{NAME}" replaced by its value; NULL: no memory. */
static char *fill(const struct mt_job *job, struct mt_choice choice, const char *text)
{
    char room[MT_VALUE_TEXT], *filled = NULL;
    size_t size;
    FILE *out = open_memstream(&filled, &size);
    while (out && *text) {
        size_t length = 0, i = 0;
        while (i < job->n_variables && !(length = mt_place_length(text, job->variable[i].name)))
            i++;
        if (length)
            fputs(mt_choice_value(job, choice, i, room), out);
        else
            putc(*text, out);
        text += length ? length : 1;
    }
    if (out && !mt_close_memory(out))
        return filled;
    free(filled);
    return NULL;
}

int mt_job_counts(const struct mt_job *job, struct mt_choice choice,
                  unsigned count[MT_JOB_COUNT_LIMIT], char *why, size_t size)
{
    int rc = 0;
    memset(count, 0, MT_JOB_COUNT_LIMIT * sizeof *count);
    for (unsigned i = 0; i < MT_JOB_COUNT_LIMIT; i++) {
        const struct mt_job_count_form *form = &mt_job_count_form[i];
        unsigned most =
            i == MT_JOB_RANK && count[MT_JOB_RANKS] ? count[MT_JOB_RANKS] - 1 : form->most;
        count[i] = i == MT_JOB_PROCESSES ? 1 : i == MT_JOB_CARDS ? count[MT_JOB_PROCESSES] : 0;
        if (!job->count[i])
            continue;
        char *filled = fill(job, choice, job->count[i]);
        if ((!filled || !mt_job_count_read(filled, i, most, &count[i])) && !rc) {
            snprintf(why, size, "--%s %s: expected a number from %u to %u", form->option,
                     filled ? filled : job->count[i], form->least, most);
            rc = -EINVAL;
        }
        free(filled);
    }
    return rc;
}

bool mt_has_place(const char *text, const char *name)
{
    while (*text && !mt_place_length(text, name))
        text++;
    return *text;
}

/* --- lines ------------------------------------------------------------------------------------ */

/* Choose the searched variable and count the combinations of the others. */
static int find_searched(struct mt_job *job)
{
    const char *ranks = job->count[MT_JOB_RANKS];
    job->searched = -1;
    job->n_lines = 1;
    for (size_t i = 0; i < job->n_variables; i++) {
        struct mt_variable *variable = &job->variable[i];
        variable->is_of_layout = ranks && mt_has_place(ranks, variable->name);
        if (variable->is_ordered && !variable->is_of_layout && job->searched < 0) {
            job->searched = (int)i;
            continue;
        }
        if (variable->is_ordered && !variable->has_step && mt_variable_double(variable))
            return -ENOMEM;
        if (variable->n > MT_MOST_COMBINATIONS / job->n_lines)
            return -E2BIG;
        job->n_lines *= variable->n;
    }
    return 0;
}

/* Return whether a combination has the required world size, or -ENOMEM. */
static int has_size(const struct mt_job *job, size_t combination, unsigned wanted)
{
    char *filled = fill(job, (struct mt_choice){combination, 0}, job->count[MT_JOB_RANKS]);
    unsigned number = 0;
    bool is_number = filled && mt_job_count_read(filled, MT_JOB_RANKS, SIM_MAX_RANKS, &number);
    free(filled);
    return !filled ? -ENOMEM : is_number && number == wanted;
}

static int leave_out(struct mt_job *job, unsigned wanted)
{
    uint32_t *kept = calloc(job->n_lines, sizeof *kept);
    size_t n = 0;
    int rc = kept ? 0 : -ENOMEM;
    for (size_t i = 0; i < job->n_lines && rc >= 0; i++)
        if ((rc = has_size(job, i, wanted)) > 0)
            kept[n++] = (uint32_t)i;
    job->combination = kept;
    job->n_lines = n;
    return rc < 0 ? rc : n ? 0 : -ENOENT;
}

int mt_job_finish(struct mt_job *job)
{
    const char *ranks = job->count[MT_JOB_RANKS], *equals = ranks ? strchr(ranks, '=') : NULL;
    int rc = find_searched(job);
    if (!rc && equals)
        rc = leave_out(job, (unsigned)strtoul(equals + 1, NULL, 10));
    return !rc && job->n_lines > MT_MOST_LINES ? -E2BIG : rc;
}

void mt_job_clear(struct mt_job *job)
{
    for (size_t i = 0; i < job->n_variables; i++)
        mt_variable_clear(&job->variable[i]);
    free(job->combination);
    job->combination = NULL;
}

char **mt_job_words(const struct mt_job *job, struct mt_choice choice)
{
    char **words = calloc(job->n_words + 1, sizeof *words);
    size_t n = 0;
    for (size_t i = 0; words && i < job->n_words; i++) {
        char *word = fill(job, choice, job->words[i]);
        if (!word) {
            mt_words_free(words);
            return NULL;
        }
        if (*word || !*job->words[i])
            words[n++] = word;
        else
            free(word);
    }
    return words;
}

void mt_words_free(char **words)
{
    for (size_t i = 0; words && words[i]; i++)
        free(words[i]);
    free(words);
}
