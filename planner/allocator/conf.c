/* SPDX-License-Identifier: Apache-2.0 */
#include "conf.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS_MAX = 256, WORD_MAX = 48 };

static const uint64_t mb = 1 << 20;
static const uint64_t default_large_segment = 20 << 20;

/* The text in PyTorch's tokens: words, and each of , : [ ]. */
struct words {
    char word[WORDS_MAX][WORD_MAX];
    unsigned count, at; /* at: the next one */
    bool strict;        /* an old parser, which checks that a ':' is one */
    struct mt_torch_release release;
    struct mt_alloc_conf_error *error;
};

struct key {
    const char *name;
    int (*read)(struct words *words, struct mt_alloc_conf *conf);
    int since; /* enum mt_torch_change; -1: supported by all releases in the table */
};

__attribute__((format(printf, 2, 3))) static int refuse(struct words *words, const char *format,
                                                        ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(words->error->text, sizeof(words->error->text), format, arguments);
    va_end(arguments);
    return -EINVAL;
}

static bool is_separator(char c)
{
    return c == ',' || c == ':' || c == '[' || c == ']';
}

static int cut(struct words *words, const char *text)
{
    unsigned length = 0;
    for (const char *c = text; *c; c++) {
        if (*c == ' ' || (!words->strict && isspace((unsigned char)*c)))
            continue;
        if (words->count + 2 >= WORDS_MAX)
            return refuse(words, "more than %d words", WORDS_MAX - 2);
        if (!is_separator(*c)) {
            if (length + 1 == WORD_MAX || !isprint((unsigned char)*c))
                return refuse(words, "a word that is too long, or not ASCII");
            words->word[words->count][length++] = *c;
            continue;
        }
        words->count += length > 0;
        words->word[words->count++][0] = *c;
        length = 0;
    }
    words->count += length > 0;
    return 0;
}

/* Return the next word; NULL: none. */
static const char *next(struct words *words)
{
    return words->at < words->count ? words->word[words->at++] : NULL;
}

static bool comes(const struct words *words, const char *what)
{
    return words->at < words->count && !strcmp(words->word[words->at], what);
}

/* Parse a separator. Newer releases accept any word. */
static int separator(struct words *words, const char *what)
{
    const char *word = next(words);
    if (!word || (words->strict && strcmp(word, what)))
        return refuse(words, "expected \"%s\", but found %s%s%s", what, word ? "\"" : "",
                      word ? word : "nothing", word ? "\"" : "");
    return 0;
}

/* Parse a number as std::stoi and std::stoull do: ignore what follows the digits, and wrap around
 * at a minus. */
static int number_of(struct words *words, const char *what, const char *word, uint64_t *number)
{
    char *end;
    errno = 0;
    if (words->strict) {
        long value = word ? strtol(word, &end, 10) : 0;
        if (word && end != word && !errno && value == (int)value) {
            *number = (uint64_t)value;
            return 0;
        }
    } else if (word) {
        *number = strtoull(word, &end, 10);
        if (end != word && !errno)
            return 0;
    }
    return refuse(words, "%s takes a number, not \"%s\"", what, word ? word : "");
}

static int read_number(struct words *words, const char *what, uint64_t *number)
{
    int error = separator(words, ":");
    return error ? error : number_of(words, what, next(words), number);
}

static int read_fraction(struct words *words, const char *what, double *number)
{
    char *end;
    int error = separator(words, ":");
    if (error)
        return error;
    const char *word = next(words);
    *number = word ? strtod(word, &end) : 0;
    return word && end != word
               ? 0
               : refuse(words, "%s takes a fraction, not \"%s\"", what, word ? word : "");
}

static int read_bool(struct words *words, const char *what, bool *value)
{
    int error = separator(words, ":");
    if (error)
        return error;
    const char *word = next(words);
    if (!word || (strcmp(word, "True") && strcmp(word, "False")))
        return refuse(words, "%s takes True or False, not \"%s\"", what, word ? word : "");
    *value = word[0] == 'T';
    return 0;
}

/* --- one function a key ----------------------------------------------------------------- */

static int read_megabytes(struct words *words, const char *what, uint64_t least, uint64_t *bytes)
{
    uint64_t number;
    int error = read_number(words, what, &number);
    if (error)
        return error;
    if (number < least)
        return refuse(words, "%s must be %llu or more, not %llu", what, (unsigned long long)least,
                      (unsigned long long)number);
    *bytes = (number < UINT64_MAX / mb ? number : UINT64_MAX / mb) * mb;
    return 0;
}

/* Return the least valid value of a setting that is compared with the large segment size. */
static uint64_t least_split(const struct words *words, const struct mt_alloc_conf *conf)
{
    return conf->large_segment_size / mb + words->strict;
}

static int read_max_split(struct words *words, struct mt_alloc_conf *conf)
{
    return read_megabytes(words, "max_split_size_mb", least_split(words, conf),
                          &conf->max_split_size);
}

static int read_max_non_split(struct words *words, struct mt_alloc_conf *conf)
{
    return read_megabytes(words, "max_non_split_rounding_mb", least_split(words, conf),
                          &conf->max_non_split_rounding);
}

static int read_large_segment(struct words *words, struct mt_alloc_conf *conf)
{
    return read_megabytes(words, "large_segment_size_mb", 11, &conf->large_segment_size);
}

static int read_threshold(struct words *words, struct mt_alloc_conf *conf)
{
    double value;
    int error = read_fraction(words, "garbage_collection_threshold", &value);

    if (error)
        return error;
    if (!(value > 0 && value < 1))
        return refuse(words, "garbage_collection_threshold must be between 0 and 1");
    conf->garbage_collection_threshold = value;
    return 0;
}

static int read_memory_fraction(struct words *words, struct mt_alloc_conf *conf)
{
    double value;
    int error = read_fraction(words, "per_process_memory_fraction", &value);

    if (error)
        return error;
    if (!(value >= 0 && value <= 1))
        return refuse(words, "per_process_memory_fraction must be from 0 to 1");
    conf->memory_fraction = value;
    return 0;
}

static int read_expandable(struct words *words, struct mt_alloc_conf *conf)
{
    return read_bool(words, "expandable_segments", &conf->expandable_segments);
}

static int read_reuse(struct words *words, struct mt_alloc_conf *conf)
{
    return read_bool(words, "graph_capture_record_stream_reuse", &conf->record_stream_reuse);
}

static int read_throw(struct words *words, struct mt_alloc_conf *conf)
{
    return read_bool(words, "throw_on_cudamalloc_oom", &conf->throw_on_oom);
}

static int read_backend(struct words *words, struct mt_alloc_conf *conf)
{
    int error = separator(words, ":");
    if (error)
        return error;
    const char *word = next(words);
    if (!word || (strcmp(word, "native") && strcmp(word, "cudaMallocAsync")))
        return refuse(words, "backend must be native or cudaMallocAsync, not \"%s\"",
                      word ? word : "");
    conf->async = word[0] == 'c';
    return 0;
}

/* Parse a fraction of the card or GiB: "0.5", "40G". PyTorch ignores anything else; report it. */
static int read_reserve(struct words *words, struct mt_alloc_conf *conf)
{
    char *end;
    int error = separator(words, ":");

    if (error)
        return error;
    const char *word = next(words);
    double value = word ? strtod(word, &end) : 0;
    if (!(value > 0 && isfinite(value)) || (*end && strcmp(end, "G") && strcmp(end, "g")))
        return refuse(words, "expandable_segments_reserve takes 0.5 or 40G, not \"%s\"",
                      word ? word : "");
    conf->expandable_reserve_fraction = *end ? 0 : value;
    conf->expandable_reserve = *end ? (uint64_t)(value * (1 << 30)) : UINT64_MAX;
    return 0;
}

static bool is_power(uint64_t number)
{
    return number && !(number & (number - 1));
}

/* Parse one "256:4" of the list: 4 divisions for the interval that begins at 256 MiB. */
static int read_interval(struct words *words, struct mt_alloc_conf *conf, unsigned *last,
                         bool *is_first)
{
    const char *name = "roundup_power2_divisions", *word = next(words);
    bool above = word && !strcmp(word, ">");
    uint64_t start = 1, divisions;
    unsigned from, to;
    int error = above ? 0 : number_of(words, name, word, &start);
    if (!error)
        error = read_number(words, name, &divisions);
    if (error)
        return error;
    if (!is_power(divisions) && (divisions || !mt_torch_has(words->release, MT_HAS_ROUNDUP_0)))
        return refuse(words, "%s must be a power of two", name);
    if (!is_power(start))
        return refuse(words, "sizes in %s must be powers of two", name);
    if (above) {
        from = *last + !words->strict;
        to = MT_ROUNDUP_INTERVALS;
    } else {
        unsigned log = 63 - (unsigned)__builtin_clzll(start);
        *last = log < MT_ROUNDUP_INTERVALS ? log : MT_ROUNDUP_INTERVALS - 1;
        from = *is_first ? 0 : *last;
        to = *last + 1;
        *is_first = false;
    }
    for (unsigned i = from; i < to; i++)
        conf->roundup[i] = (uint32_t)divisions;
    return 0;
}

static int read_intervals(struct words *words, struct mt_alloc_conf *conf)
{
    unsigned last = 0;
    bool is_first = true;
    while (words->at < words->count && !comes(words, "]")) {
        int error = read_interval(words, conf, &last, &is_first);
        if (!error && !comes(words, "]"))
            error = separator(words, ",");
        if (error)
            return error;
    }
    return next(words) ? 0 : refuse(words, "roundup_power2_divisions lacks its \"]\"");
}

static int read_roundup(struct words *words, struct mt_alloc_conf *conf)
{
    uint64_t divisions;
    int error = separator(words, ":");
    if (error)
        return error;
    if (comes(words, "[")) {
        words->at++;
        return read_intervals(words, conf);
    }
    error = number_of(words, "roundup_power2_divisions", next(words), &divisions);
    if (error)
        return error;
    if (!is_power(divisions))
        return refuse(words, "roundup_power2_divisions must be a power of two");
    for (unsigned i = 0; i < MT_ROUNDUP_INTERVALS; i++)
        conf->roundup[i] = (uint32_t)divisions;
    return 0;
}

/* Skip the value: settings of host memory and locks are not modelled. */
static int pass_over(struct words *words, struct mt_alloc_conf *conf)
{
    int error = separator(words, ":");
    const char *word = error ? NULL : next(words);
    (void)conf;
    while (word && !strcmp(word, "[") && !comes(words, "]"))
        if (!next(words))
            word = NULL;
    if (!word && !error)
        error = refuse(words, "the last setting has no value");
    if (word && !strcmp(word, "["))
        next(words);
    return error;
}

static const struct key keys[] = {
    {"backend", read_backend, -1},
    {"expandable_segments", read_expandable, MT_HAS_EXPANDABLE},
    {"expandable_segments_reserve", read_reserve, MT_HAS_RESERVE},
    {"expandable_segments_reserve_by_class", pass_over, MT_HAS_RESERVE},
    {"garbage_collection_threshold", read_threshold, -1},
    {"graph_capture_record_stream_reuse", read_reuse, MT_HAS_RECORD_REUSE},
    {"large_segment_size_mb", read_large_segment, MT_HAS_LARGE_SEGMENT},
    {"max_non_split_rounding_mb", read_max_non_split, MT_HAS_MAX_NON_SPLIT},
    {"max_split_size_mb", read_max_split, -1},
    {"per_process_memory_fraction", read_memory_fraction, MT_HAS_CONF_FRACTION},
    {"pinned_free_catch_all", pass_over, MT_HAS_THROW_ON_OOM},
    {"pinned_max_cached_size_mb", pass_over, MT_HAS_THROW_ON_OOM},
    {"pinned_max_round_threshold_mb", pass_over, MT_HAS_THROW_ON_OOM},
    {"pinned_num_register_threads", pass_over, -1},
    {"pinned_reserve_segment_size_mb", pass_over, MT_HAS_RECORD_REUSE},
    {"pinned_use_background_threads", pass_over, MT_HAS_EXPANDABLE},
    {"pinned_use_cuda_host_register", pass_over, -1},
    {"release_lock_on_cudamalloc", pass_over, -1},
    {"roundup_power2_divisions", read_roundup, -1},
    {"throw_on_cudamalloc_oom", read_throw, MT_HAS_THROW_ON_OOM},
};

static const struct key *key_of(const char *name)
{
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        if (!strcmp(keys[i].name, name))
            return &keys[i];
    return NULL;
}

/* Parse the large segment size first, since other sizes are compared with it wherever it appears.
 */
static int read_large_segment_first(struct words *words, struct mt_alloc_conf *conf)
{
    int error = 0;
    for (unsigned i = 0; !words->strict && !error && i < words->count; i++) {
        if (strcmp(words->word[i], "large_segment_size_mb"))
            continue;
        words->at = i + 1;
        error = read_large_segment(words, conf);
        words->at = 0;
    }
    return error;
}

static int read_all(struct words *words, struct mt_alloc_conf *conf)
{
    while (words->at < words->count) {
        const char *name = next(words);
        const struct key *key = key_of(name);
        if (!key)
            return refuse(words, "unknown allocator setting \"%s\"", name);
        if (key->since >= 0 && !mt_torch_has(words->release, (enum mt_torch_change)key->since))
            return refuse(words, "PyTorch %u.%u has no setting \"%s\"", words->release.major,
                          words->release.minor, name);
        int error = key->read(words, conf);
        if (!error && words->at < words->count)
            error = separator(words, ",");
        if (error)
            return error;
    }
    return 0;
}

/* --- the interface ------------------------------------------------------------------------ */

void mt_alloc_conf_init(struct mt_alloc_conf *conf)
{
    *conf = (struct mt_alloc_conf){.max_split_size = UINT64_MAX,
                                   .max_non_split_rounding = default_large_segment,
                                   .large_segment_size = default_large_segment,
                                   .expandable_reserve = UINT64_MAX,
                                   .memory_fraction = 1};
}

int mt_alloc_conf_read(struct mt_alloc_conf *conf, struct mt_torch_release release,
                       const char *text, struct mt_alloc_conf_error *error)
{
    struct mt_alloc_conf wanted = *conf;
    struct words *words = calloc(1, sizeof(*words));
    if (!words) {
        snprintf(error->text, sizeof(error->text), "out of memory");
        return -ENOMEM;
    }
    words->release = release;
    words->error = error;
    words->strict = !mt_torch_has(release, MT_HAS_ALLOC_CONF);
    int result = cut(words, text);
    if (!result)
        result = read_large_segment_first(words, &wanted);
    if (wanted.large_segment_size != conf->large_segment_size)
        wanted.max_non_split_rounding = wanted.large_segment_size;
    if (!result)
        result = read_all(words, &wanted);
    if (!result)
        *conf = wanted;
    free(words);
    return result;
}
