/* SPDX-License-Identifier: Apache-2.0 */
#include "loaded.h"
#include "preload/host/safe-read.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>

#define MOST_OBJECTS 256u /* linked to one object, at most */

static bool is_forked, is_broken;

static void in_forked_child(void)
{
    is_forked = true;
    is_broken = _r_debug.r_state != RT_CONSISTENT;
}

__attribute__((constructor)) static void expect_fork(void)
{
    pthread_atfork(NULL, NULL, in_forked_child);
}

bool mt_loader_is_broken(void)
{
    return is_broken;
}

void *mt_loaded_open(const char *name, int flags)
{
    return is_broken ? NULL : dlopen(name, flags);
}

/* Find an object's program headers: the kernel names the program's, a library's header names its
 * own. */
static int describe(const struct link_map *object, struct dl_phdr_info *out)
{
    const ElfW(Ehdr) *header = (const ElfW(Ehdr) *)object->l_addr;
    ElfW(Ehdr) copy;
    *out = (struct dl_phdr_info){.dlpi_addr = object->l_addr, .dlpi_name = object->l_name};
    if (object == _r_debug.r_map) {
        out->dlpi_phdr = (const ElfW(Phdr) *)getauxval(AT_PHDR);
        out->dlpi_phnum = (ElfW(Half))getauxval(AT_PHNUM);
        return 0;
    }
    if (mt_safe_read(header, &copy, sizeof copy) || memcmp(copy.e_ident, ELFMAG, SELFMAG))
        return -EINVAL;
    out->dlpi_phdr = (const ElfW(Phdr) *)(object->l_addr + copy.e_phoff);
    out->dlpi_phnum = copy.e_phnum;
    return 0;
}

int mt_loaded_each(int (*look)(struct dl_phdr_info *info, size_t size, void *data), void *data)
{
    struct dl_phdr_info info;
    int rc = 0;
    if (!is_forked)
        return dl_iterate_phdr(look, data);
    for (const struct link_map *object = _r_debug.r_map; object && !rc; object = object->l_next)
        if (!describe(object, &info))
            rc = look(&info, sizeof info, data);
    return rc;
}

/* An object's tables for a look-up. */
struct tables {
    const char *names;
    const ElfW(Sym) * symbols;
    const ElfW(Versym) * versions;
    const uint32_t *hash; /* DT_GNU_HASH; only old linkers write DT_HASH */
    const ElfW(Dyn) * dynamic;
};

/* Return the address in an object. The loader has already added the object's address, except in
 * objects that it may not write to. */
static const void *in_object(const struct link_map *object, const ElfW(Dyn) * entry)
{
    uintptr_t address = entry->d_un.d_ptr;
    return (const void *)(address < object->l_addr ? object->l_addr + address : address);
}

static struct tables tables_of(const struct link_map *object)
{
    struct tables tables = {.dynamic = object->l_ld};
    for (const ElfW(Dyn) *entry = object->l_ld; entry && entry->d_tag != DT_NULL; entry++)
        switch (entry->d_tag) {
        case DT_STRTAB:
            tables.names = in_object(object, entry);
            break;
        case DT_SYMTAB:
            tables.symbols = in_object(object, entry);
            break;
        case DT_VERSYM:
            tables.versions = in_object(object, entry);
            break;
        case DT_GNU_HASH:
            tables.hash = in_object(object, entry);
            break;
        }
    return tables;
}

#define HIDDEN_VERSION 0x8000u /* not the default one */

static bool defines(const struct tables *tables, uint32_t i, const char *symbol)
{
    const ElfW(Sym) *entry = &tables->symbols[i];
    unsigned type = ELF64_ST_TYPE(entry->st_info);
    return entry->st_shndx != SHN_UNDEF && (type == STT_FUNC || type == STT_OBJECT) &&
           !(tables->versions && tables->versions[i] & HIDDEN_VERSION) &&
           !strcmp(tables->names + entry->st_name, symbol);
}

/* Return the symbol's index; 0: none. A chain ends with an odd hash. */
static uint32_t find(const struct tables *tables, const char *symbol)
{
    const uint32_t n_buckets = tables->hash[0], first = tables->hash[1];
    const uint32_t *buckets = tables->hash + 4 + tables->hash[2] * sizeof(ElfW(Addr)) / 4;
    const uint32_t *chains = buckets + n_buckets;
    uint32_t hash = 5381;
    for (const char *at = symbol; *at; at++)
        hash = hash * 33 + (unsigned char)*at;
    uint32_t i = n_buckets ? buckets[hash % n_buckets] : 0;
    for (bool is_last = i < first; !is_last; i++) {
        uint32_t other = chains[i - first];
        is_last = other & 1;
        if ((other | 1) == (hash | 1) && defines(tables, i, symbol))
            return i;
    }
    return 0;
}

static void *find_in(const struct link_map *object, const struct tables *tables, const char *symbol)
{
    uint32_t i = tables->names && tables->symbols && tables->hash ? find(tables, symbol) : 0;
    return i ? (void *)(object->l_addr + tables->symbols[i].st_value) : NULL;
}

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

const struct link_map *mt_loaded_find(const char *name)
{
    bool is_path = strchr(name, '/') != NULL;
    for (const struct link_map *object = _r_debug.r_map; object; object = object->l_next)
        if (!strcmp(is_path ? object->l_name : file_name(object->l_name), name))
            return object;
    return NULL;
}

struct queue {
    unsigned n;
    const struct link_map *object[MOST_OBJECTS];
};

static void add(struct queue *queue, const struct link_map *object)
{
    for (unsigned i = 0; i < queue->n; i++)
        if (queue->object[i] == object)
            return;
    if (object && queue->n < MOST_OBJECTS)
        queue->object[queue->n++] = object;
}

void *mt_loaded_symbol(const struct link_map *object, const char *symbol)
{
    struct queue queue = {.n = 0};
    void *found = NULL;
    add(&queue, object);
    for (unsigned i = 0; i < queue.n && !found; i++) {
        struct tables tables = tables_of(queue.object[i]);
        found = find_in(queue.object[i], &tables, symbol);
        for (const ElfW(Dyn) *entry = tables.dynamic; entry && entry->d_tag != DT_NULL; entry++)
            if (entry->d_tag == DT_NEEDED && tables.names)
                add(&queue, mt_loaded_find(tables.names + entry->d_un.d_val));
    }
    return found;
}
