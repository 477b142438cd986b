/* SPDX-License-Identifier: Apache-2.0 */
#include "regions.h"
#include "chunks.h"
#include "preload/host/memory.h"
#include "preload/host/own-thread.h"
#include "preload/host/read-file.h"
#include "trace-format/tail.h"

#include <dirent.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>

/* What glibc has in a thread's struct pthread. */
enum { PTHREAD_SELF = 16, PTHREAD_BYTES = 0x900, PTHREAD_STEP = 64 };
#define STACKS_END (UINT64_C(1) << 16) /* where in a large region it may be */
#define SMALL (UINT64_C(1) << 20)

struct reading {
    struct mt_regions *regions;
    const struct mt_scan_thread *thread;
    const struct mt_memory_range *left_out;
    uint32_t n_left_out;
    uint64_t id_at;              /* of a thread's id in its struct pthread; 0: not known */
    struct mt_image_file *image; /* the last one so far; NULL: none yet */
    uint64_t image_end;          /* of its last mapping */
};

static bool begins(const char *text, const char *with)
{
    return !strncmp(text, with, strlen(with));
}

/* Return whether a library's own data may have addresses of device memory that the program no
 * longer has. */
static bool is_cuda(const char *file)
{
    return begins(file, "libcuda") || begins(file, "libnvidia-") || begins(file, "libnvcuvid") ||
           begins(file, "libnvrtc") || begins(file, "libcupti") || begins(file, "libmemtap");
}

static uint64_t own_image(void)
{
    extern const char ehdr __asm__("__ehdr_start") __attribute__((visibility("hidden")));
    return (uint64_t)(uintptr_t)&ehdr;
}

static struct mt_region *add(struct reading *r, uint64_t begin, uint64_t end,
                             enum mt_region_sort sort)
{
    struct mt_regions *regions = r->regions;
    struct mt_region *region = &regions->region[regions->n];
    begin = (begin + 7) & ~UINT64_C(7);
    if (begin < end && regions->n == MT_MOST_REGIONS)
        regions->is_full = true;
    else
        regions->n += begin < end;
    *region = (struct mt_region){.begin = begin, .end = end, .sort = sort};
    return region;
}

/* Return the end of the variables of an image whose header is mapped here; 0: it is none. */
static uint64_t end_of_image(uint64_t begin)
{
    Elf64_Ehdr head;
    uint64_t end = 0;
    memcpy(&head, (const void *)(uintptr_t)begin, sizeof head);
    if (memcmp(head.e_ident, ELFMAG, SELFMAG) || head.e_phentsize != sizeof(Elf64_Phdr))
        return 0;
    for (unsigned i = 0; i < head.e_phnum && head.e_phoff + (i + 1) * sizeof(Elf64_Phdr) < 4096;
         i++) {
        Elf64_Phdr part;
        memcpy(&part, (const void *)(uintptr_t)(begin + head.e_phoff + i * sizeof part),
               sizeof part);
        uint64_t at = part.p_vaddr + part.p_memsz + (head.e_type == ET_DYN ? begin : 0);
        end = part.p_type == PT_LOAD && at > end ? at : end;
    }
    return end;
}

static void note_image(struct reading *r, const char *path, uint64_t begin, bool is_readable)
{
    struct mt_regions *regions = r->regions;
    if (regions->n_images == MT_MOST_IMAGE_FILES) {
        regions->is_full = true;
        return;
    }
    r->image = &regions->image[regions->n_images++];
    r->image->begin = begin;
    r->image->end = is_readable ? end_of_image(begin) : 0;
    snprintf(r->image->path, sizeof r->image->path, "%s", path);
    r->image->is_cudas = begin == own_image() || is_cuda(mt_file_name(r->image->path));
}

static void add_variables(struct reading *r, uint64_t begin, uint64_t end)
{
    if (r->image)
        add(r, begin, end, r->image->is_cudas ? MT_REGION_CUDA : MT_REGION_VARIABLES)->image =
            r->image;
}

/* A thread that has ended has no id, or one that was not there at the moment. */
static bool is_alive(const struct reading *r, int id)
{
    for (uint32_t i = 0; i < r->regions->n_threads; i++)
        if (r->regions->thread[i] == id)
            return true;
    return false;
}

static int id_in(const struct reading *r, uint64_t pthread)
{
    int id;
    memcpy(&id, (const void *)(uintptr_t)(pthread + r->id_at), sizeof id);
    return id;
}

/* Find where the thread of the moment has its id. */
static void find_id(struct reading *r)
{
    uint64_t self;
    __asm__("movq %%fs:0, %0" : "=r"(self));
    for (unsigned at = PTHREAD_SELF + 8; at < PTHREAD_BYTES / 2 && !r->id_at; at += 4) {
        int id;
        memcpy(&id, (const void *)(uintptr_t)(self + at), sizeof id);
        r->id_at = id == r->thread->id ? at : 0;
    }
}

/* Return a struct pthread in a region, from which the region's end is looked at; 0: none. */
static uint64_t find_pthread(const struct reading *r, uint64_t begin, uint64_t end)
{
    uint64_t lowest = end - begin > SMALL ? end - STACKS_END : begin;
    if (end - begin < PTHREAD_BYTES / 2 || !r->id_at)
        return 0;
    for (uint64_t at = (end - PTHREAD_BYTES / 2) & ~(uint64_t)(PTHREAD_STEP - 1); at >= lowest;
         at -= PTHREAD_STEP)
        if (mt_scan_word(at) == at && mt_scan_word(at + PTHREAD_SELF) == at)
            return at;
    return 0;
}

/* Add a region that has a thread's variables, behind its stack or alone. */
static void add_thread(struct reading *r, uint64_t begin, uint64_t end, uint64_t pthread)
{
    int id = id_in(r, pthread);
    bool is_own = id == r->thread->id, is_in = r->thread->sp >= begin && r->thread->sp < end;
    if (!is_alive(r, id))
        return; /* its stack is kept for another one */
    uint64_t variables = end - begin > STACKS_END ? pthread & ~UINT64_C(4095) : begin;
    struct mt_region *stack = add(r, is_own && is_in ? r->thread->sp : begin, variables,
                                  id == r->thread->process ? MT_REGION_OTHER : MT_REGION_STACK);
    stack->thread = id;
    stack->is_whole = !is_own;
    struct mt_region *region = add(r, variables, end, MT_REGION_THREAD);
    region->thread = id;
    region->pthread = pthread;
    r->regions->has_stack |= is_own && is_in;
    r->regions->has_variables |= is_own;
}

/* Add memory without a name. */
static void add_anonymous(struct reading *r, uint64_t begin, uint64_t end)
{
    uint64_t pthread = find_pthread(r, begin, end), first = mt_chunks_of_arena(begin, end);
    if (pthread) {
        add_thread(r, begin, end, pthread);
        return;
    }
    if (first) {
        add(r, first, end, MT_REGION_CHUNKS);
        return;
    }
    uint64_t at = begin, bytes;
    while ((bytes = mt_chunk_mapped(at, end)))
        at += bytes;
    add(r, begin, at, MT_REGION_CHUNKS);
    add(r, at, end, MT_REGION_OTHER);
}

static void add_stack(struct reading *r, uint64_t begin, uint64_t end)
{
    bool is_own = r->thread->sp >= begin && r->thread->sp < end;
    struct mt_region *stack = add(r, is_own ? r->thread->sp : begin, end, MT_REGION_STACK);
    stack->thread = is_own ? r->thread->id : r->thread->process;
    stack->is_whole = !is_own;
    r->regions->has_stack |= is_own;
}

/* Add the part of a mapping that is behind an image's last one: its zeroed variables first. */
static void add_behind_image(struct reading *r, uint64_t begin, uint64_t end)
{
    uint64_t page_end = (r->image->end + 4095) & ~UINT64_C(4095);
    uint64_t until = page_end < begin ? begin : page_end > end ? end : page_end;
    if (until > begin)
        add_variables(r, begin, until);
    r->image_end = until;
    if (until < end)
        add_anonymous(r, until, end);
}

static bool is_anonymous(const char *path)
{
    return !*path || begins(path, "[anon");
}

static void add_part(struct reading *r, uint64_t begin, uint64_t end, const char *path)
{
    if (begins(path, "[heap]"))
        add(r, begin, end, MT_REGION_CHUNKS);
    else if (begins(path, "[stack]"))
        add_stack(r, begin, end);
    else if (*path == '/')
        add_variables(r, begin, end);
    else if (is_anonymous(path) && r->image && r->image_end == begin)
        add_behind_image(r, begin, end);
    else if (is_anonymous(path))
        add_anonymous(r, begin, end);
}

static void add_shared(struct reading *r, uint64_t begin, uint64_t end, const char *path)
{
    bool is_device =
        begins(path, "/dev/") && !begins(path, "/dev/shm") && !begins(path, "/dev/zero");
    bool is_ours = strstr(path, MT_TAIL_SUFFIX) || strstr(path, "cudasim");
    if (*path && !is_device && !is_ours)
        snprintf(add(r, begin, end, MT_REGION_SHARED)->file, MT_FILE_NAME, "%s",
                 begins(path, "/dev/zero") ? "" : mt_file_name(path));
}

/* Add a mapping without what is left out. */
static void add_parts(struct reading *r, uint64_t begin, uint64_t end, const char *path,
                      bool is_shared)
{
    void (*add_to)(struct reading *, uint64_t, uint64_t, const char *) =
        is_shared ? add_shared : add_part;
    for (uint32_t i = 0; i < r->n_left_out && begin < end; i++) {
        const struct mt_memory_range *range = &r->left_out[i];
        if (range->end <= begin || range->begin >= end)
            continue;
        if (range->begin > begin)
            add_to(r, begin, range->begin, path);
        begin = range->end;
    }
    if (begin < end)
        add_to(r, begin, end, path);
}

/* Take a line of /proc/self/maps: "begin-end rw-p offset device inode   path". */
static void take(struct reading *r, const char *line)
{
    char *at, *path;
    uint64_t begin = strtoull(line, &at, 16), end = strtoull(at + (*at == '-'), &at, 16);
    if (*at != ' ' || strlen(at) < 6)
        return;
    const char *access = at + 1;
    uint64_t offset = strtoull(access + 5, &path, 16);
    path = strchr(path + (*path == ' '), ' '); /* behind the device */
    path = path ? strchr(path + 1, ' ') : NULL;
    path = path ? path + strspn(path, " ") : at + strlen(at);
    bool is_shared = access[3] == 's';
    if (*path == '/' && !is_shared) {
        if (!offset && (!r->image || strcmp(r->image->path, path) || r->image_end != begin))
            note_image(r, path, begin, access[0] == 'r');
        r->image_end = end;
    }
    if (access[0] == 'r' && access[1] == 'w')
        add_parts(r, begin, end, path, is_shared);
}

/* Return whether CUDA's driver has a thread, which has no pointers of the program's. */
static bool is_drivers(const char *name)
{
    return begins(name, "cuda-EvtHandlr") || begins(name, "cuda0000");
}

static void note_thread(struct mt_regions *regions, const struct mt_scan_thread *thread, int id)
{
    char path[64], name[32] = "";
    if (mt_own_threads_have(id))
        return;
    snprintf(path, sizeof path, "/proc/%d/task/%d/comm", thread->process, id);
    mt_read_file(path, name, sizeof name);
    regions->other_threads += id != thread->id && !is_drivers(name);
    if (regions->n_threads == MT_MOST_THREADS)
        regions->is_full = true;
    else
        regions->thread[regions->n_threads++] = id;
}

struct mt_regions *mt_regions_create(const struct mt_scan_thread *thread)
{
    struct mt_regions *regions = mt_map(sizeof *regions);
    for (uint32_t at = 0; regions && at < thread->n_entries;) {
        const struct dirent64 *entry = (const struct dirent64 *)(thread->entries + at);
        int id = atoi(entry->d_name);
        if (id > 0)
            note_thread(regions, thread, id);
        at += entry->d_reclen;
    }
    return regions;
}

bool mt_regions_read(struct mt_regions *regions, const struct mt_scan_thread *thread,
                     const struct mt_memory_range *ranges, uint32_t n)
{
    struct reading reading = {
        .regions = regions, .thread = thread, .left_out = ranges, .n_left_out = n};
    char line[1024];
    struct mt_lines maps;
    mt_lines_open(&maps, "/proc/self/maps");
    if (maps.fd < 0)
        return false;
    find_id(&reading);
    while (mt_lines_next(&maps, line, sizeof line))
        take(&reading, line);
    mt_lines_close(&maps);
    return true;
}
