/* SPDX-License-Identifier: Apache-2.0 */
#include "secrets.h"

#include <stdbool.h>
#include <string.h>

#define PARTS 8 /* of a name, the last ones: "x-amz-security-token" has four */

/* A name with one of these ends is secret: "token" of HF_TOKEN and authToken, "api key" of
 * --openai-api-key. If values may be plain, a number, a yes or no, a path or a <mark> is not a
 * secret. */
static const struct secret_name {
    char words[16];
    bool may_be_plain;
} secret_names[] = {
    {"token", true},          {"authtoken", true},
    {"accesstoken", true},    {"secret", false},
    {"password", false},      {"passwd", false},
    {"passphrase", false},    {"passcode", false},
    {"pass", true},           {"pwd", true},
    {"apikey", false},        {"api key", false},
    {"accesskey", true},      {"access key", true},
    {"access key id", true},  {"secretkey", false},
    {"secret key", false},    {"privatekey", true},
    {"private key", true},    {"auth key", true},
    {"account key", true},    {"signing key", true},
    {"license key", true},    {"shared key", true},
    {"encryption key", true}, {"master key", true},
    {"wandb key", true},      {"auth", true},
    {"authorization", false}, {"credential", true},
    {"credentials", true},    {"creds", true},
    {"bearer", true},         {"sig", true},
    {"amz signature", false}, {"goog signature", false},
    {"accountkey", true},     {"sharedkey", true},
    {"clientsecret", false},
};

/* Before "token": one of a language model, or a number of them. Before "pass": a pass over data. */
static const char plain_before[][12] = {
    "pad",      "eos",    "bos",      "unk",     "mask",    "sep",      "cls",       "special",
    "image",    "stop",   "start",    "end",     "per",     "video",    "audio",     "prompt",
    "class",    "new",    "max",      "num",     "n",       "min",      "begin",     "next",
    "last",     "first",  "think",    "forward", "padding", "by",       "each",      "one",
    "two",      "second", "backward", "multi",   "single",  "of",       "separator", "placeholder",
    "vision",   "speech", "control",  "target",  "source",  "src",      "tgt",       "lang",
    "language", "input",  "output",   "query",   "memory",  "register", "blank",     "empty",
    "word",     "boi",    "eoi",      "mm",      "extra",   "context",  "trigger",   "placeholder",
};

static const char plain_values[][6] = {"true", "false", "none", "null", "yes", "no"};

/* Values that are recognizable: a prefix and at least this many letters, digits, '-', '_' and '.'
 * after it. With is_mixed, upper and lower case letters and digits. */
static const struct form {
    char begin[12];
    unsigned least;
    bool is_mixed;
} forms[] = {
    {"hf_", 28, false},       {"api_org_", 28, false},    {"sk-", 20, true},
    {"sk_live_", 16, false},  {"rk_live_", 16, false},    {"ghp_", 20, false},
    {"gho_", 20, false},      {"ghu_", 20, false},        {"ghs_", 20, false},
    {"ghr_", 20, false},      {"github_pat_", 20, false}, {"glpat-", 16, false},
    {"AKIA", 16, false},      {"ASIA", 16, false},        {"xoxb-", 16, false},
    {"xoxp-", 16, false},     {"xoxa-", 16, false},       {"xoxs-", 16, false},
    {"AIza", 30, true},       {"eyJ", 40, true},          {"ya29.", 20, true},
    {"npm_", 30, true},       {"pypi-Ag", 30, true},      {"nvapi-", 30, true},
    {"r8_", 30, true},        {"gsk_", 30, true},         {"dop_v1_", 30, false},
    {"wandb_v1_", 20, false},
};

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_word(char c)
{
    return is_letter(c) || is_digit(c) || c == '_';
}

static bool is_name(char c)
{
    return is_word(c) || c == '-' || c == '.';
}

static bool is_between(char c)
{
    return !c || c == ' ' || c == '\t' || c == '\n';
}

static char lower(char c)
{
    return is_upper(c) ? (char)(c - 'A' + 'a') : c;
}

/* A name's last parts in lower case, each a text. */
struct name {
    char part[PARTS][16];
    unsigned n;
};

static void put_part(struct name *name, const char *text, size_t size)
{
    if (name->n == PARTS) {
        memmove(name->part[0], name->part[1], sizeof name->part - sizeof *name->part);
        name->n--;
    }
    char *part = name->part[name->n++];
    size_t n = size < sizeof *name->part ? size : 0; /* no part is so long: "" equals none */
    for (size_t i = 0; i < n; i++)
        part[i] = lower(text[i]);
    part[n] = '\0';
}

/* Split at '_', '-', '.' and where a capital follows a lower case letter. */
static void split(struct name *name, const char *text, size_t size)
{
    size_t begin = 0;
    name->n = 0;
    for (size_t i = 0; i <= size; i++) {
        bool ends = i == size || !(is_letter(text[i]) || is_digit(text[i]));
        bool turns = i > begin && i < size && is_upper(text[i]) && !is_upper(text[i - 1]) &&
                     is_letter(text[i - 1]);
        if (!ends && !turns)
            continue;
        if (i > begin)
            put_part(name, text + begin, i - begin);
        begin = turns ? i : i + 1;
    }
}

/* Return how many parts the words match at the name's end; 0 if they do not. */
static unsigned parts_at_end(const struct name *name, const char *words)
{
    unsigned wanted = 1;
    for (const char *at = words; *at; at++)
        wanted += *at == ' ';
    if (wanted > name->n)
        return 0;
    for (unsigned i = name->n - wanted; i < name->n; i++) {
        size_t n = strcspn(words, " ");
        if (strncmp(name->part[i], words, n) != 0 || name->part[i][n])
            return 0;
        words += n + (words[n] == ' ');
    }
    return wanted;
}

static bool has_plain_before(const struct name *name)
{
    for (unsigned i = 0; name->n > 1 && i < sizeof plain_before / sizeof *plain_before; i++)
        if (!strcmp(name->part[name->n - 2], plain_before[i]))
            return true;
    return false;
}

static bool is_plain_value(const char *value, size_t size)
{
    size_t digits = 0;
    if (strchr("/~<[$", *value) || (size > 1 && value[0] == '.' && strchr("./", value[1])))
        return true;
    while (digits < size && (is_digit(value[digits]) || value[digits] == '.'))
        digits++;
    if (digits == size && size <= 9)
        return true;
    for (unsigned i = 0; i < sizeof plain_values / sizeof *plain_values; i++) {
        size_t n = 0;
        while (n < size && plain_values[i][n] && lower(value[n]) == plain_values[i][n])
            n++;
        if (n == size && !plain_values[i][n])
            return true;
    }
    return false;
}

/* Return whether a name shows that its value is secret. */
static bool is_secret(const char *text, size_t size, const char *value, size_t value_size)
{
    struct name name;
    split(&name, text, size);
    if (name.n > 1 && is_digit(*name.part[name.n - 1]))
        name.n--; /* HF_TOKEN_2 */
    if (parts_at_end(&name, "pass") && name.n < 2)
        return false;
    for (unsigned i = 0; i < sizeof secret_names / sizeof *secret_names; i++)
        if (parts_at_end(&name, secret_names[i].words))
            return !secret_names[i].may_be_plain ||
                   (!has_plain_before(&name) && !is_plain_value(value, value_size));
    return false;
}

/* A text that is copied over itself, with masks. */
struct masking {
    char *text;
    size_t size, at; /* what is read */
    size_t put;      /* bytes of the result, never more than `at` */
    bool is_one;     /* words are separated by spaces, not zeros, as in a title */
};

static void copy(struct masking *masking, size_t end)
{
    memmove(masking->text + masking->put, masking->text + masking->at, end - masking->at);
    masking->put += end - masking->at;
    masking->at = end;
}

static void mask(struct masking *masking, size_t end)
{
    size_t n = end - masking->at;
    n = n < sizeof MT_SECRET_MASK - 1 ? n : sizeof MT_SECRET_MASK - 1;
    memcpy(masking->text + masking->put, MT_SECRET_MASK, n);
    masking->put += n;
    masking->at = end;
}

static size_t skip_spaces(const struct masking *masking, size_t at)
{
    while (at < masking->size && masking->text[at] == ' ')
        at++;
    return at;
}

/* Return the end of a value in the middle of a text: at its quote, or at what ends words. */
static size_t end_of_value(const struct masking *masking, size_t at, char quote)
{
    static const char ends[] = "\"'`,;&)}]<>|#";
    const char *text = masking->text;
    while (at < masking->size && text[at] &&
           (quote ? text[at] != quote : !is_between(text[at]) && !strchr(ends, text[at])))
        at += quote && text[at] == '\\' && at + 1 < masking->size && text[at + 1] ? 2 : 1;
    return at < masking->size ? at : masking->size;
}

static size_t end_of_word(const struct masking *masking, size_t at)
{
    const char *text = masking->text;
    while (at < masking->size && text[at] && !(masking->is_one && is_between(text[at])))
        at++;
    return at;
}

/* Find where the value of the name at masking->at begins and ends, if it has one. */
static bool find_value(const struct masking *masking, size_t name_end, size_t *from, size_t *to)
{
    const char *text = masking->text;
    size_t at = name_end, begin = masking->put;
    while (begin && (text[begin - 1] == '-' || text[begin - 1] == '+'))
        begin--;
    bool begins_word =
        !begin || !text[begin - 1] || (masking->is_one && is_between(text[begin - 1]));
    bool is_option = begin < masking->put && text[begin] == '-';
    if (at < masking->size && text[at] == '=' && begins_word) {
        *from = at + 1;
        *to = end_of_word(masking, *from);
        return *to > *from;
    }
    if (at < masking->size && is_option && is_between(text[at])) {
        at = text[at] ? skip_spaces(masking, at) : at + 1;
        if (at >= masking->size || text[at] == '-')
            return false;
        *from = at;
        *to = text[name_end] ? end_of_value(masking, at, '\0') : end_of_word(masking, at);
        return *to > *from;
    }
    while (at < masking->size && text[at] && strchr("\"'] \\", text[at]) && at < name_end + 4)
        at++;
    if (at >= masking->size || (text[at] != '=' && text[at] != ':') ||
        (at + 1 < masking->size && text[at] == ':' && text[at + 1] == '/'))
        return false;
    bool is_header = text[at] == ':';
    at = skip_spaces(masking, at + 1);
    while (at < masking->size && text[at] == '\\')
        at++;
    char quote = at < masking->size && (text[at] == '"' || text[at] == '\'') ? text[at] : '\0';
    *from = at + (quote != 0);
    *to = end_of_value(masking, *from, quote);
    /* "Authorization: Basic abc": both words */
    if (is_header && !quote && *to < masking->size && text[*to] == ' ' && *to - *from <= 8)
        *to = end_of_value(masking, skip_spaces(masking, *to), '\0');
    return *to > *from && *from < masking->size;
}

/* Return the end of a value that has one of the forms; 0 if it has none. */
static size_t end_of_form(const struct masking *masking, size_t at)
{
    const char *text = masking->text;
    for (unsigned i = 0; i < sizeof forms / sizeof *forms; i++) {
        size_t n = strlen(forms[i].begin), end = at + n;
        bool has_upper = false, has_lower = false, has_digit = false;
        if (end > masking->size || strncmp(text + at, forms[i].begin, n) != 0)
            continue;
        for (; end < masking->size && is_name(text[end]); end++) {
            has_upper |= is_upper(text[end]);
            has_lower |= is_letter(text[end]) && !is_upper(text[end]);
            has_digit |= is_digit(text[end]);
        }
        if (end - at - n >= forms[i].least &&
            (!forms[i].is_mixed || (has_upper && has_lower && has_digit)))
            return end;
    }
    return 0;
}

#define LONG_USER 20u /* a URL's user of this length is a token */

/* At "://": find the secret of user:password@host. */
static bool find_in_url(const struct masking *masking, size_t at, size_t *from, size_t *to)
{
    const char *text = masking->text;
    size_t begin = at + 3, end = begin, last = 0, colon = 0;
    for (; end < masking->size && !is_between(text[end]) && !strchr("/?#\"'", text[end]); end++) {
        if (text[end] == '@')
            last = end;
        else if (text[end] == ':' && !colon)
            colon = end;
    }
    if (!last)
        return false;
    *from = colon && colon < last ? colon + 1 : begin;
    *to = last;
    return *to > *from && (*from > begin || last - begin >= LONG_USER);
}

size_t mt_mask_secrets(char *text, size_t size)
{
    struct masking masking = {.text = text, .size = size, .is_one = !memchr(text, '\0', size)};
    while (masking.at < size) {
        size_t at = masking.at, from, to, end = at;
        char before = masking.put ? text[masking.put - 1] : '\0';
        if (size - at > 3 && !memcmp(text + at, "://", 3) &&
            find_in_url(&masking, at, &from, &to)) {
            copy(&masking, from);
            mask(&masking, to);
            continue;
        }
        if (!is_word(text[at]) || is_word(before)) {
            copy(&masking, at + 1);
            continue;
        }
        if ((to = end_of_form(&masking, at))) {
            mask(&masking, to);
            continue;
        }
        while (end < size && is_name(text[end]))
            end++;
        while (end > at + 1 && !is_word(text[end - 1]))
            end--;
        if (find_value(&masking, end, &from, &to) &&
            is_secret(text + at, end - at, text + from, to - from)) {
            copy(&masking, from);
            mask(&masking, to);
            continue;
        }
        /* A part of the name may begin a form: "key-hf_...". */
        do
            at++;
        while (at < end && (is_word(text[at - 1]) || !end_of_form(&masking, at)));
        copy(&masking, at);
    }
    return masking.put;
}
