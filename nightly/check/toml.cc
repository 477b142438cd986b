/* SPDX-License-Identifier: Apache-2.0 */
/* The one place where toml++ is met: its tree is copied into ours, and nothing is thrown out of
 * here. */
#include "toml.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string_view>

/* What toml++ takes for granted of a document is not always so (tests/fuzz/budget.c finds some):
 * such a one is refused, in every build. */
struct not_prepared {
};
static constexpr void require(bool holds)
{
    if (!holds)
        throw not_prepared();
}
#undef NDEBUG
#define TOML_ASSERT(condition) require(static_cast<bool>(condition))

#define TOML_HEADER_ONLY 1
#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

namespace
{

char *copy(std::string_view text)
{
    char *out = static_cast<char *>(std::malloc(text.size() + 1));
    if (!out)
        throw std::bad_alloc();
    text.copy(out, text.size());
    out[text.size()] = '\0';
    /* A zero byte ends a text in C; no name that we know has one, so it is shown as what it is not.
     */
    std::replace(out, out + text.size(), '\0', '?');
    return out;
}

mt_toml_kind kind_of(const toml::node &node)
{
    switch (node.type()) {
    case toml::node_type::table:
        return MT_TOML_TABLE;
    case toml::node_type::array:
        return MT_TOML_ARRAY;
    case toml::node_type::string:
        return MT_TOML_STRING;
    case toml::node_type::date:
        return MT_TOML_DATE;
    default:
        return MT_TOML_OTHER;
    }
}

const char *kind_name(const toml::node &node)
{
    switch (node.type()) {
    case toml::node_type::table:
        return "a table";
    case toml::node_type::array:
        return "an array";
    case toml::node_type::string:
        return "a text";
    case toml::node_type::boolean:
        return "true or false";
    case toml::node_type::date:
        return "a date";
    case toml::node_type::time:
    case toml::node_type::date_time:
        return "a time";
    default:
        return "a number";
    }
}

void fill(mt_toml *to, const toml::key *key, const toml::node &node);

mt_toml *make_room(mt_toml *to, size_t n)
{
    to->child = static_cast<mt_toml *>(std::calloc(n + 1, sizeof *to->child));
    if (!to->child)
        throw std::bad_alloc();
    return to->child;
}

bool stands_before(const mt_toml &left, const mt_toml &right)
{
    return left.line != right.line ? left.line < right.line : left.column < right.column;
}

/* toml++ keeps a table by the names of its keys; people are told of things in their own order. */
void fill_children(mt_toml *to, const toml::node &node)
{
    if (const toml::table *table = node.as_table()) {
        make_room(to, table->size());
        for (auto &&[key, value] : *table)
            fill(&to->child[to->n++], &key, value);
        std::sort(to->child, to->child + to->n, stands_before);
    } else if (const toml::array *array = node.as_array()) {
        make_room(to, array->size());
        for (const toml::node &element : *array)
            fill(&to->child[to->n++], nullptr, element);
    }
}

void fill(mt_toml *to, const toml::key *key, const toml::node &node)
{
    const toml::source_position at = key ? key->source().begin : node.source().begin;
    to->kind = kind_of(node);
    to->kind_name = kind_name(node);
    to->line = at.line;
    to->column = at.column;
    to->key = copy(key ? key->str() : std::string_view());
    const toml::value<std::string> *text = node.as_string();
    to->text = copy(text ? std::string_view(text->get()) : std::string_view());
    if (const toml::value<toml::date> *date = node.as_date()) {
        to->year = date->get().year;
        to->month = date->get().month;
        to->day = date->get().day;
    }
    fill_children(to, node);
}

int parse(mt_toml *document, std::string_view text, mt_toml_error *error)
{
    toml::parse_result result = toml::parse(text);
    if (!result) {
        const toml::parse_error &wrong = result.error();
        const std::string_view why = wrong.description();
        error->line = std::max(wrong.source().begin.line, 1u);
        error->column = std::max(wrong.source().begin.column, 1u);
        std::snprintf(error->text, sizeof error->text, "%.*s", static_cast<int>(why.size()),
                      why.data());
        return -EINVAL;
    }
    fill(document, nullptr, result.table());
    return 0;
}

bool is_prepared_for(std::string_view text)
{
    try {
        (void)toml::parse(text); /* wrong or not */
        return true;
    } catch (const not_prepared &) {
        return false;
    }
}

/* The first line with which the text before it is one that toml++ is not prepared for. */
unsigned line_not_prepared_for(std::string_view text)
{
    size_t begin = 0, end = text.size();
    while (begin < end) {
        size_t middle = begin + (end - begin) / 2;
        if (is_prepared_for(text.substr(0, middle)))
            begin = middle + 1;
        else
            end = middle;
    }
    return 1 + static_cast<unsigned>(
                   std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(end), '\n'));
}

/* toml++ goes down a level for each part of a key, and no further than there is stack: a budget has
 * two parts. The line of a key with more than this; 0: there is none. What stands in quotes is one
 * part. */
constexpr unsigned most_parts = 32;

unsigned line_too_deep(std::string_view text)
{
    unsigned line = 1, dots = 0;
    char quote = 0;
    for (size_t i = 0; i < text.size(); i++) {
        const char c = text[i];
        if (c == '\n')
            line++, dots = 0, quote = 0;
        else if (quote && c == '\\' && quote == '"')
            i++;
        else if (quote)
            quote = c == quote ? 0 : quote;
        else if (c == '"' || c == '\'')
            quote = c;
        else if (c == '=' || c == '{' || c == ',' || c == '#')
            dots = 0;
        else if (c == '.' && ++dots == most_parts)
            return line;
    }
    return 0;
}

} // namespace

extern "C" int mt_toml_parse(struct mt_toml *document, const char *text, size_t size,
                             struct mt_toml_error *error)
{
    std::memset(document, 0, sizeof *document);
    std::memset(error, 0, sizeof *error);
    if ((error->line = line_too_deep(std::string_view(text, size)))) {
        error->column = 1;
        std::snprintf(error->text, sizeof error->text, "a key of more than %u parts", most_parts);
        return -EINVAL;
    }
    try {
        return parse(document, std::string_view(text, size), error);
    } catch (const not_prepared &) {
        error->line = line_not_prepared_for(std::string_view(text, size));
        error->column = 1;
        std::snprintf(error->text, sizeof error->text, "not a TOML file; see https://toml.io");
        return -EINVAL;
    } catch (...) {
        return -ENOMEM;
    }
}

extern "C" void mt_toml_clear(struct mt_toml *document)
{
    for (size_t i = 0; i < document->n; i++)
        mt_toml_clear(&document->child[i]);
    std::free(document->child);
    std::free(document->key);
    std::free(document->text);
    std::memset(document, 0, sizeof *document);
}
