/* SPDX-License-Identifier: Apache-2.0 */
#include "call-sites.h"
#include "analyzer/classify/classify.h"
#include "analyzer/holders/holder-words.h"
#include "analyzer/model/sums.h"
#include "analyzer/print/json.h"
#include "analyzer/support/grow.h"
#include "analyzer/support/search.h"
#include "course.h"
#include "life-facts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Call sites, by the keys of reports (sites.h), and by what served the requests. */
enum { FROM = MT_SITE_WHOLE };

/* A block whose holder or uses may be known, by its call site. */
struct placed {
    struct mt_sum site;
    const struct mt_life *life;
};

struct table {
    const struct mt_lives *lives;
    const struct mt_analysis *analysis;
    const struct mt_replay *replay; /* the analysis' */
    struct mt_sums sums;            /* whose stack is the moment of a life's allocation */
    struct placed *placed;
    size_t n_placed, capacity;
    enum mt_origin from;
    unsigned slot;
    bool has_no_memory;
};

static struct mt_sum site_of(const struct mt_replay *replay, const struct mt_life *life)
{
    const struct mt_naming naming = mt_replay_naming(replay);
    const struct mt_query query = mt_site_query(&naming, false);
    struct mt_life_verdict verdict;
    return mt_query_row(&query, mt_life_verdict(&verdict, replay, life));
}

static void add_row(void *data, const struct mt_life *life)
{
    struct table *table = data;
    struct mt_sum site = site_of(table->replay, life);
    site.key[FROM] = table->from;
    site.stack = life->born;
    table->has_no_memory |= mt_sums_add(&table->sums, life->size, &site) != 0;
    if (table->analysis &&
        (table->lives->n_uses || mt_life_held(table->lives, table->analysis, life)))
        table->has_no_memory |= MT_APPEND(table->placed, table->capacity, table->n_placed,
                                          (struct placed){site, life}) != 0;
}

static int by_site(const void *left, const void *right)
{
    const struct placed *a = left, *b = right;
    return memcmp(a->site.key, b->site.key, sizeof a->site.key);
}

/* Return the last use of a row's blocks; null: of one it is not known. */
static json_t *last_use(const struct table *table, const struct placed *placed, size_t n)
{
    const struct mt_life *last = NULL;
    uint64_t most = 0;
    for (size_t i = 0; i < n; i++) {
        const struct mt_life_uses *uses = mt_life_uses(table->lives, placed[i].life);
        if (!uses || (!uses->of.is_never && !uses->of.last.time_ns))
            return json_null();
        if (last && uses->of.last.time_ns <= most)
            continue;
        most = uses->of.last.time_ns;
        last = placed[i].life;
    }
    return last ? mt_life_uses_json(table->lives, table->replay->definitions, last) : json_null();
}

/* Write what holds most of a row's blocks; "": not known. 0 or -ENOMEM. */
static int write_held(char *out, size_t size, const struct table *table, const struct mt_sum *sum,
                      const struct placed *placed, size_t n)
{
    const struct mt_device *device = mt_held_device(table->analysis, table->slot);
    struct mt_verdict *verdicts = calloc(n + 1, sizeof *verdicts);
    struct mt_held_most most = {0};
    size_t chosen = 0;
    *out = '\0';
    for (size_t i = 0; i < n && verdicts && device; i++) {
        const struct mt_held_block *held =
            mt_life_held(table->lives, table->analysis, placed[i].life);
        if (held)
            verdicts[chosen++] = *held->verdict;
    }
    int rc = verdicts ? 0 : -ENOMEM;
    if (chosen)
        rc = mt_held_most_of(&most, device, verdicts, chosen);
    mt_held_most_text(out, size, &most, sum->bytes);
    mt_held_most_clear(&most);
    free(verdicts);
    return rc;
}

/* Add what holds a row's blocks, and their last use. */
static void add_fate(json_t *row, struct table *table, const struct mt_sum *sum)
{
    char held[MT_LIFE_TEXT + MT_HOLDER_TEXT];
    const struct placed wanted = {.site = *sum};
    size_t first = MT_LEADING(i, table->n_placed, by_site(&table->placed[i], &wanted) < 0);
    size_t end = MT_LEADING(i, table->n_placed, by_site(&table->placed[i], &wanted) <= 0);
    const struct placed *placed = &table->placed[first];
    table->has_no_memory |= write_held(held, sizeof held, table, sum, placed, end - first) != 0;
    json_object_set_new(row, "held", mt_json_text(held));
    json_object_set_new(row, "uses",
                        end - first < sum->blocks ? json_null()
                                                  : last_use(table, placed, end - first));
}

static json_t *row_json(const struct table *table, const struct mt_sum *sum)
{
    char line[MT_LIFE_TEXT], operator[MT_LIFE_TEXT];
    const struct mt_life *life =
        mt_life_at(table->lives, &table->lives->course[table->slot], sum->stack);
    const struct mt_frame *frame = mt_life_frame(table->replay->definitions, life);
    mt_life_line(table->replay->definitions, life, line);
    mt_life_operator(table->replay->definitions, life, operator);
    return json_pack("{s:I, s:I, s:i, s:s, s:o, s:o, s:I, s:o, s:o, s:I, s:i}", "bytes",
                     (json_int_t)sum->bytes, "blocks", (json_int_t)sum->blocks, "category",
                     (int)sum->key[MT_SITE_CATEGORY], "certainty",
                     mt_certainty_name((enum mt_certainty)sum->certainty), "line", mt_json_text(line), "file",
                     mt_json_text(frame->file), "number", (json_int_t)frame->line, "operator",
                     mt_json_text(life->node_name ? operator: ""), "guess",
                     sum->guess ? json_string(sum->guess) : json_null(), "life",
                     (json_int_t)mt_life_number(table->lives, life), "from", (int)sum->key[FROM]);
}

static json_t *table_json(struct table *table)
{
    mt_sums_sort(&table->sums);
    if (table->n_placed)
        qsort(table->placed, table->n_placed, sizeof *table->placed, by_site);
    json_t *array = table->has_no_memory ? NULL : json_array();
    for (size_t i = 0; i < table->sums.n && array; i++) {
        json_t *row = row_json(table, &table->sums.sum[i]);
        if (row && table->n_placed)
            add_fate(row, table, &table->sums.sum[i]);
        json_array_append_new(array, row);
    }
    mt_sums_clear(&table->sums);
    free(table->placed);
    return array;
}

json_t *mt_who_table(const struct mt_lives *lives, const struct mt_analysis *analysis,
                     const struct mt_who_question *question)
{
    struct table table = {
        .lives = lives, .analysis = analysis, .replay = &analysis->replay, .slot = question->slot};
    mt_who_each(lives, question, add_row, &table);
    return table_json(&table);
}

json_t *mt_who_temporary(const struct mt_lives *lives, const struct mt_areas *areas,
                         const struct mt_replay *replay, const struct mt_who_question *question)
{
    struct table table = {.lives = lives, .replay = replay, .slot = question->slot};
    const struct mt_course *course = &lives->course[question->slot];
    size_t next = SIZE_MAX; /* the first allocation after i */
    for (size_t i = question->at < course->n ? question->at + 1 : course->n;
         i-- > question->since;) {
        if (mt_is_end(course, i))
            continue;
        const struct mt_life *life = mt_life_at(lives, course, i);
        if (life->ended != MT_LIFE_GOES_ON && life->ended < next &&
            (question->category < 0 || life->category == question->category) &&
            (!question->is_found || life->is_found)) {
            table.from = mt_life_source(areas, lives, life, NULL);
            add_row(&table, life);
        }
        next = i;
    }
    return table_json(&table);
}

struct same {
    const struct mt_replay *replay;
    struct mt_sum site;
    const struct mt_life **life;
    size_t n, capacity;
    bool has_no_memory;
};

static void add_same(void *data, const struct mt_life *life)
{
    struct same *same = data;
    struct mt_sum site = site_of(same->replay, life);
    if (memcmp(site.key, same->site.key, sizeof site.key) != 0)
        return;
    if (MT_GROW(same->life, same->capacity, same->n))
        same->has_no_memory = true;
    else
        same->life[same->n++] = life;
}

MT_ORDER_OF_POINTERS(larger_life, struct mt_life, MT_FALLING(size) ?: MT_RISING(born))

long mt_who_same(const struct mt_lives *lives, const struct mt_replay *replay,
                 const struct mt_who_question *question, const struct mt_life *life,
                 double **numbers)
{
    struct same same = {.replay = replay, .site = site_of(replay, life)};
    mt_who_each(lives, question, add_same, &same);
    if (same.n)
        qsort(same.life, same.n, sizeof *same.life, larger_life);
    *numbers = malloc((same.n + 1) * sizeof **numbers);
    same.has_no_memory |= !*numbers;
    for (size_t i = 0; i < same.n && *numbers; i++)
        (*numbers)[i] = mt_life_number(lives, same.life[i]);
    free(same.life);
    return same.has_no_memory ? -ENOMEM : (long)same.n;
}
