/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of the generated entry points. Programs call them through the real prototypes, which
 * are not needed here: in the calling convention an integer or pointer argument is a long, and
 * unused arguments do no harm.
 */
#ifndef SIM_STUB_H
#define SIM_STUB_H

#include "core/base/base.h"

/* The first twenty integer or pointer arguments; floating-point ones do not count. */
#define SIM_ARG __attribute__((unused)) long
#define SIM_ARGS                                                                                   \
    SIM_ARG a0, SIM_ARG a1, SIM_ARG a2, SIM_ARG a3, SIM_ARG a4, SIM_ARG a5, SIM_ARG a6,            \
        SIM_ARG a7, SIM_ARG a8, SIM_ARG a9, SIM_ARG a10, SIM_ARG a11, SIM_ARG a12, SIM_ARG a13,    \
        SIM_ARG a14, SIM_ARG a15, SIM_ARG a16, SIM_ARG a17, SIM_ARG a18, SIM_ARG a19

/* Stores a value where argument `n` points to, if it points anywhere. */
#define SIM_OUT(type, n, value)                                                                    \
    do {                                                                                           \
        if (a##n)                                                                                  \
            *(type *)a##n = (type)(value);                                                         \
    } while (0)

#define SIM_SUCCESS(name)                                                                          \
    long name(void);                                                                               \
    long name(void)                                                                                \
    {                                                                                              \
        return 0;                                                                                  \
    }

#define SIM_ENTRY(name, result, effects)                                                           \
    long name(SIM_ARGS);                                                                           \
    long name(SIM_ARGS)                                                                            \
    {                                                                                              \
        effects return (result);                                                                   \
    }

/* Another name: arguments stay in their registers. */
#define SIM_ALIAS(name, other)                                                                     \
    __asm__(".globl " #name "\n.type " #name ", @function\n" #name ": jmp " #other "@PLT\n");

/* Not modelled, and the caller may be misled: print the name once. */
#define SIM_NOTE(name)                                                                             \
    long name(void);                                                                               \
    long name(void)                                                                                \
    {                                                                                              \
        static _Atomic bool is_noted;                                                              \
        sim_note_success(#name, &is_noted);                                                        \
        return 0;                                                                                  \
    }

/* Not modelled, and continuing makes no sense: print the name once and return the library's error.
 */
#define SIM_REFUSE(name) SIM_SAY_NO(name, sim_note_refusal)
/* The same for queries of what a card supports: print the name if CUDASIM_VERBOSE is set. */
#define SIM_UNSUPPORTED(name) SIM_SAY_NO(name, sim_note_unsupported)
#define SIM_SAY_NO(name, say)                                                                      \
    long name(void);                                                                               \
    long name(void)                                                                                \
    {                                                                                              \
        static _Atomic bool is_noted;                                                              \
        say(#name, &is_noted);                                                                     \
        return SIM_REFUSE_CODE;                                                                    \
    }

#endif
