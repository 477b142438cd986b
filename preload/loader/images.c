/* SPDX-License-Identifier: Apache-2.0 */
#include "images.h"
#include "find-real.h"
#include "loaded.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The struct of <dlfcn.h> from glibc 2.35 on, for older headers. */
struct found {
    unsigned long long flags;
    void *start, *end; /* of the mapping */
    struct link_map *map;
    void *frames; /* .eh_frame_hdr */
    unsigned long long reserved[7];
};

typedef int find_function(void *address, struct found *out);
static find_function *_Atomic find_object; /* _dl_find_object */

void mt_images_prepare(void)
{
    atomic_store(&find_object, (find_function *)mt_real_dlsym(RTLD_DEFAULT, "_dl_find_object"));
}

struct search {
    uintptr_t address;
    struct mt_image *out;
};

static int holds(struct dl_phdr_info *info, size_t size, void *data)
{
    struct search *search = data;
    struct mt_image image = {
        .start = UINTPTR_MAX, .bias = info->dlpi_addr, .name = info->dlpi_name};
    bool is_inside = false;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + part->p_vaddr, end = start + part->p_memsz;
        if (part->p_type == PT_GNU_EH_FRAME)
            image.frames = (const uint8_t *)start;
        if (part->p_type != PT_LOAD)
            continue;
        is_inside = is_inside || (search->address >= start && search->address < end);
        if (start < image.start)
            image.start = start & ~(uintptr_t)4095;
        if (end > image.end)
            image.end = end;
    }
    if (is_inside)
        *search->out = image;
    return is_inside;
}

int mt_image_find_in_list(uintptr_t address, struct mt_image *out)
{
    struct search search = {address, out};
    return mt_loaded_each(holds, &search) ? 0 : -ENOENT;
}

int mt_image_find(uintptr_t address, struct mt_image *out)
{
    struct found found;
    find_function *find = atomic_load_explicit(&find_object, memory_order_relaxed);
    if (!find)
        return mt_image_find_in_list(address, out);
    if (find((void *)address, &found))
        return -ENOENT;
    *out = (struct mt_image){.start = (uintptr_t)found.start,
                             .end = (uintptr_t)found.end,
                             .bias = found.map->l_addr,
                             .frames = found.frames,
                             .name = found.map->l_name};
    return 0;
}

bool mt_image_is_loaded(const struct mt_image *image)
{
    struct mt_image now;
    return !mt_image_find(image->start, &now) && now.start == image->start &&
           now.end == image->end && now.frames == image->frames && now.name == image->name;
}

/* Return the entry's place: in the kernel's own image (vDSO) it is a file offset instead of the
 * table's address. */
static int needs(struct dl_phdr_info *info, size_t size, void *beginning)
{
    const ElfW(Dyn) *dynamic = NULL;
    const char *names = NULL;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
            dynamic = (const ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    for (const ElfW(Dyn) *at = dynamic; at && at->d_tag != DT_NULL; at++)
        if (at->d_tag == DT_STRTAB && at->d_un.d_ptr > info->dlpi_addr)
            names = (const char *)at->d_un.d_ptr;
    for (const ElfW(Dyn) *at = dynamic; names && at->d_tag != DT_NULL; at++)
        if (at->d_tag == DT_NEEDED &&
            !strncmp(names + at->d_un.d_val, beginning, strlen(beginning)))
            return 1;
    return 0;
}

int mt_images_need(const char *beginning)
{
    return mt_loaded_each(needs, (void *)(uintptr_t)beginning);
}

/* Search a segment's notes for the GNU build id. */
static void read_notes(const uint8_t *at, const uint8_t *end, char out[MT_BUILD_ID_TEXT])
{
    ElfW(Nhdr) note;
    while ((size_t)(end - at) >= sizeof note) {
        memcpy(&note, at, sizeof note);
        const uint8_t *name = at + sizeof note;
        uint64_t before = ((uint64_t)note.n_namesz + 3) & ~3ull;
        uint64_t size = sizeof note + before + (((uint64_t)note.n_descsz + 3) & ~3ull);
        if (size > (size_t)(end - at))
            return;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && !memcmp(name, "GNU", 4) &&
            2 * note.n_descsz < MT_BUILD_ID_TEXT) {
            for (uint32_t i = 0; i < note.n_descsz; i++)
                snprintf(out + 2 * i, 3, "%02x", name[before + i]);
            return;
        }
        at += size;
    }
}

void mt_image_build_id(const struct mt_image *image, char out[MT_BUILD_ID_TEXT])
{
    const ElfW(Ehdr) *header = (const ElfW(Ehdr) *)image->start;
    out[0] = '\0';
    if (memcmp(header->e_ident, ELFMAG, SELFMAG) || header->e_phentsize != sizeof(ElfW(Phdr)) ||
        header->e_phoff + header->e_phnum * sizeof(ElfW(Phdr)) > 4096)
        return; /* its first page is not the file's: no linker makes this */
    const ElfW(Phdr) *part = (const ElfW(Phdr) *)(image->start + header->e_phoff);
    for (int i = 0; i < header->e_phnum && !out[0]; i++) {
        const uint8_t *notes = (const uint8_t *)(image->bias + part[i].p_vaddr);
        if (part[i].p_type == PT_NOTE)
            read_notes(notes, notes + part[i].p_memsz, out);
    }
}

void mt_image_path(const struct mt_image *image, char out[PATH_MAX])
{
    const char *name = image->name;
    bool is_relative = *name != '/' && strchr(name, '/');
    int saved = errno;
    if (!*name) {
        ssize_t n = readlink("/proc/self/exe", out, PATH_MAX - 1);
        out[n > 0 ? n : 0] = '\0';
    } else if (!is_relative || !realpath(name, out)) {
        snprintf(out, PATH_MAX, "%s", name);
    }
    errno = saved;
}
