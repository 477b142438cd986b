/* SPDX-License-Identifier: Apache-2.0 */
#include "processes.h"
#include "analyzer/support/grow.h"
#include "analyzer/support/search.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A job of one process may have a rank or not, depending on the launcher. */
static long rank_of(const struct mt_digest *digest)
{
    return digest->world_size == 1 ? -1 : digest->rank;
}

/* --- the runs of a side ------------------------------------------------------------------------
 */

void mt_group_by_folder(struct mt_digest *digests, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const char *slash = strrchr(digests[i].path, '/');
        size_t length = slash ? (size_t)(slash - digests[i].path) : 0, of = 0;
        for (; of < i; of++) {
            const char *other = strrchr(digests[of].path, '/');
            if ((other ? (size_t)(other - digests[of].path) : 0) == length &&
                !strncmp(digests[of].path, digests[i].path, length))
                break;
        }
        digests[i].group = (unsigned)of + 1;
    }
}

static bool overlap(const struct mt_digest *a, const struct mt_digest *b)
{
    return a->started_unix_ns && b->started_unix_ns &&
           a->started_unix_ns <= b->started_unix_ns + b->length_ns &&
           b->started_unix_ns <= a->started_unix_ns + a->length_ns;
}

static bool are_on_one_host(const struct mt_digest *a, const struct mt_digest *b)
{
    return !strcmp(mt_digest_text(a->host), mt_digest_text(b->host)) && a->parent_pid > 0 &&
           b->parent_pid > 0;
}

/* Return whether one is the other's child, or both are children of one process. */
static bool are_family(const struct mt_digest *a, const struct mt_digest *b)
{
    return are_on_one_host(a, b) &&
           (a->parent_pid == b->pid || b->parent_pid == a->pid || a->parent_pid == b->parent_pid);
}

/* Return whether two processes cannot be of one run: one process twice, or a rank twice. */
static bool exclude(const struct mt_digest *a, const struct mt_digest *b)
{
    if (a->group || b->group)
        return a->group != b->group;
    bool is_repeated =
        !strcmp(mt_digest_text(a->command), mt_digest_text(b->command)) && !overlap(a, b);
    if (are_on_one_host(a, b) && a->pid == b->pid)
        return true;
    return rank_of(a) >= 0 && rank_of(a) == rank_of(b) && (!are_family(a, b) || is_repeated);
}

/* Return whether two processes belong to one run, by these two alone. If only the parent is the
 * same, equal commands in sequence are repeated runs. */
static bool are_of_one_run(const struct mt_digest *a, const struct mt_digest *b)
{
    if (a->group && a->group == b->group)
        return true;
    if (rank_of(a) >= 0 && rank_of(b) >= 0 && rank_of(a) != rank_of(b) &&
        a->world_size == b->world_size)
        return overlap(a, b) || are_family(a, b) || !a->started_unix_ns || !b->started_unix_ns;
    return are_family(a, b) &&
           (overlap(a, b) || strcmp(mt_digest_text(a->command), mt_digest_text(b->command)));
}

struct side {
    const struct mt_digest *digest;
    size_t n;
    size_t *run; /* by digest */
    size_t n_runs;
};

struct numbered {
    uint64_t started;
    size_t index;
};

MT_ORDER(by_start, struct numbered, MT_RISING(started) ?: MT_RISING(index))

/* Return the newest run that a digest belongs to, of those before order[at]; n_runs: a new one. */
static size_t run_of(const struct side *side, const struct numbered *order, size_t at)
{
    const struct mt_digest *digest = &side->digest[order[at].index];
    for (size_t run = side->n_runs; run-- > 0;) {
        bool belongs = false, is_excluded = false;
        for (size_t i = 0; i < at && !is_excluded; i++) {
            if (side->run[order[i].index] != run)
                continue;
            const struct mt_digest *other = &side->digest[order[i].index];
            is_excluded = exclude(digest, other);
            belongs |= are_of_one_run(digest, other);
        }
        if (belongs && !is_excluded)
            return run;
    }
    return side->n_runs;
}

/* Number the side's runs in the order of their starts. */
static int find_runs(struct side *side)
{
    struct numbered *order = calloc(side->n + 1, sizeof *order);
    side->run = calloc(side->n + 1, sizeof *side->run);
    for (size_t i = 0; order && side->run && i < side->n; i++)
        order[i] = (struct numbered){side->digest[i].started_unix_ns, i};
    if (order && side->n)
        qsort(order, side->n, sizeof *order, by_start);
    for (size_t i = 0; order && side->run && i < side->n; i++) {
        size_t run = run_of(side, order, i);
        side->run[order[i].index] = run;
        side->n_runs += run == side->n_runs;
    }
    int rc = order && side->run ? 0 : -ENOMEM;
    free(order);
    return rc;
}

/* --- one run's processes -----------------------------------------------------------------------
 */

/* A process of one run. */
struct member {
    const struct mt_digest *digest;
    size_t index;  /* among its side's digests */
    size_t parent; /* its index among the members; SIZE_MAX: none */
    size_t depth;  /* below the run's outermost processes */
    long rank;
    const char *program;
    size_t of; /* its process; SIZE_MAX: not yet found */
};

/* Process ids wrap around. */
static bool is_wrapped(const struct member *member)
{
    return member->digest->pid < member->digest->parent_pid;
}

/* Processes of one parent, in the order of their creation. */
MT_ORDER(in_order, struct member,
         MT_RISING(depth) ?: MT_RISING(rank) ?: MT_BY_TEXT(program)
         ?: MT_COMPARE(is_wrapped(a), is_wrapped(b)) ?: MT_RISING(digest->pid)
         ?: MT_RISING(digest->started_unix_ns) ?: MT_RISING(index))

static size_t parent_of(const struct member *member, size_t n, size_t i)
{
    for (size_t j = 0; j < n; j++)
        if (j != i && are_on_one_host(member[i].digest, member[j].digest) &&
            member[i].digest->parent_pid == member[j].digest->pid)
            return j;
    return SIZE_MAX;
}

static size_t depth_of(const struct member *member, size_t n, size_t i)
{
    size_t depth = 0;
    while (depth < n && (i = parent_of(member, n, i)) != SIZE_MAX)
        depth++;
    return depth;
}

/* List a run's processes, parents first. Return how many. There is room for all digests. */
static size_t list_members(struct member *member, const struct side *side, size_t run)
{
    size_t n = 0;
    for (size_t i = 0; i < side->n; i++)
        if (side->run[i] == run)
            member[n++] = (struct member){.digest = &side->digest[i],
                                          .index = i,
                                          .parent = SIZE_MAX,
                                          .rank = rank_of(&side->digest[i]),
                                          .program = mt_digest_text(side->digest[i].program),
                                          .of = SIZE_MAX};
    for (size_t i = 0; i < n; i++)
        member[i].depth = depth_of(member, n, i);
    if (n)
        qsort(member, n, sizeof *member, in_order);
    for (size_t i = 0; i < n; i++)
        member[i].parent = parent_of(member, n, i);
    return n;
}

/* --- matching ----------------------------------------------------------------------------------
 */

static const struct mt_digest *shown_of(const struct mt_process *process)
{
    return process->now ? process->now : process->old;
}

static bool have_one_role(const struct mt_digest *a, const struct mt_digest *b)
{
    return rank_of(a) == rank_of(b) &&
           !strcmp(mt_digest_text(a->program), mt_digest_text(b->program));
}

/* Compare texts to `end`, digits aside: descriptors and counts differ from run to run. */
static bool is_like(const char *a, const char *b)
{
    for (; *a && *b; a++, b++) {
        if (isdigit((unsigned char)*a) && isdigit((unsigned char)*b)) {
            a += strspn(a, "0123456789") - 1;
            b += strspn(b, "0123456789") - 1;
        } else if (*a != *b)
            return false;
    }
    return *a == *b;
}

static bool has_equal_memory(const struct mt_digest *a, const struct mt_digest *b)
{
    if (a->n_devices != b->n_devices)
        return false;
    for (size_t i = 0; i < a->n_devices; i++)
        if (a->devices[i].allocated != b->devices[i].allocated ||
            a->devices[i].device != b->devices[i].device ||
            a->devices[i].n_sites != b->devices[i].n_sites)
            return false;
    return true;
}

static uint64_t peak_of(const struct mt_digest *digest)
{
    const struct mt_digest_device *device = mt_digest_main_device(digest);
    return device ? device->allocated : 0;
}

/* Return the similarity of two peaks, 0 to 8. */
static int nearness(const struct mt_digest *a, const struct mt_digest *b)
{
    uint64_t x = peak_of(a), y = peak_of(b);
    double most = (double)(x > y ? x : y), least = (double)(x > y ? y : x);
    return most > 0 ? (int)(8 * least / most) : 8;
}

/* Return how likely two processes of a role correspond. Equal memory counts more than the order,
 * which varies for processes that start together, and means nothing if their number differs. */
static int likeness(const struct mt_digest *a, const struct mt_digest *b, bool is_same_order,
                    bool as_many)
{
    bool is_spawned = strstr(mt_digest_text(a->command), "spawn_main(");
    return (*mt_digest_text(a->title) && is_like(mt_digest_text(a->title), mt_digest_text(b->title))
                ? 20
                : 0) +
           (!is_spawned && !strcmp(mt_digest_text(a->command), mt_digest_text(b->command)) ? 24
            : is_like(mt_digest_text(a->command), mt_digest_text(b->command))              ? 8
                                                                                           : 0) +
           (has_equal_memory(a, b) ? 10 : 0) +
           (!as_many        ? nearness(a, b)
            : is_same_order ? 9
                            : 0);
}

struct candidate {
    int score;
    size_t member, process;
};

MT_ORDER(by_score, struct candidate, MT_FALLING(score) ?: MT_RISING(member) ?: MT_RISING(process))

struct matcher {
    struct mt_processes *to;
    struct member *member;
    size_t n;
    bool *used; /* by process: by this run */
};

static const struct mt_digest *parent_in(const struct matcher *m, const struct member *member)
{
    return member->parent == SIZE_MAX ? NULL : m->member[member->parent].digest;
}

/* Count the open members, or processes, of a role that come before `i`; SIZE_MAX: all. */
static size_t count_members(const struct matcher *m, const struct mt_digest *role, size_t before)
{
    size_t n = 0;
    for (size_t i = 0; i < m->n && i < before; i++)
        n += m->member[i].of == SIZE_MAX && have_one_role(m->member[i].digest, role);
    return n;
}

static size_t count_processes(const struct matcher *m, const struct mt_digest *role, size_t before)
{
    size_t n = 0;
    for (size_t i = 0; i < m->to->n && i < before; i++)
        n += !m->used[i] && have_one_role(shown_of(&m->to->process[i]), role);
    return n;
}

/* Return whether the program is known. It is missing from the trace of a process that was killed at
 * once. */
static bool has_name(const struct mt_digest *digest)
{
    return *mt_digest_text(digest->program) != '\0';
}

static bool have_names(const struct member *member, const struct mt_process *process)
{
    return has_name(member->digest) && has_name(shown_of(process));
}

/* The passes of pairing: by role, then by rank, then processes without a name. */
enum { BY_ROLE, BY_RANK, UNNAMED };

static bool may_be(const struct matcher *m, const struct member *member, size_t process, int pass)
{
    const struct mt_process *of = &m->to->process[process];
    if (m->used[process])
        return false;
    if (pass == BY_RANK)
        return member->rank >= 0 && member->rank == rank_of(shown_of(of));
    if (pass == UNNAMED)
        return member->rank == rank_of(shown_of(of)) && !have_names(member, of);
    return have_one_role(member->digest, shown_of(of));
}

/* Return whether both have parents in their runs that run one program, or neither has a parent. */
static bool have_one_parent(const struct mt_digest *a, const struct mt_digest *b)
{
    return a && b ? !strcmp(mt_digest_text(a->program), mt_digest_text(b->program)) : a == b;
}

/* Pair open members with processes in a pass. */
static int pair(struct matcher *m, int pass)
{
    struct candidate *candidate = NULL;
    size_t n = 0, capacity = 0;
    for (size_t i = 0; i < m->n; i++) {
        const struct mt_digest *digest = m->member[i].digest;
        if (m->member[i].of != SIZE_MAX)
            continue;
        const struct mt_digest *parent = parent_in(m, &m->member[i]);
        bool as_many = count_members(m, digest, SIZE_MAX) == count_processes(m, digest, SIZE_MAX);
        size_t at = count_members(m, digest, i);
        for (size_t j = 0; j < m->to->n; j++) {
            if (!may_be(m, &m->member[i], j, pass))
                continue;
            if (MT_GROW(candidate, capacity, n)) {
                free(candidate);
                return -ENOMEM;
            }
            const struct mt_process *of = &m->to->process[j];
            int score =
                likeness(digest, shown_of(of), at == count_processes(m, digest, j), as_many) +
                (have_one_parent(parent, of->parent) ? 6 : 0);
            candidate[n++] = (struct candidate){score, i, j};
        }
    }
    if (n)
        qsort(candidate, n, sizeof *candidate, by_score);
    for (size_t i = 0; i < n; i++) {
        struct member *member = &m->member[candidate[i].member];
        size_t process = candidate[i].process;
        if (member->of != SIZE_MAX || m->used[process])
            continue;
        member->of = process;
        m->used[process] = true;
        m->to->process[process].is_renamed |=
            pass == BY_RANK && have_names(member, &m->to->process[process]);
    }
    free(candidate);
    return 0;
}

/* Pair a run's only process with the only known one. */
static void pair_only(struct matcher *m)
{
    if (m->n != 1 || m->to->n != 1 || m->member->of != SIZE_MAX || m->used[0] ||
        m->member->rank != rank_of(shown_of(m->to->process)))
        return;
    m->member->of = 0;
    m->used[0] = true;
    m->to->process->is_renamed = true;
}

static int add_process(struct matcher *m, struct member *member)
{
    struct mt_processes *to = m->to;
    if (MT_GROW(to->process, to->capacity, to->n))
        return -ENOMEM;
    member->of = to->n;
    to->process[to->n++] = (struct mt_process){.parent = parent_in(m, member)};
    return 0;
}

/* Match a run's processes with the known ones, and add the others. */
static int take_run(struct mt_processes *to, const struct side *side, size_t run, bool is_new)
{
    struct matcher m = {to, calloc(side->n + 1, sizeof *m.member), 0,
                        calloc(to->n + 1, sizeof *m.used)};
    int rc = m.member && m.used ? 0 : -ENOMEM;
    if (!rc)
        m.n = list_members(m.member, side, run);
    for (int pass = BY_ROLE; pass <= UNNAMED && !rc; pass++)
        rc = pair(&m, pass);
    if (!rc)
        pair_only(&m);
    for (size_t i = 0; i < m.n && !rc; i++) {
        struct member *member = &m.member[i];
        if (member->of == SIZE_MAX)
            rc = add_process(&m, member);
        if (rc)
            break;
        struct mt_process *process = &to->process[member->of];
        const struct mt_digest **newest = is_new ? &process->now : &process->old;
        if (!*newest)
            *newest = member->digest;
        (is_new ? to->now : to->old)[member->index] = member->of;
    }
    free(m.member);
    free(m.used);
    return rc;
}

/* Process the newest runs first. */
static int take_side(struct mt_processes *to, struct side *side, bool is_new)
{
    int rc = find_runs(side);
    for (size_t run = side->n_runs; run-- > 0 && !rc;)
        rc = take_run(to, side, run, is_new);
    return rc;
}

int mt_processes_match(struct mt_processes *processes, const struct mt_digest *now, size_t n_new,
                       const struct mt_digest *old, size_t n_old)
{
    struct side new_side = {now, n_new, NULL, 0}, old_side = {old, n_old, NULL, 0};
    *processes = (struct mt_processes){.now = calloc(n_new + 1, sizeof *processes->now),
                                       .old = calloc(n_old + 1, sizeof *processes->old),
                                       .new_digest = now,
                                       .old_digest = old,
                                       .n_new = n_new,
                                       .n_old = n_old};
    int rc = processes->now && processes->old ? take_side(processes, &new_side, true) : -ENOMEM;
    if (!rc)
        rc = take_side(processes, &old_side, false);
    free(new_side.run);
    free(old_side.run);
    return rc;
}

void mt_processes_clear(struct mt_processes *processes)
{
    free(processes->process);
    free(processes->now);
    free(processes->old);
    *processes = (struct mt_processes){0};
}
