/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What compilers say about their frames (.eh_frame, the DWARF call frame information that C++
 * exceptions use as well), made into one small rule a program counter. x86-64.
 */
#ifndef MT_PRELOAD_CFI_H
#define MT_PRELOAD_CFI_H

#include "preload/loader/images.h"

#include <stdint.h>

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

struct mt_frame_rule {
    uint8_t cfa_from; /* enum mt_cfa */
    uint8_t bp_from;  /* enum mt_bp */
    int16_t bp_at;
    int32_t cfa; /* of MT_CFA_SP: some whole words, at least one */
};

/* The rule for the instruction at pc, which lies in the image. *function: begin and end of what it
 * is part of (0, 0: not known). Reads the image's own memory only. */
struct mt_frame_rule mt_cfi_rule(const struct mt_image *image, uintptr_t pc,
                                 uintptr_t function[2]);

#endif
