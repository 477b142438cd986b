/* SPDX-License-Identifier: Apache-2.0 */
#include "images.h"

#include <errno.h>
#include <link.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

static struct mt_attach_images *found;

static uintptr_t page_of(uintptr_t address)
{
    return address & ~((uintptr_t)sysconf(_SC_PAGESIZE) - 1);
}

static void read_dynamic(struct mt_attach_image *image, const ElfW(Dyn) * at)
{
    size_t bytes[2] = {0, 0};
    for (; at && at->d_tag != DT_NULL; at++) {
        uintptr_t value = at->d_un.d_ptr;
        /* The loader has added the address, except where it may not write. */
        uintptr_t address = value < image->base ? image->base + value : value;
        switch (at->d_tag) {
        case DT_SYMTAB:
            image->symbols = (const ElfW(Sym) *)address;
            break;
        case DT_STRTAB:
            image->strings = (const char *)address;
            break;
        case DT_RELA:
            image->table[0] = (const ElfW(Rela) *)address;
            break;
        case DT_RELASZ:
            bytes[0] = value;
            break;
        case DT_JMPREL:
            image->table[1] = (const ElfW(Rela) *)address;
            break;
        case DT_PLTRELSZ:
            bytes[1] = value;
            break;
        }
    }
    for (int i = 0; i < 2; i++)
        image->n[i] = image->table[i] ? bytes[i] / sizeof *image->table[i] : 0;
}

static int collect(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)size;
    (void)unused;
    found->generation = info->dlpi_adds;
    if (found->n == MT_MOST_IMAGES || info->dlpi_addr == getauxval(AT_SYSINFO_EHDR))
        return 0;
    struct mt_attach_image *image = &found->of[found->n++];
    const ElfW(Dyn) *dynamic = NULL;
    *image = (struct mt_attach_image){.base = info->dlpi_addr,
                                      .start = UINTPTR_MAX,
                                      .name = info->dlpi_name,
                                      .parts = info->dlpi_phdr,
                                      .n_parts = info->dlpi_phnum};
    for (unsigned i = 0; i < image->n_parts; i++) {
        const ElfW(Phdr) *part = &image->parts[i];
        uintptr_t start = image->base + part->p_vaddr, end = start + part->p_memsz;
        if (part->p_type == PT_DYNAMIC)
            dynamic = (const ElfW(Dyn) *)start;
        if (part->p_type == PT_GNU_RELRO) {
            image->relro = page_of(start);
            image->relro_end = page_of(end);
        }
        if (part->p_type != PT_LOAD)
            continue;
        image->start = start < image->start ? start : image->start;
        image->end = end > image->end ? end : image->end;
    }
    read_dynamic(image, dynamic);
    if (!image->symbols || !image->strings)
        found->n--;
    return 0;
}

int mt_attach_find_images(struct mt_attach_images *out)
{
    *out = (struct mt_attach_images){.of = malloc(MT_MOST_IMAGES * sizeof *out->of)};
    found = out;
    if (!out->of)
        return -ENOMEM;
    dl_iterate_phdr(collect, NULL);
    return 0;
}

/* Return whether memory is known to be writable, by writing what is there. */
static bool can_write(uintptr_t address)
{
    char byte = *(const volatile char *)address;
    struct iovec here = {&byte, 1}, there = {(void *)address, 1};
    return process_vm_writev(getpid(), &here, 1, &there, 1, 0) == 1;
}

bool mt_attach_is_writable(struct mt_attach_image *image, void **slot)
{
    uintptr_t at = (uintptr_t)slot;
    if (at % sizeof *slot)
        return false;
    if (at >= image->relro && at < image->relro_end) {
        if (!image->is_open && can_write(image->relro))
            return true; /* the program has made it writable: it stays so */
        if (!image->is_open)
            image->is_open = !mprotect((void *)image->relro, image->relro_end - image->relro,
                                       PROT_READ | PROT_WRITE);
        return image->is_open;
    }
    for (unsigned i = 0; i < image->n_parts; i++) {
        const ElfW(Phdr) *part = &image->parts[i];
        if (part->p_type == PT_LOAD && at >= image->base + part->p_vaddr &&
            at < image->base + part->p_vaddr + part->p_memsz)
            return part->p_flags & PF_W;
    }
    return false;
}

void mt_attach_close_image(const struct mt_attach_image *image)
{
    if (image->is_open)
        mprotect((void *)image->relro, image->relro_end - image->relro, PROT_READ);
}
