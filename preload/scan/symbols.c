/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* The file that was used last: only the child has this memory. */
static struct {
    const struct mt_image_file *image;
    const char *data; /* NULL: it cannot be read */
    uint64_t size;
} file;

static bool open_file(const struct mt_image_file *image)
{
    struct stat status;
    if (file.image == image)
        return file.data != NULL;
    if (file.data)
        munmap((void *)(uintptr_t)file.data, file.size);
    file.image = image;
    file.data = NULL;
    int fd = open(image->path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    if (!fstat(fd, &status) && S_ISREG(status.st_mode) &&
        status.st_size > (off_t)sizeof(Elf64_Ehdr)) {
        void *data = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        file.size = (uint64_t)status.st_size;
        file.data = data == MAP_FAILED ? NULL : data;
    }
    close(fd);
    if (file.data && memcmp(file.data, (const void *)(uintptr_t)image->begin, EI_NIDENT)) {
        munmap((void *)(uintptr_t)file.data, file.size);
        file.data = NULL; /* another file than the one that was loaded */
    }
    return file.data != NULL;
}

static bool is_in_file(uint64_t at, uint64_t size)
{
    return at <= file.size && size <= file.size - at;
}

static Elf64_Ehdr head(void)
{
    Elf64_Ehdr head;
    memcpy(&head, file.data, sizeof head);
    return head;
}

/* Get a section's header. */
static bool section(unsigned i, Elf64_Shdr *out)
{
    Elf64_Ehdr elf = head();
    uint64_t at = elf.e_shoff + (uint64_t)i * sizeof *out;
    if (i >= elf.e_shnum || !elf.e_shoff || !is_in_file(at, sizeof *out))
        return false;
    memcpy(out, file.data + at, sizeof *out);
    return true;
}

/* Return the table of symbols: all of them, else those for the loader. */
static bool find_table(Elf64_Shdr *table)
{
    const unsigned types[] = {SHT_SYMTAB, SHT_DYNSYM};
    for (unsigned k = 0; k < 2; k++)
        for (unsigned i = 0; section(i, table); i++)
            if (table->sh_type == types[k])
                return is_in_file(table->sh_offset, table->sh_size);
    return false;
}

/* Find the symbol of a type with an address of the file's. */
static bool find(uint64_t address, unsigned type, struct mt_image_symbol *out)
{
    Elf64_Shdr table, names;
    if (!find_table(&table) || !section(table.sh_link, &names) ||
        !is_in_file(names.sh_offset, names.sh_size))
        return false;
    for (uint64_t i = 0; i < table.sh_size / sizeof(Elf64_Sym); i++) {
        Elf64_Sym symbol;
        memcpy(&symbol, file.data + table.sh_offset + i * sizeof symbol, sizeof symbol);
        if (ELF64_ST_TYPE(symbol.st_info) != type || address - symbol.st_value >= symbol.st_size ||
            symbol.st_shndx == SHN_UNDEF || symbol.st_name >= names.sh_size)
            continue;
        snprintf(out->name, sizeof out->name, "%.*s", (int)(names.sh_size - symbol.st_name),
                 file.data + names.sh_offset + symbol.st_name);
        out->offset = address - symbol.st_value;
        out->size = symbol.st_size;
        return *out->name != '\0';
    }
    return false;
}

static bool find_loaded(const struct mt_image_file *image, uint64_t address, unsigned type,
                        struct mt_image_symbol *symbol)
{
    if (!open_file(image))
        return false;
    return find(head().e_type == ET_DYN ? address - image->begin : address, type, symbol);
}

bool mt_symbol_of_variable(const struct mt_image_file *image, uint64_t address,
                           struct mt_image_symbol *symbol)
{
    return find_loaded(image, address, STT_OBJECT, symbol);
}

bool mt_symbol_of_function(const struct mt_image_file *image, uint64_t address,
                           struct mt_image_symbol *symbol)
{
    return find_loaded(image, address, STT_FUNC, symbol);
}

bool mt_symbol_thread_local(const struct mt_image_file *program, uint64_t below,
                            struct mt_image_symbol *symbol)
{
    if (!open_file(program))
        return false;
    Elf64_Ehdr elf = head();
    for (unsigned i = 0; i < elf.e_phnum; i++) {
        Elf64_Phdr part;
        uint64_t at = elf.e_phoff + (uint64_t)i * sizeof part;
        if (!is_in_file(at, sizeof part))
            return false;
        memcpy(&part, file.data + at, sizeof part);
        uint64_t align = part.p_align ? part.p_align : 1;
        uint64_t size = (part.p_memsz + align - 1) / align * align;
        if (part.p_type == PT_TLS)
            return below <= size && find(size - below, STT_TLS, symbol);
    }
    return false;
}
