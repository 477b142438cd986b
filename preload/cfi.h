/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What compilers say about their frames (.eh_frame, the DWARF call frame information that C++
 * exceptions use as well), made into one small rule a program counter. x86-64.
 */
#ifndef MT_PRELOAD_CFI_H
#define MT_PRELOAD_CFI_H

#include <stdint.h>

/* A loaded library or program. */
struct mt_object {
    uintptr_t start, end;  /* its mapping */
    uintptr_t bias;        /* added to the file's addresses */
    const uint8_t *frames; /* .eh_frame_hdr */
    const char *name;      /* as the loader has it: "" is the program itself */
};

/* Where a frame's CFA is, the stack pointer's value once the function has returned. The return
 * address is the word before it. */
enum mt_cfa {
    MT_CFA_SP = 1,  /* stack pointer + cfa */
    MT_CFA_BP,      /* frame pointer + cfa */
    MT_CFA_UNKNOWN, /* nothing is said, or something too rare */
    MT_CFA_END,     /* the outermost frame: it has no caller */
    MT_CFA_AT_BP,   /* the word at frame pointer + cfa: functions that align their stack */
    MT_CFA_SIGNAL,  /* a signal's frame: sp, bp and pc are those that were interrupted. At stack
                     * pointer + cfa the sp, after it the pc; bp at stack pointer + bp_at */
};

/* Where the caller's frame pointer is. */
enum mt_bp {
    MT_BP_SAME,   /* still in its register */
    MT_BP_AT_CFA, /* the word at CFA + bp_at, which is below the return address */
    MT_BP_AT_BP,  /* the word at frame pointer + bp_at */
    MT_BP_LOST,
};

struct mt_rule {
    uint8_t cfa_from; /* enum mt_cfa */
    uint8_t bp_from;  /* enum mt_bp */
    int16_t bp_at;
    int32_t cfa; /* of MT_CFA_SP: some whole words, at least one */
};

/* The rule for the instruction at pc, which lies in the object. *function: begin and end of what it
 * is part of (0, 0: not known). Reads the object's own memory only. */
struct mt_rule mt_cfi_rule(const struct mt_object *object, uintptr_t pc, uintptr_t function[2]);

#endif
