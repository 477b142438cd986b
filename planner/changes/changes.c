/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/support/grow.h"
#include "analyzer/support/search.h"
#include "analyzer/support/to-integer.h"
#include "kinds.h"

#include <stdlib.h>
#include <string.h>

/* clang-format off */
const struct mt_change_kind mt_change_kinds[] = {
    {"keep-nothing", NULL, NULL, "no activation, input or other tensor of an iteration outlives the next optimizer step; in an evaluation, none outlives the next forward",
     50, MT_REBUILDS_LEFT_BEHIND, mt_change_keep_nothing},
    {"no-grad", NULL, NULL, "the evaluation in which the run ends saves nothing for a backward", 20,
     MT_REBUILDS_EVALUATION, mt_change_no_grad},
    {"drop-exception", NULL, NULL, "everything that an attempt requested before it ran out of memory is freed before the next attempt", 0,
     MT_REBUILDS_EVALUATION, mt_change_drop_exception},
    {"host-copies", NULL, NULL, "copies of weights (loaded, cloned, copy.deepcopy) are in host memory", 0,
     MT_REBUILDS_COPIES, mt_change_host_copies},
    {"no-benchmark", NULL, NULL, "cuDNN does not search for the fastest algorithm; the one it uses needs the same workspace", 5,
     MT_REBUILDS_SEARCHES, mt_change_no_benchmark},
    {"del", "LINE", NULL, "what the line allocates is freed after the statement that uses it last", 0, 0, mt_change_del, true},
    {"defer", "LINE", NULL, "what the line allocates is allocated before the statement that uses it first", 0, 0, mt_change_defer, true},
    {"omit", "LINE", NULL, "what the line allocates and nothing reads is not allocated", 0, 0, mt_change_omit, true},
    {"offload-idle", "LINE", NULL, "what the line allocates is in host memory for the longest time between two uses", 0, 0,
     mt_change_offload_idle, true},
    {"kv-cache", "PART", "1/2", "the KV cache is that part as large, for fewer or shorter sequences; all else stays", 20,
     MT_REBUILDS_SHAPE, mt_change_kv_cache},
    {"batch", "PART", "1/2", "all memory except the model's and the optimizer's scales with the batch", 20,
     MT_REBUILDS_SHAPE, mt_change_batch},
    {"sequence", "PART", "1/2", "all memory except the model's and the optimizer's scales with the sequence length; attention scores with its square", 20,
     MT_REBUILDS_SHAPE, mt_change_sequence},
    {"precision", "autocast|bf16", "autocast bf16", "autocast: 16-bit products, 32 bits where PyTorch keeps them; bf16: 16 bits for every 32-bit float", 30, MT_REBUILDS_TYPES, mt_change_precision},
    {"checkpoint", "MODULE", NULL, "each call of the module runs again in backward (use_reentrant=False)", 10,
     MT_REBUILDS_SAVED, mt_change_checkpoint},
    {"checkpoint-each", NULL, NULL, "each numbered layer under a checkpoint runs again when its own backward begins", 10,
     MT_REBUILDS_SAVED, mt_change_checkpoint_each},
    {"chunked-loss", "CHUNKS", "16", "head and loss run on so many parts of the tokens, one after the other, each again in backward (use_reentrant=False)", 50,
     MT_REBUILDS_LOSS, mt_change_chunked_loss},
    {"lora", "RANK", "16", "adapters next to the linear layers of numbered modules; everything else is frozen", 10,
     MT_REBUILDS_OPTIMIZER | MT_REBUILDS_GRADIENTS | MT_REBUILDS_PLACES | MT_REBUILDS_SAVED, mt_change_lora},
    {"optimizer", "adamw|adamw-fused|adamw-for-loop|adam8bit|adafactor|sgd|sgd-momentum", "adamw-fused adamw-for-loop adam8bit adafactor sgd",
     "PyTorch's optimizer of that name (8-bit: bitsandbytes), for every trained parameter", 20,
     MT_REBUILDS_OPTIMIZER, mt_change_optimizer},
    {"zero-grad", NULL, NULL, "gradients are freed after each step and allocated again in the next backward", 50,
     MT_REBUILDS_GRADIENTS, mt_change_zero_grad},
    {"bucket-views", NULL, NULL, "DDP's buckets are the gradients", 20, MT_REBUILDS_GRADIENTS, mt_change_bucket_views},
    {"zero1", "RANKS", "8", "under DDP, with its buckets; optimizer state is distributed by whole parameters, and the largest share counts",
     30, MT_REBUILDS_PLACES, mt_change_zero1},
    {"zero2", "RANKS", "8", "FSDP2 on each numbered layer; parameters stay gathered from forward to backward", 10,
     MT_REBUILDS_PLACES | MT_REBUILDS_GRADIENTS, mt_change_zero2},
    {"zero3", "RANKS", "8", "FSDP2 on each numbered layer; parameters are gathered for forward and again for backward",
     10, MT_REBUILDS_PLACES | MT_REBUILDS_GRADIENTS, mt_change_zero3},
    {"offload", "optimizer|activations|parameters", "optimizer activations parameters",
     "offloaded memory is on the card only while it is used; the optimizer steps on the CPU", 20, 0,
     mt_change_offload},
    {0},
};
/* clang-format on */

/* Candidates that differ by less than this part are one. */
#define LIKE 200

const struct mt_change_kind *mt_change_kind_of(const char *name, size_t size)
{
    const struct mt_change_kind *kind = mt_change_kinds;
    while (kind->name && (strncmp(kind->name, name, size) != 0 || kind->name[size]))
        kind++;
    return kind->name ? kind : NULL;
}

/* Return by how much, with what the argument says. */
static unsigned rebuilt_by(const struct mt_change_kind *kind, const char *argument)
{
    if (!strcmp(argument, "autocast"))
        return kind->rebuilds | MT_REBUILDS_CASTS;
    if (kind->apply != mt_change_offload)
        return kind->rebuilds;
    return !strcmp(argument, "activations") ? MT_REBUILDS_SAVED | MT_REBUILDS_CASTS
           : !strcmp(argument, "optimizer")
               ? MT_REBUILDS_OPTIMIZER | MT_REBUILDS_PLACES
               : MT_REBUILDS_OPTIMIZER | MT_REBUILDS_PLACES | MT_REBUILDS_GRADIENTS;
}

struct part {
    char name[MT_CHANGE_NAME];
    const struct mt_change_kind *kind;
    const char *argument; /* in name */
};

static int read_part(struct part *part, const char *name, size_t size)
{
    memcpy(part->name, name, size);
    part->name[size] = '\0';
    const char *colon = strchr(part->name, ':');
    part->argument = colon ? colon + 1 : "";
    part->kind = mt_change_kind_of(part->name, strcspn(part->name, ":"));
    return part->kind && !colon == !part->kind->argument ? 0 : -EINVAL;
}

/* Read the parts in the order in which they are applied. 0 or -EINVAL. */
static int read_parts(struct part part[MT_CHANGE_PARTS], const char *name, size_t *n)
{
    for (*n = 0;;) {
        size_t size = strcspn(name, "+"), at = *n;
        struct part one;
        if (*n == MT_CHANGE_PARTS || read_part(&one, name, size))
            return -EINVAL;
        for (; at && part[at - 1].kind > one.kind; at--)
            (void)read_part(&part[at], part[at - 1].name, strlen(part[at - 1].name));
        (void)read_part(&part[at], one.name, size);
        ++*n;
        if (!name[size])
            return 0;
        name += size + 1;
    }
}

int mt_change_apply(struct mt_edits *edits, const char *name, struct mt_modelled *change)
{
    struct part part[MT_CHANGE_PARTS];
    unsigned rebuilt = 0;
    size_t n;
    int rc = strlen(name) < sizeof change->name ? read_parts(part, name, &n) : -EINVAL;
    if (rc)
        return rc;
    memcpy(change->name, name, strlen(name) + 1);
    for (size_t i = 0; !rc && i < n; i++) {
        unsigned rebuilds = rebuilt_by(part[i].kind, part[i].argument);
        change->kind[i] = part[i].kind;
        change->error += part[i].kind->error;
        if (rebuilt & rebuilds) {
            change->why_not = "two of these changes affect the same memory";
            return -ENOENT;
        }
        rebuilt |= rebuilds;
        rc = part[i].kind->apply(edits, part[i].argument, change);
    }
    if (!rc &&
        rebuilt & (MT_REBUILDS_SHAPE | MT_REBUILDS_TYPES | MT_REBUILDS_CASTS | MT_REBUILDS_SAVED) &&
        mt_multiplies_freely(edits->recording))
        edits->guesses |= MT_GUESS_PRODUCTS;
    return rc;
}

/* Apply a second candidate: what was guessed is not so. */
static int apply_otherwise(struct mt_modelled *change, const char *name,
                           const struct mt_recording *recording, unsigned without)
{
    struct mt_edits edits;
    struct mt_modelled other = {0};
    uint64_t peak = 0, moment;
    int rc = mt_edits_begin(&edits, recording);
    edits.without = without;
    if (!rc)
        rc = mt_change_apply(&edits, name, &other);
    if (!rc)
        rc = mt_edits_peak(&edits, &peak, &moment);
    uint64_t off = peak > change->peak ? peak - change->peak : change->peak - peak;
    if (!rc && off > change->peak / LIKE)
        change->other_peak = peak;
    mt_edits_clear(&edits);
    return rc;
}

static int apply(struct mt_modelled *change, const char *name, const struct mt_recording *recording,
                 uint64_t *before)
{
    struct mt_edits edits;
    uint64_t moment;
    int rc = mt_edits_begin(&edits, recording);
    if (!rc && !*before)
        rc = mt_edits_peak(&edits, before, &moment);
    if (!rc)
        rc = mt_change_apply(&edits, name, change);
    if (!rc)
        rc = mt_edits_peak(&edits, &change->peak, &moment);
    if (!rc && change->peak) {
        change->moment = moment >> MT_WITHIN_BITS;
        uint64_t unused = mt_edits_unused(&edits, moment) * 1000;
        change->unused = (unsigned)((unused + change->peak - 1) / change->peak);
        change->error += change->unused;
    }
    change->saves = rc ? 0 : (int64_t)(*before - change->peak);
    change->is_untried = edits.guesses & MT_GUESS_PRODUCTS || recording->is_short;
    unsigned doubts = edits.guesses & MT_NO_BOUND & ~(unsigned)MT_GUESS_PRODUCTS;
    mt_edits_clear(&edits);
    return rc || !doubts ? rc : apply_otherwise(change, name, recording, doubts);
}

bool mt_changes_go_together(const char *one, const char *other)
{
    struct part part[2];
    return strlen(one) < MT_CHANGE_NAME && strlen(other) < MT_CHANGE_NAME &&
           !read_part(&part[0], one, strlen(one)) && !read_part(&part[1], other, strlen(other)) &&
           !(rebuilt_by(part[0].kind, part[0].argument) &
             rebuilt_by(part[1].kind, part[1].argument));
}

int mt_modelled_of(struct mt_modelled *change, const struct mt_recording *recording,
                   const char *name)
{
    uint64_t before = 1;
    *change = (struct mt_modelled){0};
    int rc = apply(change, name, recording, &before);
    change->saves = 0;
    return rc == -ENOENT ? 0 : rc;
}

static void count(struct mt_modelled_changes *changes, const struct mt_recording *recording)
{
    changes->steps = recording->n_steps ? recording->n_steps : 1;
    changes->is_short = recording->is_short;
    changes->forward = 0;
    for (size_t i = 0; i < recording->n; i++)
        changes->forward += recording->block[i].phase == MT_PHASE_FORWARD;
}

uint64_t mt_saved_per_operator(const struct mt_modelled_changes *changes,
                               const struct mt_modelled *change)
{
    return change->operators && change->saves > 0
               ? mt_to_uint64((double)change->saves * (double)changes->steps /
                              (double)change->operators)
               : 0;
}

int mt_modelled_add(struct mt_modelled_changes *changes, const struct mt_recording *recording,
                    const char *name)
{
    struct mt_modelled change = {0};
    if (!changes->peak)
        count(changes, recording);
    int rc = apply(&change, name, recording, &changes->peak);
    if (rc && rc != -ENOENT)
        return rc;
    return MT_APPEND(changes->change, changes->capacity, changes->n, change);
}

/* Return what a change has to save to be worth a word: a thousandth of what is live, without a
 * request that failed. */
static int64_t least_saved(const struct mt_modelled_changes *changes,
                           const struct mt_recording *recording)
{
    const struct mt_recorded_block *failed =
        changes->rest ? mt_recorded_at(recording, changes->rest->cut) : NULL;
    uint64_t size = failed ? failed->size : 0;
    return (int64_t)(changes->peak > size ? changes->peak - size : 0) / 1000;
}

static bool is_worth(const struct mt_modelled_changes *changes,
                     const struct mt_recording *recording, const struct mt_modelled *change)
{
    return !change->why_not && change->saves > least_saved(changes, recording);
}

int mt_modelled_try(struct mt_modelled_changes *changes, const struct mt_recording *recording,
                    const char *name)
{
    int rc = mt_modelled_add(changes, recording, name);
    if (!rc && !is_worth(changes, recording, &changes->change[changes->n - 1]))
        changes->n--;
    return rc == -EINVAL ? 0 : rc;
}

void mt_modelled_keep_worthy(struct mt_modelled_changes *changes,
                             const struct mt_recording *recording)
{
    size_t n = 0;
    for (size_t i = 0; i < changes->n; i++)
        if (is_worth(changes, recording, &changes->change[i]))
            changes->change[n++] = changes->change[i];
    changes->n = n;
}

int mt_modelled_add_usual(struct mt_modelled_changes *changes, const struct mt_recording *recording)
{
    int rc = 0;
    changes->is_usual = true;
    for (const struct mt_change_kind *kind = mt_change_kinds; !rc && kind->name; kind++) {
        if (!kind->argument)
            rc = mt_modelled_try(changes, recording, kind->name);
        for (const char *usual = kind->usual; !rc && usual && *usual;) {
            char name[MT_CHANGE_NAME];
            size_t size = strcspn(usual, " ");
            snprintf(name, sizeof name, "%s:%.*s", kind->name, (int)size, usual);
            rc = mt_modelled_try(changes, recording, name);
            usual += size + (usual[size] == ' ');
        }
    }
    struct mt_module_patterns patterns;
    if (!rc)
        rc = mt_module_patterns_find(&patterns, recording);
    for (size_t i = 0; !rc && i < patterns.n; i++) {
        char name[MT_CHANGE_NAME];
        snprintf(name, sizeof name, "checkpoint:%s", patterns.pattern[i]);
        rc = mt_modelled_try(changes, recording, name);
    }
    return rc;
}

const struct mt_modelled *mt_modelled_find(const struct mt_modelled_changes *changes,
                                           const char *name)
{
    size_t i = 0;
    while (i < changes->n && strcmp(changes->change[i].name, name))
        i++;
    return i < changes->n ? &changes->change[i] : NULL;
}

MT_ORDER(by_savings, struct mt_modelled,
         !a->why_not != !b->why_not ? (a->why_not ? 1 : -1)
                                    : MT_FALLING(saves)
                                      ?: MT_RISING(operators) ?: MT_BY_TEXT(name))

void mt_modelled_sort(struct mt_modelled_changes *changes)
{
    if (changes->n)
        qsort(changes->change, changes->n, sizeof *changes->change, by_savings);
}

void mt_modelled_clear(struct mt_modelled_changes *changes)
{
    free(changes->change);
    *changes = (struct mt_modelled_changes){0};
}
