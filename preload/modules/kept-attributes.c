/* SPDX-License-Identifier: Apache-2.0 */
#include "kept-attributes.h"
#include "preload/record/scan.h"

#include <string.h>

#define MOST_ATTRIBUTES 512u
#define MOST_ITEMS 4096u /* of a list */
#define MOST_DEPTH 3u    /* lists in lists */
#define PARTS 8u         /* of a tensor */
#define MOST_THINGS 256u /* scanned for one module*/
#define MOST_NESTING 1u  /* nested objects*/
#define KNOWN 256u       /* objects scanned in this pass*/
#define TYPES 64u        /* types whose objects have no attributes */

enum sort { GRADIENT, PARAMETER, ATTRIBUTE, CACHE };

/* vLLM's attention, gpt-fast's and torchtune's caches, Llama's. */
static const char *const of_caches[] = {"kv_cache",  "k_cache",     "v_cache", "cache_k",
                                        "key_cache", "value_cache", "cache_v"};

static const struct {
    const char *name;
    enum mt_keeper keeper;
    enum sort sort;
    const char *whole; /* attribute with the element count of all processes; NULL: none */
} names[] = {
    /* Megatron and others: a buffer for all parameters, each of which has a view of it */
    {"main_grad", MT_KEEPER_PARAMETER, GRADIENT, NULL},
    /* DeepSpeed: this rank's part of the parameter */
    {"ds_tensor", MT_KEEPER_PARAMETER, PARAMETER, "ds_numel"},
    /* FSDP1: the same for a flat one */
    {"_local_shard", MT_KEEPER_PARAMETER, PARAMETER, "_unpadded_unsharded_size"},
    /* and of all gradients, in ZeRO-3, and in ZeRO-1 and 2 */
    {"grad_partitions_flat_buffer", MT_KEEPER_OPTIMIZER, GRADIENT, NULL},
    {"averaged_gradients", MT_KEEPER_OPTIMIZER, GRADIENT, NULL},
};

/* One thread at a time scans modules. Types may be freed and their addresses reused; then a tensor
 * is missed. */
static struct {
    uint64_t object[KNOWN], type[TYPES];
} known;

#define N_NAMES (sizeof names / sizeof *names)

struct attribute_scan {
    struct mt_thread *self;
    const struct mt_python_layout *layout;
    enum sort sort;
    unsigned left, nesting;    /* objects left to scan; current depth */
    uint64_t parameter, whole; /* of the parts; whole 0: unknown */
    uint64_t name;             /* of the attribute, until a tensor is found there; else 0 */
};

bool mt_is_name_of_cache(const struct mt_python_layout *layout, uint64_t name)
{
    char text[16];
    if (mt_py_text(layout, name, text, sizeof text))
        return false;
    for (unsigned i = 0; i < sizeof of_caches / sizeof *of_caches; i++)
        if (!strcmp(text, of_caches[i]))
            return true;
    return false;
}

static unsigned record(struct attribute_scan *scan, uint64_t object)
{
    static const uint64_t kind[] = {[PARAMETER] = MT_MEMBER_PARAMETER,
                                    [ATTRIBUTE] = MT_MEMBER_ATTRIBUTE,
                                    [CACHE] = MT_MEMBER_OF_CACHE};
    struct mt_py_tensor part[PARTS];
    unsigned n = mt_py_tensor_parts(scan->layout, object, part, PARTS);
    if (n && scan->name && mt_is_name_of_cache(scan->layout, scan->name))
        scan->sort = CACHE;
    scan->name = n ? 0 : scan->name;
    for (unsigned i = 0; i < n; i++) {
        uint64_t address = part[i].place.address;
        if (scan->sort == GRADIENT)
            mt_record(scan->self, MT_GRADIENT, part[i].place.device, 0, MT_ARGS(address));
        else
            mt_record(scan->self, MT_MEMBER, part[i].place.device, 0,
                      MT_ARGS(address, kind[scan->sort]));
        if (scan->sort == PARAMETER && scan->whole)
            mt_record(scan->self, MT_PART, part[i].place.device, 0,
                      MT_ARGS(address, scan->parameter + i, i ? 0 : scan->whole,
                              mt_impl_dtype_carefully(part[i].impl)));
    }
    return n;
}

static void scan_value(struct attribute_scan *scan, uint64_t object, unsigned depth);

static void scan_values(struct attribute_scan *scan, struct mt_py_dict *dict, unsigned depth)
{
    struct mt_py_entry entry;
    for (unsigned i = 0; i < dict->n && scan->left && !mt_py_dict_at(dict, i, &entry); i++)
        if (entry.value)
            scan_value(scan, entry.value, depth + 1);
}

static void scan_dict(struct attribute_scan *scan, uint64_t object, unsigned depth)
{
    struct mt_py_dict dict;
    if (!mt_py_dict_open(scan->layout, object, &dict))
        scan_values(scan, &dict, depth);
}

/* Scan an object that is neither a tensor nor a container, once per pass: a configuration is shared
 * by all modules. */
static void scan_object(struct attribute_scan *scan, uint64_t object, uint64_t *type,
                        unsigned depth)
{
    struct mt_py_dict attributes;
    struct mt_py_proof unused;
    uint64_t found, *seen = &known.object[(object >> 4 ^ object >> 12) % KNOWN];
    if (mt_py_tensor(object).impl || *seen == object)
        return;
    *seen = object;
    if (mt_py_attributes(scan->layout, object, &attributes, &unused)) {
        if (!mt_py_read(object + MT_OBJECT_TYPE, &found))
            *type = found;
        return;
    }
    scan->nesting++;
    scan_values(scan, &attributes, depth);
    scan->nesting--;
}

static void scan_value(struct attribute_scan *scan, uint64_t object, unsigned depth)
{
    uint64_t item, n, type, *has_none = NULL;
    if (depth > MOST_DEPTH || !scan->left)
        return;
    scan->left--;
    if (scan->sort == ATTRIBUTE) {
        if (mt_py_read(object + MT_OBJECT_TYPE, &type))
            return;
        has_none = &known.type[(type >> 4 ^ type >> 10) % TYPES];
        if (*has_none == type)
            return;
    }
    enum mt_py_sort sort = mt_py_sort(object);
    if (sort == MT_PY_DICT) {
        scan_dict(scan, object, depth);
    } else if (sort == MT_PY_LIST || sort == MT_PY_TUPLE) {
        uint64_t items = mt_py_items(object, &n);
        for (uint64_t i = 0; i < n && scan->left; i++)
            if (!mt_py_read(items + i * sizeof item, &item))
                scan_value(scan, item, depth + 1);
    } else if (!record(scan, object) && has_none && scan->nesting <= MOST_NESTING) {
        scan_object(scan, object, has_none, depth);
    }
}

static uint64_t whole_of(const struct mt_python_layout *layout, uint64_t object, const char *name)
{
    struct mt_py_dict attributes;
    struct mt_py_entry entry;
    struct mt_py_proof unused;
    uint64_t whole;
    if (!name || mt_py_attributes(layout, object, &attributes, &unused) ||
        mt_py_dict_find(layout, &attributes, name, &entry) ||
        mt_py_product(layout, entry.value, &whole))
        return 0;
    return whole;
}

void mt_kept_attributes_scan(struct mt_thread *self, const struct mt_python_layout *layout,
                             uint64_t object, enum mt_keeper keeper)
{
    struct mt_py_dict attributes;
    struct mt_py_entry entry;
    struct mt_py_proof unused;
    char text[64];
    if (!object || mt_py_attributes(layout, object, &attributes, &unused))
        return;
    for (unsigned i = 0; i < attributes.n && i < MOST_ATTRIBUTES; i++) {
        if (mt_py_dict_at(&attributes, i, &entry))
            return;
        if (!entry.value || mt_py_text(layout, entry.key, text, sizeof text))
            continue;
        struct attribute_scan scan = {.self = self, .layout = layout, .parameter = object};
        size_t j = 0;
        while (j < N_NAMES && (names[j].keeper != keeper || strcmp(names[j].name, text)))
            j++;
        if (j == N_NAMES && keeper != MT_KEEPER_PARAMETER)
            continue;
        scan.sort = j < N_NAMES ? names[j].sort : ATTRIBUTE;
        scan.left = j < N_NAMES ? MOST_ITEMS : MOST_THINGS;
        scan.whole = j < N_NAMES ? whole_of(layout, object, names[j].whole) : 0;
        scan_value(&scan, entry.value, 0);
    }
}

/* Return the first other attribute: torch.nn.Module's own come first. */
static unsigned first_other(struct mt_py_dict *attributes, uint64_t last_own)
{
    struct mt_py_entry entry;
    unsigned i = attributes->n;
    while (i && !mt_py_dict_at(attributes, i - 1, &entry) && entry.key != last_own)
        i--;
    return i;
}

void mt_module_attributes_scan(struct mt_thread *self, const struct mt_python_layout *layout,
                               struct mt_py_dict *attributes, uint64_t last_own)
{
    struct attribute_scan scan = {
        .self = self, .layout = layout, .sort = ATTRIBUTE, .left = MOST_THINGS};
    struct mt_py_entry entry;
    uint64_t value[MT_SCAN_AHEAD], name[MT_SCAN_AHEAD];
    unsigned i = first_other(attributes, last_own), n = 1;
    while (n && scan.left) {
        for (n = 0; n < MT_SCAN_AHEAD && i < attributes->n && !mt_py_dict_at(attributes, i, &entry);
             i++)
            if (entry.value) {
                name[n] = entry.key;
                value[n++] = entry.value;
            }
        mt_scan_prefetch(value, n);
        for (unsigned j = 0; j < n; j++) {
            scan.sort = ATTRIBUTE;
            scan.name = name[j];
            scan_value(&scan, value[j], 0);
        }
    }
}

void mt_module_attributes_begin(void)
{
    memset(known.object, 0, sizeof known.object);
}
