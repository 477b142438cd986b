/* SPDX-License-Identifier: Apache-2.0 */
#include "loops.h"
#include "analyzer/support/grow.h"
#include "analyzer/support/hash.h"

#include <errno.h>
#include <string.h>

#define DEPTH 64u /* lines of the program around a visit; more are left out */
#define NODES_MOST (1u << 14)
#define ITSELF (UINT64_C(1) << 40)
#define ANY UINT32_MAX

static const struct mt_frame *frame_of(const struct mt_loop_finder *f, uint32_t stack)
{
    return mt_named_frame(f->definitions, mt_stack(f->definitions, stack)->frame);
}

static bool is_comprehension(const struct mt_frame *frame)
{
    return strstr(frame->function, "<listcomp>") || strstr(frame->function, "<genexpr>") ||
           strstr(frame->function, "<dictcomp>") || strstr(frame->function, "<setcomp>");
}

/* Return what the source says of a line; NULL: there is no memory. */
static const struct mt_source_facts *source_of(struct mt_loop_finder *f, uint32_t stack)
{
    uint32_t frame = mt_stack(f->definitions, stack)->frame,
             place = mt_address_map_get(&f->sources, frame);
    struct mt_source_facts source;
    if (place)
        return &f->source[place - 1];
    mt_describe_frame(f->definitions, frame, &source);
    if (is_comprehension(frame_of(f, stack))) {
        source.is_known = true;
        source.n_loops = 1;
        source.loops[0] = frame_of(f, stack)->line;
    }
    if (MT_APPEND(f->source, f->sources_capacity, f->n_sources, source) ||
        mt_address_map_put(&f->sources, frame, (uint32_t)f->n_sources))
        return NULL;
    return &f->source[f->n_sources - 1];
}

/* Write the loops around a line in its function, the innermost first. */
static unsigned loops_of(struct mt_loop_finder *f, uint32_t stack, uint32_t out[MT_SOURCE_DEPTH],
                         bool *is_known)
{
    const struct mt_source_facts *source = source_of(f, stack);
    *is_known = source && source->is_known;
    if (!source)
        return 0;
    memcpy(out, source->loops, source->n_loops * sizeof *out);
    return source->n_loops;
}

static const char *last_name(const char *function)
{
    const char *dot = strrchr(function, '.');
    return dot ? dot + 1 : function;
}

/* How often a line of a path does what is next in it: calls a function; at its end, anything. Each
 * call of a native line has a stack of its own. */
enum times { ONCE, ONCE_A_CALL, SEVERAL };

static enum times times_of(struct mt_loop_finder *f, const struct mt_loop_node *node,
                           unsigned depth)
{
    const uint32_t *path = f->pool + node->path;
    const struct mt_source_facts *source = source_of(f, path[depth]);
    if (!source || !*source->twice || frame_of(f, path[depth])->is_native)
        return ONCE;
    if (depth + 1 == node->depth)
        return strcmp(source->twice, "*") ? SEVERAL : ONCE_A_CALL;
    return mt_source_has(source->twice, last_name(frame_of(f, path[depth + 1])->function)) ? SEVERAL
                                                                                           : ONCE;
}

static bool is_one_function(const struct mt_frame *a, const struct mt_frame *b)
{
    return !strcmp(a->function, b->function) && !strcmp(a->file, b->file);
}

static uint32_t caller_of(const struct mt_loop_finder *f, uint32_t stack)
{
    return mt_stack(f->definitions, mt_stack(f->definitions, stack)->parent)->user;
}

static bool is_nameless(const struct mt_frame *frame)
{
    return frame->is_native && !frame->is_named;
}

/* Return whether two stacks' lines are of one function. Without symbols, what one line calls in an
 * image is taken for one. */
static bool are_of_one_function(const struct mt_loop_finder *f, uint32_t a, uint32_t b)
{
    const struct mt_frame *of_a = frame_of(f, a), *of_b = frame_of(f, b);
    return is_one_function(of_a, of_b) ||
           (is_nameless(of_a) && is_nameless(of_b) && of_a->image == of_b->image &&
            caller_of(f, a) == caller_of(f, b));
}

/* Return the place of a loop, plus 1; it is made if it is new. 0: there are too many. */
static unsigned loop_at(struct mt_loop_finder *f, uint32_t stack, uint32_t line, unsigned depth)
{
    const struct mt_frame *frame = frame_of(f, stack);
    uint64_t key = mt_hash_text(mt_hash_text(mt_hash_number(MT_HASH_SEED, line), frame->function),
                                frame->file);
    unsigned place = mt_address_map_get(&f->by_key, key);
    if (place || f->n_loops == MT_LOOPS_MOST)
        return place;
    if (mt_address_map_put(&f->by_key, key, f->n_loops + 1))
        return 0;
    f->loop[f->n_loops] =
        (struct mt_found_loop){.frame = frame, .stack = stack, .line = line, .depth = depth};
    return ++f->n_loops;
}

static uint64_t child_key(uint32_t caller, uint32_t line)
{
    return (uint64_t)caller << 32 | line;
}

/* Note that a line is visited by a caller, and so by the loops around the line. */
static int note_order(struct mt_loop_finder *f, uint64_t child, uint32_t caller,
                      const uint32_t *loops, unsigned n_loops)
{
    if (mt_address_map_get(&f->order, child))
        return 0;
    uint32_t order = ++f->n_order;
    int rc = mt_address_map_put(&f->order, child, order);
    if (!rc && !mt_address_map_get(&f->first, child_key(caller, ANY)))
        rc = mt_address_map_put(&f->first, child_key(caller, ANY), order);
    for (unsigned i = 0; !rc && i < n_loops; i++)
        if (!mt_address_map_get(&f->first, child_key(caller, loops[i])))
            rc = mt_address_map_put(&f->first, child_key(caller, loops[i]), order);
    return rc;
}

/* Note that a node is in a loop; loop: its place, plus 1; 0: none. */
static void put_in(struct mt_loop_node *node, unsigned loop)
{
    if (!loop || node->in >> (loop - 1) & 1 || node->n_loops == MT_LOOPS_A_LINE)
        return;
    node->in |= UINT64_C(1) << (loop - 1);
    node->loops[node->n_loops++] = (uint8_t)(loop - 1);
}

/* Add a node: its lines, and their orders. 0 or -ENOMEM. */
static int add_node(struct mt_loop_finder *f, uint32_t stack)
{
    uint32_t lines[DEPTH], n = 0, skip = 0, loops[MT_SOURCE_DEPTH];
    struct mt_loop_node node = {.path = (uint32_t)f->n_pool};
    bool is_known;
    int rc = 0;
    for (uint32_t at = stack; at; at = caller_of(f, at))
        n++;
    skip = n > DEPTH ? n - DEPTH : 0; /* of the innermost */
    node.depth = n - skip;
    uint32_t at = stack;
    for (uint32_t i = 0; i < skip; i++)
        at = caller_of(f, at);
    for (uint32_t i = node.depth; i-- > 0; at = caller_of(f, at))
        lines[i] = at;
    for (uint32_t i = 0; !rc && i < node.depth; i++) {
        unsigned n_loops = loops_of(f, lines[i], loops, &is_known);
        rc = note_order(f, lines[i], i ? lines[i - 1] : 0, loops, n_loops);
        for (unsigned j = n_loops; j-- > 0;)
            put_in(&node, loop_at(f, lines[i], loops[j], i));
        if (!rc)
            rc = MT_APPEND(f->pool, f->pool_capacity, f->n_pool, lines[i]);
    }
    if (!rc && node.depth)
        rc = note_order(f, lines[node.depth - 1] | ITSELF, lines[node.depth - 1], NULL, 0);
    if (!rc)
        rc = MT_APPEND(f->node, f->nodes_capacity, f->n_nodes, node);
    return rc ? rc : mt_address_map_put(&f->places, stack, (uint32_t)f->n_nodes);
}

static struct mt_turned turn(unsigned loop, enum mt_turn_sign sign)
{
    return (struct mt_turned){.loop = (uint8_t)loop, .sign = (uint8_t)sign};
}

/* Return whether a function that a line of a path is in has the loop already further out: the
 * function calls itself, and only the outermost one's turns count. */
static bool is_in_itself(struct mt_loop_finder *f, const struct mt_loop_node *node, unsigned depth,
                         uint32_t line)
{
    const uint32_t *path = f->pool + node->path;
    uint32_t loops[MT_SOURCE_DEPTH];
    bool is_known;
    for (unsigned i = 0; i < depth; i++) {
        if (!is_one_function(frame_of(f, path[i]), frame_of(f, path[depth])))
            continue;
        unsigned n = loops_of(f, path[i], loops, &is_known);
        for (unsigned j = 0; j < n; j++)
            if (loops[j] == line)
                return true;
    }
    return false;
}

/* Return a turn of a loop that the source says is around a line of a path. */
static struct mt_turned known_turn(struct mt_loop_finder *f, const struct mt_loop_node *node,
                                   unsigned depth, uint32_t line, enum mt_turn_sign sign)
{
    if (is_in_itself(f, node, depth, line))
        return turn(0, sign);
    return turn(loop_at(f, f->pool[node->path + depth], line, depth), sign);
}

/* Return the place, plus 1, of a loop that goes from a line on, at least until another one. */
static unsigned unknown_loop(struct mt_loop_finder *f, uint32_t stack, unsigned depth,
                             uint32_t until)
{
    uint32_t line = frame_of(f, stack)->line;
    unsigned loop = loop_at(f, stack, line, depth);
    if (loop && f->loop[loop - 1].until <= until)
        f->loop[loop - 1].until = until ? until : 1;
    return loop;
}

/* Return what it means that a line has begun again what it calls: a turn of the innermost loop
 * around it, or around its callers' lines; nothing if a line on the way calls it several times. A
 * native line may be in a loop where its source shows none: inlined code, or a loop that begins
 * within a line; it rather is than what has called the program. */
static struct mt_turned climb(struct mt_loop_finder *f, const struct mt_loop_node *node, int depth,
                              enum mt_turn_sign sign)
{
    const uint32_t *path = f->pool + node->path;
    uint32_t loops[MT_SOURCE_DEPTH];
    int unknown = -1, native = -1;
    bool is_doubtful = false;
    for (int i = depth; i >= 0; i--) {
        bool is_known;
        unsigned n = loops_of(f, path[i], loops, &is_known);
        enum times times = times_of(f, node, (unsigned)i);
        if (times != ONCE && (sign == MT_TURN_CALLED_AGAIN || i + 1 < (int)node->depth))
            return turn(0, sign);
        if (times != ONCE && sign != MT_TURN_OTHER_AGAIN)
            sign = MT_TURN_PERHAPS_AGAIN;
        is_doubtful |= times == SEVERAL;
        if (n) {
            struct mt_turned turned = known_turn(
                f, node, (unsigned)i, loops[0], sign == MT_TURN_CALLED_AGAIN ? MT_TURN_BACK : sign);
            turned.is_doubtful = is_doubtful;
            return turned;
        }
        if (!is_known && unknown < 0)
            unknown = i;
        if (is_known && native < 0 && frame_of(f, path[i])->is_native)
            native = i;
    }
    if (native >= 0 && (unknown < 0 || (!unknown && !frame_of(f, path[0])->line)))
        unknown = native;
    bool is_by_address = frame_of(f, path[node->depth - 1])->is_native;
    if (unknown < 0 || sign == MT_TURN_OTHER_AGAIN)
        return turn(0, sign);
    return turn(unknown_loop(f, path[unknown], (unsigned)unknown, frame_of(f, path[unknown])->line),
                sign == MT_TURN_AGAIN && !is_by_address ? MT_TURN_PERHAPS_AGAIN : sign);
}

/* Return the innermost loop around two lines of a function; 0: none, or unknown. */
static uint32_t common_loop(struct mt_loop_finder *f, uint32_t a, uint32_t b, bool *is_known)
{
    uint32_t of_a[MT_SOURCE_DEPTH], of_b[MT_SOURCE_DEPTH];
    bool knows_a, knows_b;
    unsigned n_a = loops_of(f, a, of_a, &knows_a), n_b = loops_of(f, b, of_b, &knows_b);
    *is_known = knows_a && knows_b;
    for (unsigned i = 0; i < n_a; i++)
        for (unsigned j = 0; j < n_b; j++)
            if (of_a[i] == of_b[j])
                return of_a[i];
    return 0;
}

/* Return whether a function is native, and has no caller with a line: main, or a thread's first
 * one. Its source may not show the loop, but what has called it has none. */
static bool is_first(struct mt_loop_finder *f, const struct mt_loop_node *node, unsigned depth)
{
    if (!frame_of(f, f->pool[node->path + depth])->is_native)
        return false;
    while (depth && !frame_of(f, f->pool[node->path + depth - 1])->line)
        depth--;
    return !depth;
}

/* Return what it means that a function goes from one of its lines to another one. */
static struct mt_turned between_lines(struct mt_loop_finder *f, const struct mt_loop_node *from,
                                      const struct mt_loop_node *to, unsigned depth)
{
    uint32_t a = f->pool[from->path + depth], b = f->pool[to->path + depth],
             caller = depth ? f->pool[to->path + depth - 1] : 0;
    uint32_t line_a = frame_of(f, a)->line, line_b = frame_of(f, b)->line;
    uint32_t order_a = mt_address_map_get(&f->order, a), order_b = mt_address_map_get(&f->order, b);
    bool is_known, is_back = line_b <= line_a && order_b < order_a;
    uint32_t loop = common_loop(f, a, b, &is_known);
    is_known &= !is_first(f, to, depth);
    is_back |= order_b < order_a &&
               mt_address_map_get(&f->first, child_key(caller, loop ? loop : ANY)) == order_b;
    if (!is_back)
        return turn(0, MT_TURN_BACK);
    if (loop)
        return known_turn(f, to, depth, loop, MT_TURN_BACK);
    if (is_known && depth)
        return climb(f, to, (int)depth - 1, MT_TURN_CALLED_AGAIN);
    return is_known ? turn(0, MT_TURN_BACK) : turn(unknown_loop(f, b, depth, line_a), MT_TURN_BACK);
}

/* Return what it means that one node comes after the other; the same again: it is done again. */
static struct mt_turned step(struct mt_loop_finder *f, const struct mt_loop_node *from,
                             const struct mt_loop_node *to, enum mt_again again)
{
    const uint32_t *a = f->pool + from->path, *b = f->pool + to->path;
    unsigned depth = 0;
    while (depth < from->depth && depth < to->depth && a[depth] == b[depth])
        depth++;
    if (depth == from->depth && depth == to->depth)
        return climb(f, to, (int)depth - 1,
                     again == MT_AGAIN_SURELY  ? MT_TURN_AGAIN
                     : again == MT_AGAIN_OTHER ? MT_TURN_OTHER_AGAIN
                                               : MT_TURN_PERHAPS_AGAIN);
    if (depth < from->depth && depth < to->depth && are_of_one_function(f, a[depth], b[depth]))
        return between_lines(f, from, to, depth);
    if (!depth)
        return turn(0, MT_TURN_BACK);
    uint64_t one = depth < from->depth ? a[depth] : a[depth - 1] | ITSELF,
             other = depth < to->depth ? b[depth] : b[depth - 1] | ITSELF;
    bool is_back = mt_address_map_get(&f->order, other) < mt_address_map_get(&f->order, one);
    return is_back ? climb(f, to, (int)depth - 1, MT_TURN_CALLED_AGAIN) : turn(0, MT_TURN_BACK);
}

/* Return the same, kept for the next time. */
static struct mt_turned known_step(struct mt_loop_finder *f, uint32_t from, uint32_t to,
                                   enum mt_again again)
{
    uint64_t key = (uint64_t)from << 34 | (uint64_t)to << 2 | again;
    uint32_t known = mt_address_map_get(&f->steps, key);
    if (known--)
        return (struct mt_turned){.loop = (uint8_t)(known >> 4),
                                  .sign = (uint8_t)(known & 7),
                                  .is_doubtful = known >> 3 & 1};
    struct mt_turned turned = step(f, &f->node[from], &f->node[to], again);
    if (mt_address_map_put(
            &f->steps, key,
            ((uint32_t)turned.loop << 4 | (uint32_t)turned.is_doubtful << 3 | turned.sign) + 1))
        return turn(0, MT_TURN_BACK);
    return turned;
}

uint32_t mt_loops_busiest(const struct mt_visits *visits, size_t first, size_t end)
{
    enum { MOST = 256 };
    uint64_t bytes[MOST] = {0};
    uint32_t best = 0;
    for (size_t i = first; i < end; i++)
        bytes[visits->visit[i].thread % MOST] += 1 + visits->visit[i].bytes;
    for (uint32_t i = 1; i < MOST; i++)
        best = bytes[i] > bytes[best] ? i : best;
    for (size_t i = first; i < end; i++)
        if (visits->visit[i].thread % MOST == best)
            return visits->visit[i].thread;
    return 0;
}

static void count_visit(struct mt_loop_finder *f, const struct mt_loop_node *node,
                        const struct mt_visit *visit)
{
    for (unsigned i = 0; i < node->n_loops; i++) {
        struct mt_found_loop *loop = &f->loop[node->loops[i]];
        loop->bytes += 1 + visit->bytes;
        for (unsigned j = 0; j < node->n_loops; j++)
            loop->in[node->loops[j]] += 1 + visit->bytes;
        loop->in_forward |= visit->in_forward;
    }
}

/* Follow where a turn of each loop is, from a visit to the next. */
static void move(struct mt_loop_finder *f, uint32_t place, struct mt_turned turned)
{
    for (unsigned i = 0; i < f->n_loops; i++) {
        struct mt_found_loop *loop = &f->loop[i];
        if (!(f->node[place - 1].in >> i & 1)) {
            loop->first = 0;
        } else if (!loop->first || turned.loop == i + 1) {
            loop->first = place;
            loop->has_moved = false;
        } else {
            loop->has_moved |= loop->first != place;
        }
    }
}

/* Return what it means that a visit comes after another one; what is only done again begins a turn
 * if nothing else has been done in the one before. */
static struct mt_turned turned_at(struct mt_loop_finder *f, uint32_t last, uint32_t place,
                                  enum mt_again again)
{
    if (!last || (last == place && !again))
        return turn(0, MT_TURN_BACK);
    struct mt_turned turned =
        known_step(f, last - 1, place - 1, last == place ? again : MT_AGAIN_NOT);
    bool is_again = turned.sign != MT_TURN_BACK && turned.sign != MT_TURN_CALLED_AGAIN;
    if (turned.loop && is_again && f->loop[turned.loop - 1].has_moved)
        return turn(0, MT_TURN_BACK);
    return turned;
}

/* Find all loops among the visits of a thread. 0 or -ENOMEM; -E2BIG: there are too many lines. */
static int find_loops(struct mt_loop_finder *f, size_t first, size_t end, uint32_t thread)
{
    uint32_t last = 0; /* place, plus 1 */
    for (size_t i = first; i < end; i++) {
        const struct mt_visit *visit = &f->visits->visit[i];
        if (visit->thread != thread)
            continue;
        uint32_t place = mt_address_map_get(&f->places, visit->node);
        if (!place) {
            if (f->n_nodes == NODES_MOST) {
                f->n_loops = 0;
                return -E2BIG;
            }
            if (add_node(f, visit->node))
                return -ENOMEM;
            place = (uint32_t)f->n_nodes;
        }
        struct mt_turned turned = turned_at(f, last, place, (enum mt_again)visit->again);
        if (turned.loop) {
            f->loop[turned.loop - 1].turns[turned.sign]++;
            f->loop[turned.loop - 1].is_doubtful |= turned.is_doubtful;
        }
        f->turned[i] = turned;
        if (last != place || turned.loop)
            move(f, place, turned);
        last = place;
    }
    return 0;
}

/* Put a node into the loops of which the source does not say what is in them, and list its loops
 * with the outermost first. */
static void complete(struct mt_loop_finder *f, struct mt_loop_node *node)
{
    for (unsigned i = 0; i < f->n_loops; i++)
        for (uint32_t j = 0; f->loop[i].until && j < node->depth; j++) {
            uint32_t stack = f->pool[node->path + j], line = frame_of(f, stack)->line;
            if (line >= f->loop[i].line && line <= f->loop[i].until &&
                are_of_one_function(f, stack, f->loop[i].stack))
                put_in(node, i + 1);
        }
    for (unsigned i = 1; i < node->n_loops; i++)
        for (unsigned j = i; j; j--) {
            const struct mt_found_loop *a = &f->loop[node->loops[j - 1]],
                                       *b = &f->loop[node->loops[j]];
            if (a->depth < b->depth || (a->depth == b->depth && a->line <= b->line))
                break;
            uint8_t loop = node->loops[j];
            node->loops[j] = node->loops[j - 1];
            node->loops[j - 1] = loop;
        }
}

static void count_visits(struct mt_loop_finder *f, size_t first, size_t end, uint32_t thread)
{
    for (size_t i = 0; i < f->n_nodes; i++)
        complete(f, &f->node[i]);
    for (size_t i = first; i < end; i++) {
        const struct mt_visit *visit = &f->visits->visit[i];
        if (visit->thread == thread)
            count_visit(f, &f->node[mt_address_map_get(&f->places, visit->node) - 1], visit);
    }
}

int mt_loops_find(struct mt_loop_finder *finder, size_t first, size_t end, uint32_t thread)
{
    finder->turned = calloc(finder->visits->n, sizeof *finder->turned);
    int rc = finder->turned ? find_loops(finder, first, end, thread) : -ENOMEM;
    if (!rc)
        count_visits(finder, first, end, thread);
    return rc == -E2BIG ? 0 : rc;
}

void mt_loops_clear(struct mt_loop_finder *finder)
{
    mt_address_map_clear(&finder->places);
    mt_address_map_clear(&finder->order);
    mt_address_map_clear(&finder->first);
    mt_address_map_clear(&finder->steps);
    mt_address_map_clear(&finder->by_key);
    mt_address_map_clear(&finder->sources);
    free(finder->source);
    free(finder->node);
    free(finder->pool);
    free(finder->turned);
}
