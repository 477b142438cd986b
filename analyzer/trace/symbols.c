/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols.h"
#include "analyzer/support/demangle.h"
#include "analyzer/support/grow.h"
#include "analyzer/support/room.h"
#include "analyzer/support/search.h"

#include <string.h>

#include <elfutils/libdwfl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>

struct function {
    uint64_t start, size; /* size 0: unknown */
    const char *name;     /* the file's */
};

struct file {
    struct mt_trace_image image;
    Dwfl *dwfl; /* NULL: the file is gone or changed */
    Dwfl_Module *handle;
    uint64_t bias;              /* from its addresses to libdwfl's */
    struct function *functions; /* by address */
    size_t n_functions, capacity;
};

struct mt_symbols {
    struct file **files;
    size_t n_files, files_capacity;
    char **texts;
    size_t n_texts, texts_capacity;
};

static const Dwfl_Callbacks callbacks = {.find_elf = dwfl_build_id_find_elf,
                                         .find_debuginfo = dwfl_standard_find_debuginfo,
                                         .section_address = dwfl_offline_section_address};

struct mt_symbols *mt_symbols_create(void)
{
    return calloc(1, sizeof(struct mt_symbols));
}

static void close_file(struct file *file)
{
    if (file->dwfl)
        dwfl_end(file->dwfl);
    free(file->functions);
    free(file);
}

void mt_symbols_destroy(struct mt_symbols *symbols)
{
    if (!symbols)
        return;
    for (size_t i = 0; i < symbols->n_files; i++)
        close_file(symbols->files[i]);
    for (size_t i = 0; i < symbols->n_texts; i++)
        free(symbols->texts[i]);
    free(symbols->files);
    free(symbols->texts);
    free(symbols);
}

static bool has_build_id(Dwfl_Module *handle, const char *wanted)
{
    const unsigned char *bits;
    char text[129] = "";
    GElf_Addr address;
    int n = dwfl_module_build_id(handle, &bits, &address);
    for (int i = 0; i < n && 2 * (size_t)i + 2 < sizeof text; i++)
        snprintf(text + 2 * i, 3, "%02x", bits[i]);
    return !strcmp(text, wanted);
}

/* Open the file at path. Return whether it is the one that the program ran. */
static bool open_path(struct file *file, const char *path)
{
    GElf_Addr bias;
    struct stat status;
    if (stat(path, &status) || !S_ISREG(status.st_mode))
        return false;    /* a trace may contain any path */
    mt_room_input(path); /* its symbols use memory in proportion to its size, not the trace's */
    file->dwfl = dwfl_begin(&callbacks);
    if (!file->dwfl)
        return false;
    file->handle = dwfl_report_offline(file->dwfl, path, path, -1);
    dwfl_report_end(file->dwfl, NULL, NULL);
    if (file->handle && has_build_id(file->handle, file->image.build_id) &&
        dwfl_module_getelf(file->handle, &bias)) {
        file->bias = bias;
        return true;
    }
    dwfl_end(file->dwfl);
    file->dwfl = NULL;
    return false;
}

MT_ORDER(by_address, struct function, MT_RISING(start) ?: MT_RISING(size) ?: -MT_BY_TEXT(name))

static int read_functions(struct file *file)
{
    int n = dwfl_module_getsymtab(file->handle);
    for (int i = 1; i < n; i++) {
        GElf_Sym symbol;
        GElf_Addr address;
        GElf_Word section;
        const char *name =
            dwfl_module_getsym_info(file->handle, i, &symbol, &address, &section, NULL, NULL);
        int type = GELF_ST_TYPE(symbol.st_info);
        if (!name || !*name || symbol.st_shndx == SHN_UNDEF ||
            (type != STT_FUNC && type != STT_GNU_IFUNC))
            continue;
        if (MT_APPEND(file->functions, file->capacity, file->n_functions,
                      (struct function){address, symbol.st_size, name}))
            return -ENOMEM;
    }
    if (file->n_functions)
        qsort(file->functions, file->n_functions, sizeof *file->functions, by_address);
    return 0;
}

/* Open a file at its path, or in the folder where distributions keep split-off debug files. */
static int open_file(struct file *file)
{
    char path[256];
    const char *id = file->image.build_id;
    if (*file->image.path == '/' && open_path(file, file->image.path))
        return read_functions(file);
    if (strlen(id) < 3)
        return 0;
    snprintf(path, sizeof path, "/usr/lib/debug/.build-id/%.2s/%s.debug", id, id + 2);
    return open_path(file, path) ? read_functions(file) : 0;
}

static struct file *find_file(struct mt_symbols *symbols, const struct mt_trace_image *image)
{
    for (size_t i = 0; i < symbols->n_files; i++)
        if (!strcmp(symbols->files[i]->image.path, image->path) &&
            !strcmp(symbols->files[i]->image.build_id, image->build_id))
            return symbols->files[i];
    struct file *file = calloc(1, sizeof *file);
    if (!file)
        return NULL;
    file->image = *image;
    if (open_file(file) || MT_GROW(symbols->files, symbols->files_capacity, symbols->n_files)) {
        close_file(file);
        return NULL;
    }
    return symbols->files[symbols->n_files++] = file;
}

static const struct function *find_function(const struct file *file, uint64_t address)
{
    size_t low = MT_LEADING(i, file->n_functions, file->functions[i].start <= address);
    const struct function *function = low ? &file->functions[low - 1] : NULL;
    if (!function || (function->size && address - function->start >= function->size))
        return NULL;
    return function;
}

/* Keep a text that was allocated for the caller. */
static const char *keep(struct mt_symbols *symbols, char *text)
{
    if (text && MT_GROW(symbols->texts, symbols->texts_capacity, symbols->n_texts)) {
        free(text);
        return NULL;
    }
    return text ? symbols->texts[symbols->n_texts++] = text : NULL;
}

/* Take "/./" and "/folder/.." out of a path in place. */
static void shorten(char *path)
{
    for (char *at = path; (at = strstr(at, "/."));) {
        size_t skip = at[2] == '/' ? 2 : at[2] == '.' && at[3] == '/' ? 3 : 0;
        char *from = at + skip;
        if (!skip) {
            at++;
            continue;
        }
        while (skip == 3 && at > path && *--at != '/')
            ;
        memmove(at, from, strlen(from) + 1);
    }
}

/* Return a source file's path; what a compiler was given may be relative to its own folder. */
static const char *source_path(struct mt_symbols *symbols, Dwfl_Line *place, const char *file)
{
    const char *folder = file && *file != '/' ? dwfl_line_comp_dir(place) : NULL;
    char *path;
    if (!folder || *folder != '/' || asprintf(&path, "%s/%s", folder, file) < 0)
        return file;
    shorten(path);
    return keep(symbols, path) ?: file;
}

int mt_symbols_find(struct mt_symbols *symbols, struct mt_trace_image image, uint64_t address,
                    struct mt_symbol *out)
{
    struct file *file = find_file(symbols, &image);
    int line = 0;
    if (!file)
        return -ENOMEM;
    const struct function *function = file->dwfl ? find_function(file, address + file->bias) : NULL;
    if (!function)
        return -ENOENT;
    *out = (struct mt_symbol){keep(symbols, mt_function_name(function->name)), NULL, 0};
    Dwfl_Line *place = dwfl_module_getsrc(file->handle, address + file->bias);
    if (place)
        out->file =
            source_path(symbols, place, dwfl_lineinfo(place, NULL, &line, NULL, NULL, NULL));
    out->line = out->file && line > 0 ? (uint32_t)line : 0;
    return out->function ? 0 : -ENOMEM;
}
