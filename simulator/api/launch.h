/* SPDX-License-Identifier: Apache-2.0 */
/* Launches of libraries: as NVIDIA's do, they go through the driver, so a profiler sees which
 * memory a call works on. */
#ifndef SIM_LAUNCH_OF_LIBRARY_H
#define SIM_LAUNCH_OF_LIBRARY_H

#include <stdint.h>

/* Launch a kernel of this name, whose parameters are these words; NULL: it is not known what it
 * works on. *known belongs to the caller, and begins as NULL. */
void library_launch(const char *name, void *_Atomic *known, unsigned words, const uint64_t *word);

/* The same with pointers and integers as arguments. */
#define LIBRARY_LAUNCH(name, ...)                                                                  \
    do {                                                                                           \
        static void *_Atomic launched_;                                                            \
        const uint64_t words_[] = {__VA_ARGS__};                                                   \
        library_launch(name, &launched_, sizeof words_ / sizeof *words_, words_);                  \
    } while (0)

/* Work on memory that is not known here. */
#define LIBRARY_WORKS(name)                                                                        \
    do {                                                                                           \
        static void *_Atomic launched_;                                                            \
        library_launch(name, &launched_, 0, NULL);                                                 \
    } while (0)

/* A generated entry point that launches a kernel of its name with its first n arguments. */
#define SIM_LAUNCHES(name, n)                                                                      \
    long name(SIM_ARGS);                                                                           \
    long name(SIM_ARGS)                                                                            \
    {                                                                                              \
        static void *_Atomic launched;                                                             \
        const uint64_t words[] = {(uint64_t)a0,  (uint64_t)a1,  (uint64_t)a2,  (uint64_t)a3,       \
                                  (uint64_t)a4,  (uint64_t)a5,  (uint64_t)a6,  (uint64_t)a7,       \
                                  (uint64_t)a8,  (uint64_t)a9,  (uint64_t)a10, (uint64_t)a11,      \
                                  (uint64_t)a12, (uint64_t)a13, (uint64_t)a14, (uint64_t)a15,      \
                                  (uint64_t)a16, (uint64_t)a17, (uint64_t)a18, (uint64_t)a19};     \
        library_launch(#name, &launched, n, words);                                                \
        return 0;                                                                                  \
    }

#endif
