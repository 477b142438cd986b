/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The writable memory of the process, in a child process that has a copy of it: which of it are
 * variables, stacks, heap. Devices' memory, and what memtap shares with others, are left out.
 * x86-64, glibc's threads and heap; with others, memory is of no known kind. One thread.
 */
#ifndef MT_SCAN_REGIONS_H
#define MT_SCAN_REGIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum mt_region_sort {
    MT_REGION_VARIABLES, /* of a program or library */
    MT_REGION_STACK,
    MT_REGION_THREAD, /* thread-local variables, and the C library's own for the thread */
    MT_REGION_CHUNKS, /* malloc's; walk them with mt_chunk_next */
    MT_REGION_SHARED, /* with other processes */
    MT_REGION_CUDA,   /* variables of CUDA's libraries or memtap's */
    MT_REGION_OTHER,
};

#define MT_FILE_NAME 64u

/* A program or library. */
struct mt_image_file {
    uint64_t begin, end; /* end: of its variables; 0: not known */
    bool is_cudas;       /* CUDA's library, or memtap's */
    char path[1024];
};

struct mt_region {
    uint64_t begin, end;
    enum mt_region_sort sort;
    int thread;       /* whose stack or variables; 0: none */
    bool is_whole;    /* a stack from its lowest address on, with old values */
    uint64_t pthread; /* of MT_REGION_THREAD: glibc's struct pthread, below it the variables */
    const struct mt_image_file *image; /* of MT_REGION_VARIABLES and _CUDA */
    char file[MT_FILE_NAME];           /* of MT_REGION_SHARED */
};

struct mt_memory_range {
    uint64_t begin, end;
};

/* The thread whose moment it is, and all threads then. */
struct mt_scan_thread {
    uint64_t sp; /* its memory from here on is in use, and has its registers */
    int id, process;
    const char *entries; /* of /proc/self/task, as the kernel writes them */
    uint32_t n_entries;  /* bytes; 0: not known */
};

#define MT_MOST_REGIONS 65536u
#define MT_MOST_IMAGE_FILES 2048u
#define MT_MOST_THREADS 4096u

struct mt_regions {
    uint32_t n;
    bool is_full;
    bool has_stack, has_variables; /* of the thread of the moment */
    unsigned other_threads;        /* the program's others, whose registers are not known */
    uint32_t n_threads;
    int thread[MT_MOST_THREADS]; /* those that are not memtap's */
    uint32_t n_images;
    struct mt_image_file image[MT_MOST_IMAGE_FILES]; /* the program is the first */
    struct mt_region region[MT_MOST_REGIONS + 1];    /* the last one for what has no room */
};

/* Return a path's last component. */
static inline const char *mt_file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Read the threads' names, while the process runs. Return NULL if there is no memory. */
struct mt_regions *mt_regions_create(const struct mt_scan_thread *thread);

/* Read the regions, without those ranges (n, by address). Return whether they could be read. */
bool mt_regions_read(struct mt_regions *regions, const struct mt_scan_thread *thread,
                     const struct mt_memory_range *ranges, uint32_t n);

/* Return whether everything that can have a pointer of the program's is among the regions. */
static inline bool mt_regions_are_all(const struct mt_regions *regions)
{
    return !regions->is_full && regions->has_stack && regions->has_variables &&
           !regions->other_threads;
}

static inline uint64_t mt_scan_word(uint64_t address)
{
    uint64_t word;
    memcpy(&word, (const void *)(uintptr_t)address, sizeof word);
    return word;
}

#endif
